"""How `kafka-consumer-groups` prints groups: columns as wide as what is in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Final

from kafkalike.model.topic_partition import TopicPartition

MISSING: Final = "-"
_WIDTH: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAssignment:
    """How far a group is in a partition, and who reads it."""

    group: str
    topic: str | None
    partition: int | None
    offset: int | None
    log_end_offset: int | None
    consumer_id: str | None
    host: str | None
    client_id: str | None

    @property
    def lag(self) -> int | None:
        """How many offsets are still to be read."""
        if self.offset in (None, -1) or self.offset is None or self.log_end_offset is None:
            return None
        return self.log_end_offset - self.offset

    def as_row(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self) | {"lag": self.lag}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAssignment:
    """A member of a group and what it reads."""

    group: str
    consumer_id: str
    group_instance_id: str
    host: str
    client_id: str
    assignment: Sequence[TopicPartition]

    def as_row(self) -> dict[str, Any]:
        """Return it for JSON."""
        row = asdict(self)
        row["assignment"] = [f"{tp.topic}-{tp.partition}" for tp in self.assignment]
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """A group as a whole."""

    group: str
    coordinator: str
    coordinator_id: int
    assignment_strategy: str
    state: str
    members: int


def offset_lines(rows: Sequence[PartitionAssignment]) -> list[str]:
    """Return the table of `--describe`."""
    cells = [
        [
            row.group,
            _shown(row.topic),
            _shown(row.partition),
            _shown(row.offset),
            _shown(row.log_end_offset),
            _shown(row.lag),
            _shown(row.consumer_id),
            _shown(row.host),
            _shown(row.client_id),
        ]
        for row in rows
    ]
    heads = [
        "GROUP",
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    ]
    widths = [_WIDTH, _WIDTH, 10, _WIDTH, _WIDTH, _WIDTH, _WIDTH, _WIDTH, 0]
    for column in (0, 1, 6, 7):
        widths[column] = max(widths[column], *(len(row[column]) for row in cells))
    return ["", *(_line(row, widths) for row in [heads, *cells])]


def member_lines(rows: Sequence[MemberAssignment], *, verbose: bool) -> list[str]:
    """Return the table of `--members`; static members add a column."""
    heads = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    cells = [
        [
            row.group,
            row.consumer_id,
            row.group_instance_id,
            row.host,
            row.client_id,
            str(len(row.assignment)),
        ]
        for row in rows
    ]
    widths = [_WIDTH, _WIDTH, 17, _WIDTH, _WIDTH, _WIDTH]
    for column in range(5):
        widths[column] = max(widths[column], *(len(row[column]) for row in cells))
    table = [heads, *cells]
    if not any(row.group_instance_id for row in rows):
        del widths[2]
        table = [[*line[:2], *line[3:]] for line in table]
    lines = [f"{_line(line, widths)} " for line in table]
    if verbose:
        ends = ["ASSIGNMENT", *(_assignment(row.assignment) for row in rows)]
        lines = [line + end for line, end in zip(lines, ends, strict=True)]
    return ["", *lines]


def _assignment(partitions: Sequence[TopicPartition]) -> str:
    by_topic = [
        f"{topic}({','.join(str(tp.partition) for tp in group)})"
        for topic, group in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]
    return ", ".join(by_topic) or MISSING


def state_lines(row: GroupState) -> list[str]:
    """Return the table of `--describe --state`."""
    coordinator = f"{row.coordinator} ({row.coordinator_id})"
    widths = [max(25, len(coordinator)), 25, 20, _WIDTH, 0]
    heads = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    cells = [row.group, coordinator, row.assignment_strategy, row.state, str(row.members)]
    return ["", _line(heads, widths), _line(cells, widths)]


def listed_state_lines(states: Mapping[str, str]) -> list[str]:
    """Return the table of `--list --state`."""
    widths = [max([_WIDTH, *map(len, states)]), 0]
    return [_line([group, state], widths) for group, state in [("GROUP", "STATE"), *states.items()]]


def reset_lines(plan: Mapping[str, Mapping[TopicPartition, int]]) -> Iterator[str]:
    """Give the table of `--reset-offsets`."""
    widths = [30, 30, 10, 15]
    if plan:
        yield ""
        yield _line(["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], widths)
    for group, offsets in plan.items():
        for tp, offset in offsets.items():
            yield _line([group, tp.topic, str(tp.partition), str(offset)], widths)


def deleted_offset_lines(outcomes: Mapping[TopicPartition, str | None]) -> Iterator[str]:
    """Give the table of `--delete-offsets`; None is success."""
    widths = [30, 15, 15]
    yield ""
    yield _line(["TOPIC", "PARTITION", "STATUS"], widths)
    for tp, error in sorted(outcomes.items(), key=lambda one: f"{one[0].topic}{one[0].partition}"):
        partition = str(tp.partition) if tp.partition >= 0 else "Not Provided"
        status = "Successful" if error is None else f"Error: {error}"
        yield _line([tp.topic, partition, status], widths)


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))


def _shown(value: object) -> str:
    return MISSING if value is None else str(value)
