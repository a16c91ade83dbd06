"""Which change a request calls for, or why it is refused (part of Kafka's TransactionCoordinator).

Decisions only. Each function prepares the change, so that nothing else may change until it is in
the log, and returns it; None means that there is nothing to do. A refusal is a `KafkaError`.
"""

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kafkalike.coordinator.transaction.transaction_metadata import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARE_EPOCH_FENCE,
    IllegalTransitionError,
    TransactionMetadata,
    TxnTransitMetadata,
    is_epoch_exhausted,
)
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ConcurrentTransactionsError,
    InvalidPidMappingError,
    InvalidTxnStateError,
    ProducerFencedError,
)
from kafkalike.protocol.records.record_batch import NO_PRODUCER_EPOCH


class ProducerIdAndEpoch(NamedTuple):
    """Who a producer is."""

    producer_id: int
    producer_epoch: int


# --- InitProducerId


def needs_new_producer_id(
    metadata: TransactionMetadata, expected: ProducerIdAndEpoch | None
) -> bool:
    """Whether a producer that starts will need another id, for its epochs are used up."""
    return (
        metadata.state in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)
        and metadata.is_producer_epoch_exhausted
        and (expected is None or expected.producer_epoch == metadata.producer_epoch)
    )


def init_producer_id(
    metadata: TransactionMetadata,
    txn_timeout_ms: int,
    expected: ProducerIdAndEpoch | None,
    new_producer_id: int | None,
    now_ms: int,
) -> TxnTransitMetadata:
    """Let a producer start: with the next epoch, or by first aborting what it left open.

    `expected` is who the producer believes to be (KIP-360); `new_producer_id` is there if
    `needs_new_producer_id` said so.
    """
    _check_not_pending(metadata)
    if expected is not None and not _may_be(metadata, expected):
        raise ProducerFencedError(
            f"{metadata.transactional_id}: {expected} is not the producer "
            f"{metadata.producer_id} of epoch {metadata.producer_epoch}"
        )
    _check_not_ending(metadata)
    if metadata.state is ONGOING:
        # The epoch of the fence is never given out: after the abort the producer asks again.
        return metadata.prepare_fence_producer_epoch()
    _check_possible(metadata)
    if needs_new_producer_id(metadata, expected):
        assert new_producer_id is not None, "asked for before"
        return metadata.prepare_producer_id_rotation(
            new_producer_id, txn_timeout_ms, now_ms, record_last_epoch=expected is not None
        )
    expected_epoch = None if expected is None else expected.producer_epoch
    return metadata.prepare_increment_producer_epoch(txn_timeout_ms, expected_epoch, now_ms)


def _may_be(metadata: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """Whether a producer with this id may start; its epoch is looked at later."""
    if metadata.producer_epoch == NO_PRODUCER_EPOCH:
        return True  # Just made: the former one has expired.
    if expected.producer_id == metadata.producer_id:
        return True
    # Its epochs were used up, it got another id, and the answer was lost.
    return expected.producer_id == metadata.current.last_producer_id and is_epoch_exhausted(
        expected.producer_epoch
    )


# --- AddPartitionsToTxn, AddOffsetsToTxn


def add_partitions(
    metadata: TransactionMetadata,
    producer: ProducerIdAndEpoch,
    partitions: AbstractSet[TopicPartition],
    now_ms: int,
) -> TxnTransitMetadata | None:
    """Take partitions into the transaction, which begins if there is none."""
    _check_producer(metadata, producer)
    _check_not_pending(metadata)
    _check_not_ending(metadata)
    if metadata.state is ONGOING and partitions <= metadata.topic_partitions:
        return None
    _check_possible(metadata)
    return metadata.prepare_add_partitions(partitions, now_ms)


# --- EndTxn


def end_transaction(
    metadata: TransactionMetadata,
    producer: ProducerIdAndEpoch,
    now_ms: int,
    *,
    is_commit: bool,
    is_from_client: bool,
) -> TxnTransitMetadata | None:
    """Decide the transaction; None if it was decided so before."""
    # Only the coordinator itself comes with a later epoch, to lock the producer out.
    _check_producer(metadata, producer, may_be_later=not is_from_client)
    if metadata.pending_state is not PREPARE_EPOCH_FENCE:
        _check_not_pending(metadata)
    if metadata.state is ONGOING:
        if not is_commit and metadata.pending_state is PREPARE_EPOCH_FENCE:
            metadata.fence(producer.producer_epoch)
        return metadata.prepare_abort_or_commit(is_commit=is_commit, now_ms=now_ms)
    _check_possible(metadata)
    if metadata.state is (COMPLETE_COMMIT if is_commit else COMPLETE_ABORT):
        return None
    if metadata.state is (PREPARE_COMMIT if is_commit else PREPARE_ABORT):
        raise _concurrent(metadata)
    raise _invalid_state(metadata, is_commit=is_commit)


def complete_transaction(
    metadata: TransactionMetadata, producer: ProducerIdAndEpoch, now_ms: int, *, is_commit: bool
) -> TxnTransitMetadata:
    """Go on with what `end_transaction` decided, now that it is in the log."""
    _check_producer(metadata, producer)
    _check_not_pending(metadata)
    if metadata.state is not (PREPARE_COMMIT if is_commit else PREPARE_ABORT):
        raise _invalid_state(metadata, is_commit=is_commit)
    return metadata.prepare_complete(now_ms)


# --- why not


def _check_producer(
    metadata: TransactionMetadata, producer: ProducerIdAndEpoch, *, may_be_later: bool = False
) -> None:
    if producer.producer_id != metadata.producer_id:
        raise InvalidPidMappingError(
            f"{metadata.transactional_id}: the producer is {metadata.producer_id}, "
            f"not {producer.producer_id}"
        )
    is_later = producer.producer_epoch > metadata.producer_epoch
    if producer.producer_epoch != metadata.producer_epoch and not (is_later and may_be_later):
        raise ProducerFencedError(
            f"{metadata.transactional_id}: the epoch is {metadata.producer_epoch}, "
            f"not {producer.producer_epoch}"
        )


def _check_not_pending(metadata: TransactionMetadata) -> None:
    if metadata.is_transition_pending:
        raise _concurrent(metadata)


def _check_not_ending(metadata: TransactionMetadata) -> None:
    if metadata.state in (PREPARE_COMMIT, PREPARE_ABORT):
        raise _concurrent(metadata)


def _check_possible(metadata: TransactionMetadata) -> None:
    if metadata.state.is_never_written:
        raise IllegalTransitionError(f"{metadata} has a state that is never written")


def _concurrent(metadata: TransactionMetadata) -> ConcurrentTransactionsError:
    pending = metadata.pending_state
    doing = f", becoming {pending.kafka_name}" if pending is not None else ""
    return ConcurrentTransactionsError(
        f"{metadata.transactional_id} is {metadata.state.kafka_name}{doing}: try again"
    )


def _invalid_state(metadata: TransactionMetadata, *, is_commit: bool) -> InvalidTxnStateError:
    wanted = "commit" if is_commit else "abort"
    return InvalidTxnStateError(
        f"{metadata.transactional_id} is {metadata.state.kafka_name}: nothing to {wanted}"
    )
