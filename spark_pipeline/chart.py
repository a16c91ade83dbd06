"""Lines over time as a page of HTML that needs nothing else (SVG)."""

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

Series = Mapping[str, Sequence[tuple[datetime, float]]]

_WIDTH: Final = 900
_HEIGHT: Final = 260
_LEFT: Final = 80
_COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")


def page(title: str, charts: Mapping[str, Series]) -> str:
    """Return a page with a chart under each heading."""
    parts = [f"<h2>{html.escape(name)}</h2>\n{chart(series)}" for name, series in charts.items()]
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        "<style>body{font-family:sans-serif;margin:2em}</style></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def chart(series: Series) -> str:
    """Return lines with their names and the ends of both axes."""
    points = [point for found in series.values() for point in found]
    if not points:
        return "<p>nothing to show</p>"
    first, last = min(time for time, _ in points), max(time for time, _ in points)
    top = max(1.0, max(value for _, value in points))
    span = (last - first).total_seconds() or 1.0
    lines = []
    for number, (name, found) in enumerate(sorted(series.items())):
        colour = _COLOURS[number % len(_COLOURS)]
        places = " ".join(
            f"{_LEFT + (time - first).total_seconds() / span * _WIDTH:.1f},"
            f"{_HEIGHT - value / top * (_HEIGHT - 20):.1f}"
            for time, value in sorted(found)
        )
        lines.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{places}"/>'
            f'<text x="{_LEFT + 10}" y="{_HEIGHT + 40 + 18 * number}" fill="{colour}">'
            f"{html.escape(name)}</text>"
        )
    height = _HEIGHT + 50 + 18 * len(series)
    axes = (
        f'<path d="M{_LEFT},0 V{_HEIGHT} H{_LEFT + _WIDTH}" stroke="#888" fill="none"/>'
        f'<text x="0" y="20">{top:,.0f}</text><text x="0" y="{_HEIGHT}">0</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT + 18}">{_time(first)}</text>'
        f'<text x="{_LEFT + _WIDTH - 130}" y="{_HEIGHT + 18}">{_time(last)}</text>'
    )
    return f'<svg width="{_LEFT + _WIDTH + 20}" height="{height}">{axes}{"".join(lines)}</svg>'


def _time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
