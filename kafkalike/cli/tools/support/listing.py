"""A list of things in three shapes: Kafka's text in a pipe, a table on a terminal, or JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kafkalike.cli.tools.support.options import Option, Parsed

_FORMATS: Final = {"text": "text", "json": "json", "table": "table"}

OUTPUT: Final = Option(
    "output",
    "How to write lists: text (as Kafka), json, or table (the default on a terminal).",
    "text|json|table",
    kind=_FORMATS.__getitem__,
)

_COLOURS: Final = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}


def is_terminal() -> bool:
    """Whether a person reads standard output."""
    return sys.stdout.isatty()


def styled(text: str, style: str) -> str:
    """Return a text in bold or a colour, if a person reads it (and NO_COLOR is not set)."""
    if not is_terminal() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m"


def output_format(parsed: Parsed) -> str:
    """Return which of the three shapes is wanted."""
    return parsed.value("output") or ("table" if is_terminal() else "text")


def show(
    parsed: Parsed,
    rows: Sequence[Mapping[str, Any]],
    text: Callable[[], Iterable[str]],
    style: Callable[[Mapping[str, Any]], str | None] = lambda row: None,
) -> None:
    """Write a list: `rows` as JSON or a table, `text` (its lines) as Kafka does."""
    shape = output_format(parsed)
    if shape == "json":
        print_json(rows)
    elif shape == "table":
        print_lines(table(rows, style))
    else:
        print_lines(text())


def print_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def print_json(value: Any) -> None:
    """Write a value as JSON, indented for people."""
    indent = 2 if is_terminal() else None
    sys.stdout.write(json.dumps(value, indent=indent, default=str) + "\n")


def table(
    rows: Sequence[Mapping[str, Any]],
    style: Callable[[Mapping[str, Any]], str | None] = lambda row: None,
) -> list[str]:
    """Lay out rows in columns headed by their keys; numbers to the right."""
    if not rows:
        return []
    names = list(rows[0])
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    right = [all(_is_number(row.get(name)) for row in rows) for name in names]
    lines = [styled(_line([name.upper() for name in names], widths, right), "bold")]
    for row, line in zip(rows, cells, strict=True):
        wanted = style(row)
        written = _line(line, widths, right)
        lines.append(styled(written, wanted) if wanted else written)
    return lines


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    aligned = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    ]
    return "  ".join(aligned).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "-"
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items()) or "-"
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
