import pytest

from kafkalike.protocol.errors import CorruptRecordError, InvalidRecordError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType, compress
from kafkalike.protocol.records.legacy_message_set import (
    decode_message_set,
    encode_message,
    open_legacy_entry,
    stamp_message,
)
from kafkalike.protocol.records.record import TimestampType
from kafkalike.protocol.records.record_batch import check_crc, parse_batch_header
from kafkalike.protocol.records.record_reader import iter_all_records

GZIP = CompressionType.GZIP


def wrapper(inner: bytes, *, offset: int, magic: int = 1, timestamp: int = 7) -> bytes:
    return encode_message(offset, magic, timestamp, None, compress(GZIP, inner, magic), codec=GZIP)


def inner_set(*offsets: int, magic: int = 1) -> bytes:
    return b"".join(encode_message(offset, magic, 5, b"k", b"v") for offset in offsets)


def offsets_of(data: bytes) -> list[int]:
    return [record.offset for record in iter_all_records(data)]


def test_inner_offsets_of_v1_count_back_from_the_wrapper() -> None:
    assert offsets_of(wrapper(inner_set(0, 1, 2), offset=102)) == [100, 101, 102]
    # Compaction leaves gaps.
    assert offsets_of(wrapper(inner_set(0, 5), offset=105)) == [100, 105]


def test_inner_offsets_of_v0_are_absolute() -> None:
    data = wrapper(inner_set(100, 103, magic=0), offset=103, magic=0)
    assert offsets_of(data) == [100, 103]


def test_a_wrapper_at_0_is_that_of_an_old_librdkafka() -> None:
    assert offsets_of(wrapper(inner_set(0, 1, 2), offset=0)) == [0, 1, 2]


def test_a_wrapper_before_its_last_message_is_invalid() -> None:
    with pytest.raises(InvalidRecordError, match="'1' is less than the last inner message offset"):
        offsets_of(wrapper(inner_set(0, 1, 2), offset=1))


def test_append_time_of_the_wrapper_holds_for_all_messages() -> None:
    builder = BatchBuilder(
        magic=1,
        compression=GZIP,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        log_append_time_ms=99,
    )
    builder.append(1, None, b"a")
    builder.append(2, None, b"b")
    assert [record.timestamp for record in iter_all_records(builder.build())] == [99, 99]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (wrapper(b"", offset=0), "with no inner records"),
        (encode_message(0, 1, 0, None, None, codec=GZIP), "with null value"),
        (wrapper(wrapper(inner_set(0), offset=0), offset=0), "must not be compressed"),
        (
            encode_message(0, 1, 0, None, b"x", codec=CompressionType.ZSTD),
            "format v1 has no zstd compression",
        ),
        (wrapper(inner_set(0).replace(b"\x01", b"\x02"), offset=0), "magic"),
    ],
)
def test_malformed_wrappers_are_invalid(data: bytes, message: str) -> None:
    with pytest.raises(InvalidRecordError, match=message):
        offsets_of(data)


def test_a_wrapper_that_would_unfold_too_far_is_corrupt() -> None:
    data = wrapper(bytes(1 << 20), offset=0)
    with pytest.raises(CorruptRecordError, match="more than 1000 bytes"):
        open_legacy_entry(memoryview(data), parse_batch_header(data), max_bytes=1000)


def test_messages_of_a_set_are_read_until_one_is_cut_off() -> None:
    data = inner_set(0, 1)
    for end in range(len(data) // 2, len(data)):
        assert [message.offset for message in decode_message_set(data[:end])] == [0]


def test_a_message_knows_whether_its_checksum_holds() -> None:
    data = bytearray(inner_set(0))
    assert [message.has_valid_crc for message in decode_message_set(bytes(data))] == [True]
    data[-1] ^= 1
    assert [message.has_valid_crc for message in decode_message_set(bytes(data))] == [False]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({11: 13}, CorruptRecordError, r"minimum record overhead \(14\)"),
        ({16: 2}, InvalidRecordError, "Invalid magic found in message set: 2"),
        ({29: 99}, InvalidRecordError, "shorter than its fields"),
    ],
)
def test_malformed_messages_are_refused(
    change: dict[int, int], error: type[Exception], message: str
) -> None:
    data = bytearray(inner_set(0))
    for position, value in change.items():
        data[position] = value
    with pytest.raises(error, match=message):
        list(decode_message_set(bytes(data)))


def test_a_message_too_short_for_its_format_is_refused() -> None:
    data = encode_message(0, 0, 0, None, None)
    short = bytearray(data)
    short[16] = 1
    with pytest.raises(InvalidRecordError, match="shorter than its fields"):
        list(decode_message_set(bytes(short)))


@pytest.mark.parametrize("magic", [0, 1])
def test_stamping_gives_another_offset_and_time_and_a_true_checksum(magic: int) -> None:
    data = bytearray(encode_message(0, magic, 5, b"k", b"v", codec=GZIP))
    header = parse_batch_header(data)
    stamp_message(
        data, 0, header, offset=77, timestamp_type=TimestampType.LOG_APPEND_TIME, timestamp=123
    )
    stamped = parse_batch_header(data)
    check_crc(data, 0, stamped)
    assert stamped.base_offset == 77
    assert stamped.compression_type is GZIP
    assert stamped.max_timestamp == (123 if magic else -1)
    expected = TimestampType.LOG_APPEND_TIME if magic else TimestampType.NO_TIMESTAMP_TYPE
    assert stamped.timestamp_type is expected


def test_stamping_with_the_same_time_changes_the_offset_alone() -> None:
    data = bytearray(encode_message(0, 1, 5, b"k", b"v"))
    before = bytes(data)
    header = parse_batch_header(data)
    stamp_message(data, 0, header, offset=9, timestamp_type=TimestampType.CREATE_TIME, timestamp=5)
    assert data[8:] == before[8:]
    assert parse_batch_header(data).base_offset == 9
