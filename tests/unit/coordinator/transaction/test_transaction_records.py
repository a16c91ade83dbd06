"""Records of `__transaction_state`, compared with those that Apache Kafka 2.8.2 wrote."""

import re
from collections.abc import Iterator

import pytest

from kafkalike.coordinator.transaction.transaction_metadata import TransactionMetadata
from kafkalike.coordinator.transaction.transaction_records import (
    decode_value,
    encode_value,
    read_record,
    transaction_batch,
)
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import encode_transaction_log_key
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_reader import iter_all_records
from tests.support.golden import LOGDIR, segment_files
from tests.support.log_builder import NOW_MS
from tests.support.transactions import TXN_ID, a_transaction

PARTITIONS = [f"__transaction_state-{number}" for number in range(4)]
_DUMPED = re.compile(r"transactionalId=(\S+) payload: (.*)$", re.MULTILINE)


def golden_records(partition: str) -> list[Record]:
    return [r for path in segment_files(partition) for r in iter_all_records(path.read_bytes())]


def dumped(partition: str) -> list[tuple[str, str]]:
    text = (LOGDIR / "dump" / f"{partition}.txt").read_text()
    return [(found[1], found[2]) for found in _DUMPED.finditer(text)]


def as_kafka_prints(metadata: TransactionMetadata) -> str:
    current = metadata.current
    partitions = ",".join(sorted(map(str, current.topic_partitions)))
    return (
        f"producerId:{current.producer_id},producerEpoch:{current.producer_epoch},"
        f"state={current.txn_state.kafka_name},partitions=[{partitions}],"
        f"txnLastUpdateTimestamp={current.txn_last_update_timestamp},"
        f"txnTimeoutMs={current.txn_timeout_ms}"
    )


def with_sorted_partitions(printed: str) -> str:
    def sort(found: re.Match[str]) -> str:
        return f"[{','.join(sorted(found[1].split(',')))}]"

    return re.sub(r"\[(.*)\]", sort, printed)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_golden_records_say_what_kafkas_own_tool_printed(partition: str) -> None:
    ours = []
    for record in golden_records(partition):
        transactional_id, metadata = read_record(record)
        assert metadata is not None
        ours.append((transactional_id, as_kafka_prints(metadata)))
    assert ours == [(name, with_sorted_partitions(text)) for name, text in dumped(partition)]


def values_with_one_topic() -> Iterator[bytes]:
    for partition in PARTITIONS:
        for record in golden_records(partition):
            assert record.value is not None
            if len({tp.topic for tp in decode_value(record.value).topic_partitions}) < 2:
                yield record.value


def test_golden_values_are_written_again_byte_for_byte() -> None:
    values = list(values_with_one_topic())
    assert {decode_value(value).txn_state for value in values} >= {
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    }
    for value in values:
        assert encode_value(decode_value(value)) == value


@pytest.mark.parametrize("state", TransactionState)
def test_what_was_written_is_read_again(state: TransactionState) -> None:
    current = a_transaction(state).current
    (record,) = iter_all_records(transaction_batch(TXN_ID, current, NOW_MS))
    transactional_id, metadata = read_record(record)
    assert transactional_id == TXN_ID
    assert metadata is not None
    assert metadata.current == current
    assert record.timestamp == NOW_MS


def test_partitions_of_several_topics_are_kept() -> None:
    partitions = frozenset(TopicPartition(f"t{n % 3}", n) for n in range(10))
    current = a_transaction(TransactionState.ONGOING, topic_partitions=partitions).current
    assert decode_value(encode_value(current)).topic_partitions == partitions


def test_record_without_value_is_a_tombstone() -> None:
    record = Record(5, NOW_MS, encode_transaction_log_key("gone"), None, ())
    assert read_record(record) == ("gone", None)


def test_record_without_key_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"record 5 .* has no key"):
        read_record(Record(5, NOW_MS, None, b"", ()))


def test_unknown_state_is_refused() -> None:
    value = bytearray(encode_value(a_transaction().current))
    state_position = 2 + 8 + 2 + 4
    assert value[state_position] == 0
    value[state_position] = 9
    with pytest.raises(ProtocolError, match="9 is not the number"):
        decode_value(bytes(value))
