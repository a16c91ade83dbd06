import pytest

from kafkalike.protocol.errors import InvalidRecordError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.control_record import (
    ControlRecordType,
    build_end_txn_marker,
    encode_control_key,
    parse_control_type,
    parse_end_txn_marker,
    read_end_txn_marker,
)
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import parse_batch_header


@pytest.mark.parametrize("control_type", list(ControlRecordType)[1:])
def test_keys_round_trip(control_type: ControlRecordType) -> None:
    assert parse_control_type(encode_control_key(control_type)) is control_type


def test_a_type_of_a_later_kafka_is_unknown_and_not_an_error() -> None:
    assert parse_control_type(b"\x00\x00\x00\x63") is ControlRecordType.UNKNOWN
    assert parse_control_type(b"\x00\x05\x00\x01later") is ControlRecordType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_malformed_keys_are_invalid(key: bytes | None) -> None:
    with pytest.raises(InvalidRecordError):
        parse_control_type(key)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (ControlRecordType.LEADER_CHANGE, bytes(6), "LEADER_CHANGE control record does not end"),
        (ControlRecordType.COMMIT, bytes(5), "less than 6 bytes"),
        (ControlRecordType.COMMIT, None, "less than 6 bytes"),
        (ControlRecordType.ABORT, b"\xff\xff\0\0\0\0", "Invalid version found"),
    ],
)
def test_malformed_markers_are_invalid(
    key: ControlRecordType, value: bytes | None, message: str
) -> None:
    with pytest.raises(InvalidRecordError, match=message):
        parse_end_txn_marker(Record(0, 0, encode_control_key(key), value))


def test_only_commit_and_abort_end_a_transaction() -> None:
    with pytest.raises(ValueError, match="LEADER_CHANGE does not end a transaction"):
        build_end_txn_marker(
            ControlRecordType.LEADER_CHANGE,
            producer_id=1,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=0,
        )


def test_a_control_batch_that_compaction_emptied_has_no_marker() -> None:
    builder = BatchBuilder()
    builder.append(0, None, None)
    header = parse_batch_header(builder.build())._replace(record_count=0, batch_length=49)
    assert read_end_txn_marker(bytes(61), 0, header) is None
