"""Sequence numbers of an idempotent producer, by partition (part of Kafka's `TransactionManager`).

A broker takes the batches of a producer id and epoch in the order of their sequence numbers. When a
batch is lost for good (or the broker has forgotten the producer), the partition goes on under a new
epoch with numbers from 0 (KIP-360).
"""

from collections.abc import Sequence
from typing import Final

from kafkalike.client.producer.producer_batch import BatchSequence, ProducerBatch
from kafkalike.model.topic_partition import TopicPartition

_SEQUENCE_SPACE: Final = 1 << 31
MAX_EPOCH: Final = (1 << 15) - 1


class _Partition:
    __slots__ = ("epoch", "must_restart", "next_sequence", "producer_id", "tracked")

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.next_sequence = 0
        self.tracked: list[ProducerBatch] = []  # with a number and without an outcome, in order
        self.must_restart = False


class Sequences:
    """Numbers the batches; knows which batch may be sent next."""

    def __init__(self) -> None:
        self.producer_id = -1
        self.epoch = -1
        self._partitions: dict[TopicPartition, _Partition] = {}

    @property
    def has_producer_id(self) -> bool:
        """Whether a broker has given an id."""
        return self.producer_id >= 0

    def set_producer(self, producer_id: int, epoch: int) -> None:
        """Begin with a new id or epoch; all numbers start again."""
        self.producer_id = producer_id
        self.epoch = epoch
        self._partitions.clear()

    def may_send(self, batch: ProducerBatch) -> bool:
        """Whether a batch at the head of its queue can go out now; numbers it if it is new."""
        if not self.has_producer_id:
            return False
        found = self._partitions.get(batch.tp)
        if found is None:
            found = self._partitions[batch.tp] = _Partition(self.producer_id, self.epoch)
        if found.must_restart and not self._restart(found):
            return False
        if batch.sequence is not None:
            # After a failure only the oldest goes: those behind it would be out of order.
            return not found.tracked or found.tracked[0] is batch
        if (found.producer_id, found.epoch) != (self.producer_id, self.epoch):
            if found.tracked:
                return False
            found.producer_id, found.epoch = self.producer_id, self.epoch
            found.next_sequence = 0
        self._number(found, batch)
        return True

    def completed(self, batch: ProducerBatch) -> None:
        """Forget a batch that was written."""
        found = self._partitions.get(batch.tp)
        if found is not None and batch in found.tracked:
            found.tracked.remove(batch)

    def failed(self, batch: ProducerBatch) -> None:
        """Forget a batch that was not, or perhaps not, written: its number is a gap."""
        found = self._partitions.get(batch.tp)
        if found is not None and batch in found.tracked:
            found.tracked.remove(batch)
            found.must_restart = True

    def split(self, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """Give the numbers of a batch that was too large, and not written, to its parts."""
        found = self._partitions.get(batch.tp)
        if found is None or batch not in found.tracked or batch.sequence is None:
            return
        place = found.tracked.index(batch)
        found.tracked[place : place + 1] = parts
        producer_id, epoch, number = batch.sequence
        for part in parts:
            part.sequence = BatchSequence(producer_id, epoch, number)
            number = (number + len(part.records)) % _SEQUENCE_SPACE

    def restart(self, tp: TopicPartition) -> None:
        """Let a partition go on under a new epoch, when nothing of it is in flight."""
        self._partitions[tp].must_restart = True

    def is_first(self, batch: ProducerBatch) -> bool:
        """Whether no batch before this one is still without an outcome."""
        found = self._partitions.get(batch.tp)
        return found is None or not found.tracked or found.tracked[0] is batch

    def _number(self, found: _Partition, batch: ProducerBatch) -> None:
        batch.sequence = BatchSequence(found.producer_id, found.epoch, found.next_sequence)
        found.next_sequence = (found.next_sequence + len(batch.records)) % _SEQUENCE_SPACE
        found.tracked.append(batch)

    def _restart(self, found: _Partition) -> bool:
        if any(batch.is_in_flight for batch in found.tracked):
            return False
        if self.epoch >= MAX_EPOCH:
            self.producer_id = self.epoch = -1  # used up: another id is asked for
            return False
        self.epoch += 1
        found.producer_id, found.epoch, found.next_sequence = self.producer_id, self.epoch, 0
        tracked, found.tracked = found.tracked, []
        for batch in tracked:
            self._number(found, batch)
        found.must_restart = False
        return True
