"""What a query tells of itself, as a line on the screen. Pure."""

import json
from collections.abc import Mapping
from typing import Any


def progress_line(progress: Mapping[str, Any]) -> str:
    """Return a line for one batch: rows, rows per second, lag, state."""
    parts = [
        f"{progress.get('name') or 'query'}: batch {progress['batchId']}",
        f"{progress['numInputRows']} rows",
        f"{progress.get('processedRowsPerSecond') or 0:.0f} rows/s",
    ]
    behind = lag(progress)
    if behind is not None:
        parts.append(f"lag {behind}")
    if progress.get("stateOperators"):
        parts.append(_state(progress["stateOperators"]))
    return ", ".join(parts)


def lag(progress: Mapping[str, Any]) -> int | None:
    """Return how many offsets the batch is behind the ends of the topics; None if nobody says."""
    found: int | None = None
    for source in progress.get("sources", ()):
        end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
        if end is None or latest is None:
            continue
        behind = sum(max(0, offset - end.get(tp, 0)) for tp, offset in latest.items())
        found = (found or 0) + behind
    return found


def _offsets(given: Any) -> dict[tuple[str, str], int] | None:
    nested = json.loads(given) if isinstance(given, str) else given
    if not isinstance(nested, dict):
        return None
    return {
        (topic, partition): offset
        for topic, numbers in nested.items()
        if isinstance(numbers, dict)
        for partition, offset in numbers.items()
    }


def _state(operators: Any) -> str:
    rows = sum(operator.get("numRowsTotal", 0) for operator in operators)
    size = sum(operator.get("memoryUsedBytes", 0) for operator in operators)
    late = sum(operator.get("numRowsDroppedByWatermark", 0) for operator in operators)
    text = f"state {rows} rows ({size / (1 << 20):.1f} MiB)"
    return f"{text}, {late} too late" if late else text
