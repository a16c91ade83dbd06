"""Transactional ids as records of `__transaction_state` (part of Kafka's TransactionLog)."""

from collections import defaultdict

from kafkalike.coordinator.transaction.transaction_metadata import (
    EMPTY,
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import (
    decode_transaction_log_key,
    decode_transaction_log_value,
    encode_transaction_log_key,
    encode_transaction_log_value,
)
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages.coordinator_records import PartitionsSchema, TransactionLogValue
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.record import Record


def transaction_batch(transactional_id: str, transit: TxnTransitMetadata, now_ms: int) -> bytes:
    """Return the batch that says what a transactional id is; it is never compressed."""
    builder = BatchBuilder()
    builder.append(now_ms, encode_transaction_log_key(transactional_id), encode_value(transit))
    return builder.build()


def encode_value(transit: TxnTransitMetadata) -> bytes:
    """Return the value of a record."""
    assert transit.txn_state is not EMPTY or not transit.topic_partitions, "nothing is open yet"
    return encode_transaction_log_value(
        TransactionLogValue(
            producer_id=transit.producer_id,
            producer_epoch=transit.producer_epoch,
            transaction_timeout_ms=transit.txn_timeout_ms,
            transaction_status=transit.txn_state.value,
            transaction_partitions=None if transit.txn_state is EMPTY else _partitions(transit),
            transaction_last_update_timestamp_ms=transit.txn_last_update_timestamp,
            transaction_start_timestamp_ms=transit.txn_start_timestamp,
        )
    )


def _partitions(transit: TxnTransitMetadata) -> list[PartitionsSchema]:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for tp in sorted(transit.topic_partitions):
        by_topic[tp.topic].append(tp.partition)
    return [
        PartitionsSchema(topic=topic, partition_ids=partitions)
        for topic, partitions in by_topic.items()
    ]


def read_record(record: Record) -> tuple[str, TransactionMetadata | None]:
    """Return the transactional id and what it is; None for a tombstone."""
    if record.key is None:
        raise ProtocolError(f"record {record.offset} of the transaction log has no key")
    transactional_id = decode_transaction_log_key(record.key).transactional_id
    if record.value is None:
        return transactional_id, None
    return transactional_id, TransactionMetadata(transactional_id, decode_value(record.value))


def decode_value(data: bytes) -> TxnTransitMetadata:
    """Read the value of a record. Which id and epoch came before is not written."""
    value = decode_transaction_log_value(data)
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise ProtocolError(
            f"{value.transaction_status} is not the number of a transaction state"
        ) from None
    return TxnTransitMetadata(
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        txn_timeout_ms=value.transaction_timeout_ms,
        txn_state=state,
        topic_partitions=frozenset(
            TopicPartition(partitions.topic, partition)
            for partitions in value.transaction_partitions or ()
            for partition in partitions.partition_ids
        ),
        txn_start_timestamp=value.transaction_start_timestamp_ms,
        txn_last_update_timestamp=value.transaction_last_update_timestamp_ms,
    )
