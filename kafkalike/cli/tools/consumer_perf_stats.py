"""What `kafka-consumer-perf-test` measures: how much came in which time, in Kafka's columns."""

from dataclasses import dataclass
from typing import Any, Final

from kafkalike.cli.tools.support.wall_clock import local_time

_MIB: Final = 1024 * 1024
_COLUMNS: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms,"
    " fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
# Java's letters for the parts of a date, longest first: SSS is not SS and S.
_DATE_PARTS: Final = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the test was at a time."""

    at_ms: int
    records: int = 0
    bytes: int = 0
    joining_ms: int = 0


def header(*, is_detailed: bool) -> str:
    """Return the names of the columns."""
    first = "time, threadId" if is_detailed else "start.time, end.time"
    return f"{first}, {_COLUMNS}"


def summary(start: Mark, end: Mark) -> dict[str, Any]:
    """Return what happened between two marks as numbers."""
    elapsed_ms = end.at_ms - start.at_ms
    joining_ms = end.joining_ms - start.joining_ms
    fetching_ms = elapsed_ms - joining_ms
    records, mib = end.records - start.records, (end.bytes - start.bytes) / _MIB
    return {
        "mb": mib,
        "mb_per_second": _rate(mib, elapsed_ms),
        "records": records,
        "records_per_second": _rate(records, elapsed_ms),
        "rebalance_ms": joining_ms,
        "fetch_ms": fetching_ms,
        "fetch_mb_per_second": _rate(mib, fetching_ms),
        "fetch_records_per_second": _rate(records, fetching_ms),
    }


def total_line(start: Mark, end: Mark, date_format: str) -> str:
    """Write the whole as Kafka's tool does."""
    first = f"{java_date(date_format, start.at_ms)}, {java_date(date_format, end.at_ms)}"
    found = summary(start, end)
    return f"{first}, {found['mb']:.4f}, {_rates(found, found['records'])}"


def interval_line(last: Mark, now: Mark, date_format: str) -> str:
    """Write an interval as Kafka's tool does: sums from the start, rates of the interval."""
    first = f"{java_date(date_format, now.at_ms)}, 0, {now.bytes / _MIB:.4f}"
    return f"{first}, {_rates(summary(last, now), now.records)}"


def _rates(found: dict[str, Any], records: int) -> str:
    return (
        f"{found['mb_per_second']:.4f}, {records}, {found['records_per_second']:.4f}, "
        f"{found['rebalance_ms']}, {found['fetch_ms']}, {found['fetch_mb_per_second']:.4f}, "
        f"{found['fetch_records_per_second']:.4f}"
    )


def _rate(amount: float, elapsed_ms: int) -> float:
    return 1000 * amount / elapsed_ms if elapsed_ms > 0 else 0.0


def java_date(pattern: str, at_ms: int) -> str:
    """Write a time of day by a pattern of Java's SimpleDateFormat."""
    pattern = pattern.replace("%", "%%").replace("SSS", f"{at_ms % 1000:03d}")
    for java, ours in _DATE_PARTS.items():
        pattern = pattern.replace(java, ours)
    return local_time(pattern, at_ms)
