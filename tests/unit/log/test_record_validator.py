"""What producers may append: checks, offsets, timestamps, conversions (Kafka's LogValidator)."""

from typing import Any

import pytest
from crc32c import crc32c

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.record_checks import InvalidRecordsError, InvalidTimestampsError
from kafkalike.log.record_checks import check_produce_records as check
from kafkalike.log.record_validator import RecordValidator
from kafkalike.log.validated_records import ValidatedRecords
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import (
    RECORD_BATCH_OVERHEAD,
    check_crc,
    iter_batches,
)
from kafkalike.protocol.records.record_reader import iter_all_records
from tests.support.log_builder import NOW_MS, a_batch

NONE, GZIP = CompressionType.NONE, CompressionType.GZIP
VERSIONS = {0: "0.9.0", 1: "0.10.2", 2: "2.8"}


def validate(records: memoryview, **settings: Any) -> ValidatedRecords:
    validator = RecordValidator(TopicPartition("orders", 0), TopicConfig(**settings))
    return validator.validate_and_assign_offsets(
        records, first_offset=100, leader_epoch=5, now_ms=NOW_MS
    )


def records_in(validated: ValidatedRecords) -> list[Record]:
    data = b"".join(validated.buffers)
    for position, header in iter_batches(data):
        check_crc(data, position, header)
    return list(iter_all_records(data))


@pytest.mark.parametrize("target_codec", ["producer", "uncompressed", "gzip"])
@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_any_format_becomes_the_topics_format(
    magic: int, target: int, codec: CompressionType, target_codec: str
) -> None:
    """Offsets are assigned, keys and values kept, timestamps kept where both formats have them."""
    timestamp = -1 if magic == 0 else NOW_MS
    values = [b"a", None, b"c" * 50]
    batch = a_batch(values, magic=magic, compression=codec, timestamp=timestamp)
    result = validate(batch, message_format_version=VERSIONS[target], compression_type=target_codec)
    records = records_in(result)
    assert [record.offset for record in records] == [100, 101, 102]
    assert [record.value for record in records] == values
    assert {record.timestamp for record in records} == {NOW_MS if magic and target else -1}
    assert (result.first_offset, result.last_offset) == (100, 102)
    headers = [header for _, header in iter_batches(b"".join(result.buffers))]
    assert {header.magic for header in headers} == {target}
    wanted = {"producer": codec, "uncompressed": NONE, "gzip": GZIP}[target_codec]
    assert {header.compression_type for header in headers} == {wanted}
    assert tuple(headers) == result.batches
    assert result.max_timestamp == (NOW_MS if magic and target else -1)


@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_log_append_time_is_the_brokers(magic: int, codec: CompressionType) -> None:
    batch = a_batch([b"a", b"b"], magic=magic, compression=codec, timestamp=7)
    result = validate(
        batch,
        message_timestamp_type="LogAppendTime",
        message_format_version=VERSIONS[magic],
    )
    assert {record.timestamp for record in records_in(result)} == {NOW_MS}
    assert (result.log_append_time, result.max_timestamp) == (NOW_MS, NOW_MS)


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_timestamp_too_far_from_now_is_refused_with_the_record(codec: CompressionType) -> None:
    settings = {"message_timestamp_difference_max_ms": 1000}
    for timestamp in (NOW_MS - 1000, NOW_MS + 1000):
        assert validate(a_batch(timestamp=timestamp, compression=codec), **settings)
    batch = a_batch([b"a", b"b"], timestamp=NOW_MS + 1001, compression=codec)
    with pytest.raises(InvalidTimestampsError) as refused:
        validate(batch, **settings)
    assert isinstance(refused.value, InvalidTimestampError)
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1]


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_compacted_topic_names_the_records_without_key(codec: CompressionType) -> None:
    batch = a_batch([b"a", b"b", b"c"], keys=[b"k", None, b"k"], compression=codec)
    with pytest.raises(InvalidRecordsError) as refused:
        validate(batch, cleanup_policy=("compact",))
    assert [error.batch_index for error in refused.value.record_errors] == [1]
    assert "Compacted topic cannot accept message without key" in str(
        refused.value.record_errors[0].message
    )


def test_base_offset_of_a_producers_batch_is_zero() -> None:
    with pytest.raises(InvalidRecordError, match="should be 0, but it is 5"):
        validate(a_batch(base_offset=5))


def test_only_one_v2_batch_comes_at_a_time() -> None:
    two = memoryview(bytes(a_batch()) + bytes(a_batch()))
    with pytest.raises(InvalidRecordError, match="more than one batch"):
        validate(two)
    with pytest.raises(InvalidRecordError, match="exactly one"):
        check(3, two)


def test_old_messages_come_in_sets() -> None:
    one = bytes(a_batch([b"a"], magic=1))
    result = validate(memoryview(one * 3), message_format_version="0.10.2")
    assert [record.offset for record in records_in(result)] == [100, 101, 102]
    assert len(result.batches) == 3


def test_producer_ids_need_format_v2() -> None:
    with pytest.raises(UnsupportedForMessageFormatError, match="Idempotent"):
        validate(a_batch(producer_id=1), message_format_version="0.10.2")


def test_truncated_compression_is_corrupt_where_records_are_opened() -> None:
    batch = bytearray(a_batch([b"x" * 1000] * 3, compression=GZIP))
    batch[RECORD_BATCH_OVERHEAD : RECORD_BATCH_OVERHEAD + 10] = b"not gzip.."
    batch[17:21] = int(crc32c(memoryview(batch)[21:])).to_bytes(4, "big")
    with pytest.raises(CorruptRecordError):
        validate(memoryview(batch), compression_type="lz4")


@pytest.mark.parametrize(
    ("version", "batch", "error"),
    [
        (3, memoryview(b""), InvalidRecordError),
        (3, a_batch(magic=1), InvalidRecordError),
        (6, a_batch(compression=CompressionType.ZSTD), UnsupportedCompressionTypeError),
    ],
)
def test_produce_version_limits_what_it_may_hold(
    version: int, batch: memoryview, error: type[Exception]
) -> None:
    with pytest.raises(error):
        check(version, batch)


def test_produce_versions_may_hold_what_they_know() -> None:
    check(2, a_batch(magic=1))
    check(3, a_batch())
    check(7, a_batch(compression=CompressionType.ZSTD))
