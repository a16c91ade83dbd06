"""How much of which partition is read, and by how many tasks. Pure arithmetic.

The shares are those of Spark's own Kafka source (`KafkaOffsetRangeCalculator`, `rateLimit`), so
that a query keeps its batches when it changes sources.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.offset_spec import Offsets


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """Offsets of one partition, from `start` to just before `end`."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """How many offsets there are; there may be fewer records."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} offsets {self.start} to {self.end}"


def ranges_between(start: Mapping[TopicPartition, int], end: Offsets) -> list[OffsetRange]:
    """Return what lies between, in the order of partitions; nothing where there is nothing."""
    return [
        OffsetRange(tp.topic, tp.partition, start[tp], end[tp])
        for tp in sorted(end)
        if tp in start and start[tp] < end[tp]
    ]


def limit_rows(start: Offsets, end: Offsets, max_rows: int) -> Offsets:
    """Return an earlier end, so that about `max_rows` lie between; each partition has its share."""
    sizes = {tp: end[tp] - start[tp] for tp in end if tp in start and end[tp] > start[tp]}
    total = sum(sizes.values())
    if total < 1:
        return dict(end)
    limited = dict(end)
    for tp, size in sizes.items():
        share = max_rows * size / total
        # A small partition must not starve beside a large one.
        rows = math.ceil(share) if share < 1 else math.floor(share)
        limited[tp] = min(end[tp], start[tp] + rows)
    return limited


def split_ranges(
    ranges: Iterable[OffsetRange],
    min_partitions: int | None = None,
    max_records: int | None = None,
) -> list[OffsetRange]:
    """Cut ranges so that there are at least so many, none with more than so many offsets."""
    found = [offset_range for offset_range in ranges if offset_range.size > 0]
    if max_records is not None:
        found = [
            part for whole in found for part in _cut(whole, math.ceil(whole.size / max_records))
        ]
    if min_partitions is None or len(found) >= min_partitions:
        return found
    total = sum(offset_range.size for offset_range in found)
    # Ranges that stay whole have no part in the shares of those that are cut.
    whole = {part for part in found if _parts(part.size, total, min_partitions) == 1}
    cut_total = total - sum(part.size for part in whole)
    cut_parts = max(min_partitions - len(whole), 1)
    return [
        part
        for large in found
        for part in _cut(large, 1 if large in whole else _parts(large.size, cut_total, cut_parts))
    ]


def _parts(size: int, total: int, wanted: int) -> int:
    # Java rounds halves up.
    return max(math.floor(size / total * wanted + 0.5), 1)


def _cut(offset_range: OffsetRange, parts: int) -> list[OffsetRange]:
    found: list[OffsetRange] = []
    start = offset_range.start
    for number in range(parts):
        size = (offset_range.end - start) // (parts - number)
        if size:
            found.append(
                OffsetRange(offset_range.topic, offset_range.partition, start, start + size)
            )
        start += size
    return found


def fetch_bytes(offsets_left: int, bytes_per_offset: float | None, max_bytes: int) -> int:
    """Return how much to ask for at once: what is left to read, as far as one can tell.

    The end of a range is in the middle of a log: what is fetched beyond it is thrown away.
    """
    guess = 1024.0 if bytes_per_offset is None else bytes_per_offset * 1.1
    return int(min(max_bytes, max(offsets_left * guess, 64 << 10)))
