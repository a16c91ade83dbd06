"""The batches of an idempotent producer behind one that failed on its way fail, too.

A client has several produce requests in flight. At a leader that has lost its office all of them
are refused, and the client sends all of them again, in order. With a hop in between the second
could reach the new leader after the first was refused by the old one, and a leader that does not
know the producer yet takes whatever sequence comes first: the first batch could then never be
written. So what stands behind a batch that was refused is refused here, until that batch has come
again. Decisions only.
"""

from typing import Any, Final, NamedTuple

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalike.protocol.records.record_batch import (
    BATCH_HEADER,
    HEADER_SIZE_UP_TO_MAGIC,
    NO_PRODUCER_ID,
)

MAX_GAPS: Final = 10_000
"""Partitions that one connection can be held up in; beyond that the oldest gap is forgotten."""

_MAGIC_V2: Final = 2
_SEQUENCES: Final = 1 << 31
_ON_THE_WAY: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT)
"""What is said of a batch that did not reach its leader, or nobody knows whether it did."""


class _Place(NamedTuple):
    """Who writes where."""

    tp: TopicPartition
    producer_id: int
    producer_epoch: int


class ProduceOrder:
    """The gaps in what one client connection has written; `is_watching`: there may be some."""

    def __init__(self, *, always_watches: bool) -> None:
        self._always_watches = always_watches
        self._gaps: dict[_Place, int] = {}

    @property
    def is_watching(self) -> bool:
        """Whether the answers to this connection's requests must be looked at."""
        return self._always_watches or bool(self._gaps)

    def held_up(self, request: ProduceRequest) -> set[TopicPartition]:
        """Return the partitions whose batches stand behind one that failed."""
        if not self._gaps:
            return set()
        return {
            place.tp
            for place, sequence in _batches(request)
            if place in self._gaps and _is_after(sequence, self._gaps[place])
        }

    def answered(self, request: ProduceRequest, response: ProduceResponse) -> None:
        """Take note of what became of each batch."""
        codes = {
            (topic.name, one.index): one.error_code
            for topic in response.responses
            for one in topic.partition_responses
        }
        for place, sequence in _batches(request):
            gap = self._gaps.get(place)
            if gap is not None and _is_after(sequence, gap):
                continue
            if codes.get(place.tp) in _ON_THE_WAY:
                self._gaps[place] = sequence
                if len(self._gaps) > MAX_GAPS:
                    del self._gaps[next(iter(self._gaps))]
            elif gap is not None:
                del self._gaps[place]


def _batches(request: ProduceRequest) -> list[tuple[_Place, int]]:
    """Return producer and first sequence of each partition's batch, where it has them."""
    found = []
    for topic in request.topic_data:
        for partition in topic.partition_data:
            numbers = _numbers(partition.records)
            if numbers is not None:
                producer_id, epoch, sequence = numbers
                tp = TopicPartition(topic.name, partition.index)
                found.append((_Place(tp, producer_id, epoch), sequence))
    return found


# Any: bytes or a memoryview.
def _numbers(records: Any) -> tuple[int, int, int] | None:
    if records is None or len(records) < BATCH_HEADER.size:
        return None
    if records[HEADER_SIZE_UP_TO_MAGIC - 1] != _MAGIC_V2:
        return None
    producer_id, epoch, sequence = BATCH_HEADER.unpack_from(records)[9:12]
    return None if producer_id == NO_PRODUCER_ID else (producer_id, epoch, sequence)


def _is_after(sequence: int, other: int) -> bool:
    """Whether a sequence comes after another; after the largest comes 0."""
    return 0 < (sequence - other) % _SEQUENCES < _SEQUENCES // 2
