"""What a partition remembers of one idempotent or transactional producer."""

from typing import NamedTuple

from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, BatchHeader

NUM_BATCHES_TO_RETAIN = 5
"""A producer has at most five requests in flight, so no older batch can come again."""

_SEQUENCE_SPACE = 1 << 31


class BatchMetadata(NamedTuple):
    """One of the last batches of a producer, to recognise it when it comes again."""

    last_seq: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_seq(self) -> int:
        """The sequence number of its first record."""
        return (self.last_seq - self.offset_delta) % _SEQUENCE_SPACE

    @property
    def first_offset(self) -> int:
        """The offset of its first record."""
        return self.last_offset - self.offset_delta


class CompletedTxn(NamedTuple):
    """A transaction whose marker was appended: `last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerStateEntry:
    """Epochs, open transaction and last batches of one producer, oldest batch first."""

    __slots__ = (
        "batch_metadata",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        *,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = NO_TIMESTAMP,
        current_txn_first_offset: int | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batch_metadata: list[BatchMetadata] = []

    @property
    def last_seq(self) -> int:
        """The sequence number of the last record, or -1."""
        return self.batch_metadata[-1].last_seq if self.batch_metadata else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """The offset of the last record that is no marker, or -1."""
        return self.batch_metadata[-1].last_offset if self.batch_metadata else -1

    @property
    def last_offset_delta(self) -> int:
        """The offset delta of the last batch."""
        return self.batch_metadata[-1].offset_delta if self.batch_metadata else 0

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Remember a batch; the oldest is forgotten, and all of another epoch."""
        self.maybe_update_producer_epoch(producer_epoch)
        self._add_batch_metadata(batch)
        self.last_timestamp = batch.timestamp

    def maybe_update_producer_epoch(self, producer_epoch: int) -> None:
        """Take over an epoch; sequences start anew with it."""
        if self.producer_epoch != producer_epoch:
            self.batch_metadata.clear()
            self.producer_epoch = producer_epoch

    def _add_batch_metadata(self, batch: BatchMetadata) -> None:
        if len(self.batch_metadata) == NUM_BATCHES_TO_RETAIN:
            del self.batch_metadata[0]
        self.batch_metadata.append(batch)

    def update(self, following: "ProducerStateEntry") -> None:
        """Take over what an append has changed."""
        self.maybe_update_producer_epoch(following.producer_epoch)
        for batch in following.batch_metadata:
            self._add_batch_metadata(batch)
        self.coordinator_epoch = following.coordinator_epoch
        self.current_txn_first_offset = following.current_txn_first_offset
        self.last_timestamp = following.last_timestamp

    def find_duplicate_batch(self, batch: BatchHeader) -> BatchMetadata | None:
        """Return the remembered batch with exactly the same sequence numbers."""
        if batch.producer_epoch != self.producer_epoch:
            return None
        last_sequence = batch.last_sequence
        for metadata in self.batch_metadata:
            if metadata.last_seq == last_sequence and metadata.first_seq == batch.base_sequence:
                return metadata
        return None
