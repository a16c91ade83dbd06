"""The batches of an idempotent producer behind one that failed on its way fail, too.

A client has several produce requests in flight. At a leader that has lost its office all of them
are refused, and the client sends all of them again, in order. With a hop in between the second
could reach the new leader after the first was refused by the old one, and a leader that does not
know the producer yet takes whatever sequence comes first: the first batch could then never be
written. So what was in flight behind a batch that was refused is refused here, too. Decisions only.
"""

from collections.abc import Container
from dataclasses import dataclass
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

MAX_BEHIND: Final = 4
"""An idempotent producer has five batches in flight at most. What comes after so many more was not
in flight: then the client has sent the first one again, by another connection."""

_MAGIC_V2: Final = 2
_SEQUENCES: Final = 1 << 31
_ON_THE_WAY: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT)
"""What is said of a batch that did not reach its leader, or nobody knows whether it did."""


class _Place(NamedTuple):
    """Who writes where."""

    tp: TopicPartition
    producer_id: int
    producer_epoch: int


@dataclass(slots=True)
class _Gap:
    """A batch that failed on its way, and how many behind it have been held up."""

    sequence: int
    held_up: int = 0


class ProduceOrder:
    """The gaps in what one client connection has written."""

    def __init__(self, *, always_watches: bool) -> None:
        self._always_watches = always_watches
        self._gaps: dict[_Place, _Gap] = {}
        self.is_watching = always_watches
        """Whether the answers to this connection's requests must be looked at."""

    def held_up(self, request: ProduceRequest) -> set[TopicPartition]:
        """Return the partitions whose batches stand behind one that failed; they are refused."""
        found = set()
        for place, sequence in _batches(request) if self._gaps else ():
            gap = self._gaps.get(place)
            if gap is None or not _is_after(sequence, gap.sequence):
                continue
            gap.held_up += 1
            if gap.held_up > MAX_BEHIND:
                del self._gaps[place]
            else:
                found.add(place.tp)
        self.is_watching = self._always_watches or bool(self._gaps)
        return found

    def answered(
        self,
        request: ProduceRequest,
        response: ProduceResponse,
        forwarded: Container[TopicPartition],
    ) -> None:
        """Take note of what became of the batches that were forwarded."""
        codes = {
            (topic.name, one.index): one.error_code
            for topic in response.responses
            for one in topic.partition_responses
        }
        for place, sequence in _batches(request):
            gap = self._gaps.get(place)
            if gap is not None and _is_after(sequence, gap.sequence):
                continue
            if place.tp in forwarded and codes.get(place.tp) in _ON_THE_WAY:
                self._gaps[place] = _Gap(sequence)
                if len(self._gaps) > MAX_GAPS:
                    del self._gaps[next(iter(self._gaps))]
            elif gap is not None:
                del self._gaps[place]
        self.is_watching = self._always_watches or bool(self._gaps)


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
