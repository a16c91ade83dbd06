"""Checks the batches of one append against the state of their producer (`ProducerAppendInfo`).

Nothing changes in the state itself until the append has succeeded: then `ProducerStateManager`
takes over `updated_entry` and `started_transactions`.
"""

from twisted.logger import Logger

from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.producer_state_entry import BatchMetadata, CompletedTxn, ProducerStateEntry
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from kafkalike.protocol.records.control_record import EndTransactionMarker
from kafkalike.protocol.records.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, BatchHeader

logger = Logger()

_MAX_SEQUENCE = (1 << 31) - 1


class ProducerAppendInfo:
    """Follows the batches of one producer in one append, and refuses what does not fit."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        producer_id: int,
        current_entry: ProducerStateEntry,
        origin: AppendOrigin,
    ) -> None:
        self.producer_id = producer_id
        self.started_transactions: list[int] = []
        self.updated_entry = ProducerStateEntry(
            producer_id,
            producer_epoch=current_entry.producer_epoch,
            coordinator_epoch=current_entry.coordinator_epoch,
            last_timestamp=current_entry.last_timestamp,
            current_txn_first_offset=current_entry.current_txn_first_offset,
        )
        self._topic_partition = topic_partition
        self._current_entry = current_entry
        self._origin = origin

    def append(
        self, batch: BatchHeader, marker: EndTransactionMarker | None = None
    ) -> CompletedTxn | None:
        """Take in a batch; a control batch comes with its marker, or none if it was emptied."""
        if not batch.is_control:
            self._append_data_batch(batch)
            return None
        if marker is None:
            return None
        return self._append_end_txn_marker(batch, marker)

    def _append_data_batch(self, batch: BatchHeader) -> None:
        self._check_producer_epoch(batch)
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(batch)
        entry = self.updated_entry
        entry.add_batch(
            batch.producer_epoch,
            BatchMetadata(
                batch.last_sequence,
                batch.last_offset,
                batch.last_offset_delta,
                batch.max_timestamp,
            ),
        )
        if batch.is_transactional:
            if entry.current_txn_first_offset is None:
                entry.current_txn_first_offset = batch.base_offset
                self.started_transactions.append(batch.base_offset)
        elif entry.current_txn_first_offset is not None:
            raise InvalidTxnStateError(
                f"Expected transactional write from producer {self.producer_id} at offset "
                f"{batch.base_offset} in partition {self._topic_partition}"
            )

    def _check_producer_epoch(self, batch: BatchHeader) -> None:
        if batch.producer_epoch >= self.updated_entry.producer_epoch:
            return
        message = (
            f"Epoch of producer {self.producer_id} at offset {batch.base_offset} in "
            f"{self._topic_partition} is {batch.producer_epoch}, which is smaller than the last "
            f"seen epoch {self.updated_entry.producer_epoch}"
        )
        if self._origin is not AppendOrigin.REPLICATION:
            raise InvalidProducerEpochError(message)
        logger.warn("{message}", message=message)

    def _check_sequence(self, batch: BatchHeader) -> None:
        entry = self.updated_entry
        if batch.producer_epoch != entry.producer_epoch:
            if batch.base_sequence != 0 and entry.producer_epoch != NO_PRODUCER_EPOCH:
                raise OutOfOrderSequenceError(
                    f"Invalid sequence number for new epoch of producer {self.producer_id} at "
                    f"offset {batch.base_offset} in partition {self._topic_partition}: "
                    f"{batch.producer_epoch} (request epoch), {batch.base_sequence} (seq. number), "
                    f"{entry.producer_epoch} (current producer epoch)"
                )
            return
        if entry.batch_metadata:
            last_seq = entry.last_seq
        elif batch.producer_epoch == self._current_entry.producer_epoch:
            last_seq = self._current_entry.last_seq
        else:
            last_seq = NO_SEQUENCE
        # With no epoch known (retention or DeleteRecords took all of the producer's records), any
        # sequence number is accepted.
        if self._current_entry.producer_epoch == NO_PRODUCER_EPOCH:
            return
        if not _is_in_sequence(last_seq, batch.base_sequence):
            raise OutOfOrderSequenceError(
                f"Out of order sequence number for producer {self.producer_id} at offset "
                f"{batch.base_offset} in partition {self._topic_partition}: {batch.base_sequence} "
                f"(incoming seq. number), {last_seq} (current end sequence number)"
            )

    def _append_end_txn_marker(
        self, batch: BatchHeader, marker: EndTransactionMarker
    ) -> CompletedTxn | None:
        self._check_producer_epoch(batch)
        self._check_coordinator_epoch(batch, marker)
        entry = self.updated_entry
        completed = None
        # A marker without data moves no last stable offset and needs no entry in the index.
        if entry.current_txn_first_offset is not None:
            completed = CompletedTxn(
                self.producer_id,
                entry.current_txn_first_offset,
                batch.base_offset,
                marker.is_aborted,
            )
        entry.maybe_update_producer_epoch(batch.producer_epoch)
        entry.current_txn_first_offset = None
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = marker.timestamp
        return completed

    def _check_coordinator_epoch(self, batch: BatchHeader, marker: EndTransactionMarker) -> None:
        current = self.updated_entry.coordinator_epoch
        if current <= marker.coordinator_epoch:
            return
        message = (
            f"Invalid coordinator epoch for producerId {self.producer_id} at offset "
            f"{batch.base_offset} in partition {self._topic_partition}: "
            f"{marker.coordinator_epoch} (zombie), {current} (current)"
        )
        if self._origin is not AppendOrigin.REPLICATION:
            raise TransactionCoordinatorFencedError(message)
        logger.info("{message}", message=message)


def _is_in_sequence(last_seq: int, next_seq: int) -> bool:
    return next_seq == last_seq + 1 or (next_seq == 0 and last_seq == _MAX_SEQUENCE)
