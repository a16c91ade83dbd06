"""The decisions of resetting offsets: plans in CSV files, times, and what a partition allows."""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from kafkalike.cli.tools.support.errors import IllegalArgumentError, JavaError
from kafkalike.model.topic_partition import TopicPartition

Plan = dict[str, dict[TopicPartition, int]]
"""New offsets by group."""

_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?"
    r"(?:(?P<seconds>[-+]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.IGNORECASE,
)


def parse_partitions(argument: str) -> list[TopicPartition] | None:
    """Read `topic:0,1,2`; None if only a topic is named."""
    topic, colon, numbers = argument.partition(":")
    if not colon:
        return None
    try:
        return [TopicPartition(topic, int(number)) for number in numbers.split(",")]
    except ValueError:
        raise JavaError(
            "java.lang.NumberFormatException", f'For input string: "{numbers}"'
        ) from None


def parse_plan(text: str, groups: list[str]) -> Plan:
    """Read lines of `group,topic,partition,offset`; without group if one is on the command line."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    only = groups[0] if len(groups) == 1 and rows and len(rows[0]) == 3 else None
    plan: Plan = {}
    for row in rows:
        group, topic, partition, offset = _plan_row(row, only)
        plan.setdefault(group, {})[TopicPartition(topic, partition)] = offset
    return plan


def _plan_row(row: list[str], group: str | None) -> tuple[str, str, int, int]:
    fields = row if group is None else [group, *row]
    try:
        name, topic, partition, offset = fields
        return name, topic, int(partition), int(offset)
    except ValueError:
        wanted = "topic,partition,offset" if group else "group,topic,partition,offset"
        raise IllegalArgumentError(f"{','.join(row)!r} is not {wanted}") from None


def format_plan(plan: Mapping[str, Mapping[TopicPartition, int]], *, with_group: bool) -> str:
    """Write a plan as lines that `parse_plan` reads."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for group, offsets in plan.items():
        for tp, offset in offsets.items():
            writer.writerow([*([group] if with_group else []), tp.topic, tp.partition, offset])
    return out.getvalue()


def parse_datetime_ms(text: str) -> int:
    """Read an ISO 8601 time, in UTC unless it says otherwise, as milliseconds since the epoch."""
    if "T" not in text:
        raise JavaError(
            "java.text.ParseException",
            "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format",
        )
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise JavaError("java.text.ParseException", f'Unparseable date: "{text}"') from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_duration_ms(text: str) -> int:
    """Read `PnDTnHnMn.nS`, any part of it with a sign of its own, as Java's Duration does."""
    found = _DURATION.fullmatch(text)
    parts = {} if found is None else found.groupdict()
    numbers = {name: parts.get(name) for name in ("days", "hours", "minutes", "seconds")}
    # `T` alone, or nothing at all, is no duration.
    is_empty_time = (parts.get("time") or "") in ("T", "t")
    if not any(value is not None for value in numbers.values()) or is_empty_time:
        raise JavaError(
            "java.time.format.DateTimeParseException", "Text cannot be parsed to a Duration"
        )
    seconds = sum(
        int(numbers[name] or 0) * unit
        for name, unit in (("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1))
    )
    fraction_ms = int((parts["fraction"] or "").ljust(3, "0")[:3])
    is_negative = (numbers["seconds"] or "").startswith("-")
    total_ms = seconds * 1000 + (-fraction_ms if is_negative else fraction_ms)
    return -total_ms if parts["sign"] == "-" else total_ms


def within_range(
    wanted: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> tuple[dict[TopicPartition, int], list[str]]:
    """Bring offsets into what the partitions have; returns them and warnings for those changed."""
    found, warnings = {}, []
    for tp, offset in wanted.items():
        start, end = starts[tp], ends[tp]
        found[tp] = min(max(offset, start), end)
        if found[tp] != offset:
            which = "higher than latest" if offset > end else "lower than earliest"
            warnings.append(
                f"New offset ({offset}) is {which} offset for topic partition {tp}. "
                f"Value will be set to {found[tp]}"
            )
    return found, warnings


def shifted(
    partitions: Iterable[TopicPartition], committed: Mapping[TopicPartition, int], by: int
) -> dict[TopicPartition, int]:
    """Return the committed offsets plus a number."""
    found = {}
    for tp in partitions:
        if tp not in committed:
            raise IllegalArgumentError(
                f"Cannot shift offset for partition {tp} since there is no current committed offset"
            )
        found[tp] = committed[tp] + by
    return found
