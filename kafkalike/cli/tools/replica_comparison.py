"""Whether replicas hold the same batches, up to the high watermark (Kafka's `ReplicaBuffer`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.records.record_batch import BatchHeader, iter_batches


@dataclass(frozen=True, slots=True)
class ReplicaData:
    """What one replica answered; a broker that is away has nothing, and no watermark."""

    high_watermark: int = -1
    records: bytes | memoryview = b""

    def batches(self) -> Iterator[BatchHeader]:
        """Yield the batches up to the high watermark."""
        for _, header in iter_batches(self.records):
            if header.last_offset >= self.high_watermark:
                return
            yield header


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far the replicas agree, what differs before that, and whether it is worth going on."""

    next_offset: int
    differences: list[str]
    lag: int
    is_fatal: bool = False
    """Whether offsets differ: what follows cannot be compared."""


def compare(
    tp: TopicPartition, start_offset: int, replicas: Mapping[int, ReplicaData]
) -> Comparison:
    """Compare batch by batch until one replica has no more."""
    offset = start_offset
    differences: list[str] = []
    is_fatal = False
    iterators = {replica: data.batches() for replica, data in replicas.items()}
    while iterators:
        row = {replica: next(batches, None) for replica, batches in iterators.items()}
        headers = {replica: header for replica, header in row.items() if header is not None}
        words, is_fatal = _differences(tp, headers)
        differences += words
        if is_fatal or len(headers) < len(replicas):
            break
        offset = next(iter(headers.values())).last_offset + 1
    newest = max((data.high_watermark for data in replicas.values()), default=-1)
    return Comparison(offset, differences, newest - offset, is_fatal)


def _differences(tp: TopicPartition, headers: Mapping[int, BatchHeader]) -> tuple[list[str], bool]:
    """Return what the batches of a row differ in, and whether these are offsets."""
    words: list[str] = []
    pairs = iter(headers.items())
    first_id, first = next(pairs, (-1, None))
    for replica, header in pairs:
        if first is None or first.last_offset != header.last_offset:
            other = header.last_offset
            mine = first.last_offset if first else -1
            text = (
                f"partition {tp}: replica {first_id}'s offset {mine} doesn't match replica "
                f"{replica}'s offset {other}"
            )
            return [*words, text], True
        if first.crc != header.crc:
            words.append(
                f"partition {tp} has unmatched checksum at offset {header.last_offset}; replica "
                f"{first_id}'s checksum {first.crc}; replica {replica}'s checksum {header.crc}"
            )
    return words, False
