"""Where to begin and to end: `earliest`, `latest`, offsets or times, as the options say it.

Pure: what a timestamp or `latest` means in offsets the cluster tells, see `offsets`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.errors import OptionError

LATEST: Final = -1
EARLIEST: Final = -2
"""In JSON offsets, and as timestamps in ListOffsets requests."""

Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class OffsetSpec:
    """One end of what is to be read, as one option gave it.

    `offsets` has an offset (or -1, -2) for each partition; `timestamps` has a time in ms for each;
    with neither, `default` is for all: -1, -2, or a time if `is_timestamp`.
    """

    option: str
    default: int | None = None
    is_timestamp: bool = False
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)

    @property
    def is_latest(self) -> bool:
        """Whether it is the plain word `latest`."""
        return self.default == LATEST and not self.is_timestamp

    @property
    def is_earliest(self) -> bool:
        """Whether it is the plain word `earliest`."""
        return self.default == EARLIEST and not self.is_timestamp

    def of(self, tp: TopicPartition) -> int:
        """Return the offset, sentinel or time for a partition; call `check_covers` first."""
        return self.offsets[tp] if self.default is None else self.default

    def check_covers(self, partitions: set[TopicPartition]) -> None:
        """Raise unless the option has exactly the partitions that are read, as Spark wants it."""
        if self.default is not None or set(self.offsets) == partitions:
            return
        missing = sorted(partitions - set(self.offsets))
        extra = sorted(set(self.offsets) - partitions)
        problems = [f"lacks {', '.join(map(str, missing))}"] if missing else []
        problems += [f"has {', '.join(map(str, extra))}, which is not read"] if extra else []
        raise OptionError(
            f"option {self.option} must have every partition that is read, and no other: it "
            f"{' and '.join(problems)}. Use -1 for latest, -2 for earliest"
        )


def parse_offset_spec(option: str, text: str) -> OffsetSpec:
    """Read `earliest`, `latest` or JSON like `{"orders":{"0":23,"1":-1}}`."""
    word = text.strip().lower()
    if word == "earliest":
        return OffsetSpec(option, EARLIEST)
    if word == "latest":
        return OffsetSpec(option, LATEST)
    offsets = parse_partition_numbers(option, text)
    for tp, offset in offsets.items():
        if offset < EARLIEST:
            raise OptionError(f"option {option}: offset {offset} of {tp} cannot be")
    return OffsetSpec(option, offsets=offsets)


def parse_timestamp_spec(option: str, text: str) -> OffsetSpec:
    """Read JSON of times in ms, `{"orders":{"0":1000,"1":2000}}`."""
    times = parse_partition_numbers(option, text)
    for tp, time in times.items():
        if time < 0:
            raise OptionError(f"option {option}: time {time} of {tp} is below 0")
    return OffsetSpec(option, is_timestamp=True, offsets=times)


def parse_global_timestamp(option: str, text: str) -> OffsetSpec:
    """Read one time in ms, for all partitions."""
    if not text.strip().isdigit():
        raise OptionError(f"option {option}: {text!r} is not a time in milliseconds")
    return OffsetSpec(option, int(text), is_timestamp=True)


def parse_partition_numbers(option: str, text: str) -> Offsets:
    """Read JSON that has a number for each partition of each topic."""
    found: Offsets = {}
    for topic, numbers in _object(option, text).items():
        if not isinstance(numbers, dict):
            raise _malformed(option, text, f"topic {topic} has no partitions")
        for partition, number in numbers.items():
            if not partition.isdigit():
                raise _malformed(option, text, f"{partition!r} of {topic} is not a partition")
            if not isinstance(number, int) or isinstance(number, bool):
                raise _malformed(option, text, f"{number!r} of {topic}-{partition} is no number")
            found[TopicPartition(topic, int(partition))] = number
    return found


def parse_assignment(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Read JSON like `{"orders":[0,1]}`."""
    found: list[TopicPartition] = []
    for topic, numbers in _object(option, text).items():
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise _malformed(option, text, f"topic {topic} needs a list of partitions")
        found += [TopicPartition(topic, number) for number in numbers]
    return tuple(sorted(found))


def _object(option: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _malformed(option, text, str(error)) from None
    if not isinstance(found, dict) or not found:
        raise _malformed(option, text, "it has no topics")
    return found


def _malformed(option: str, text: str, why: str) -> OptionError:
    shown = text if len(text) <= 120 else f"{text[:120]}…"
    example = '{"topicA":[0,1]}' if option == "assign" else '{"topicA":{"0":23,"1":-1}}'
    words = " (or earliest, latest)" if option.lower().endswith("offsets") else ""
    return OptionError(f"option {option}: {shown!r} is not like {example}{words}: {why}")


def nest(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Return offsets as they stand in JSON, in one order: Spark compares them as text."""
    found: dict[str, dict[str, int]] = {}
    for tp in sorted(offsets):
        found.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return found


def flatten(nested: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Undo `nest`."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, offsets in nested.items()
        for partition, offset in offsets.items()
    }
