import contextlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.protocol.errors import CorruptRecordError, InvalidRecordError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.legacy_message_set import encode_message
from kafkalike.protocol.records.record import (
    Record,
    TimestampType,
    decode_records,
    encode_record,
    read_varint,
    write_varint,
)
from kafkalike.protocol.records.record_batch import (
    BatchHeader,
    check_crc,
    iter_batches,
    parse_batch_header,
    set_base_offset_and_epoch,
    with_offset_and_epoch,
)
from kafkalike.protocol.records.record_reader import iter_all_records, iter_records

timestamps = st.integers(-1, 2**63 - 1)
maybe_bytes = st.none() | st.binary(max_size=20)
headers = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=5), maybe_bytes))
records = st.lists(st.tuples(st.integers(-1, 2**50), maybe_bytes, maybe_bytes, headers), min_size=1)


def build(*values: bytes, magic: int = 2, **options: object) -> bytes:
    builder = BatchBuilder(magic=magic, **options)  # type: ignore[arg-type]
    for number, value in enumerate(values):
        builder.append(1000 + number, b"key", value)
    return builder.build()


def first_header(data: bytes) -> BatchHeader:
    return parse_batch_header(data)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_round_trip(value: int) -> None:
    encoded = write_varint(value)
    assert read_varint(b"xy" + encoded + b"z", 2) == (value, 2 + len(encoded))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (300, "d804")],
)
def test_varints_are_zigzag(value: int, encoded: str) -> None:
    assert write_varint(value) == bytes.fromhex(encoded)


@pytest.mark.parametrize("data", [b"\xff" * 10 + b"\x01", b"\xff" * 9 + b"\x02"])
def test_varints_of_more_than_64_bits_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidRecordError, match="varint"):
        read_varint(data, 0)


@settings(deadline=None)
@given(records, st.sampled_from(CompressionType), st.integers(0, 2**40))
def test_any_records_come_back_from_a_batch(
    rows: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    codec: CompressionType,
    base_offset: int,
) -> None:
    builder = BatchBuilder(compression=codec, base_offset=base_offset)
    for timestamp, key, value, row_headers in rows:
        builder.append(timestamp, key, value, row_headers)
    data = builder.build()
    header = first_header(data)
    check_crc(data, 0, header)
    assert header.record_count == len(rows) == builder.record_count
    assert (header.base_offset, header.next_offset) == (base_offset, base_offset + len(rows))
    assert header.max_timestamp == max(row[0] for row in rows)
    assert [(*r[1:4], list(r.headers)) for r in iter_records(data, 0, header)] == rows
    assert [r.offset - base_offset for r in iter_records(data, 0, header)] == [*range(len(rows))]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 2**50), maybe_bytes, maybe_bytes), min_size=1),
    st.sampled_from([codec for codec in CompressionType if codec is not CompressionType.ZSTD]),
    st.integers(0, 2**40),
    st.integers(0, 1),
)
def test_any_records_come_back_from_old_formats(
    rows: list[tuple[int, bytes | None, bytes | None]],
    codec: CompressionType,
    base_offset: int,
    magic: int,
) -> None:
    builder = BatchBuilder(magic=magic, compression=codec, base_offset=base_offset)
    for row in rows:
        builder.append(*row)
    data = builder.build()
    for position, header in iter_batches(data):
        check_crc(data, position, header)
        assert (header.magic, header.compression_type) == (magic, codec)
    assert [record[:4] for record in iter_all_records(data)] == [
        (base_offset + number, timestamp if magic else -1, key, value)
        for number, (timestamp, key, value) in enumerate(rows)
    ]


def test_a_header_knows_what_its_attributes_mean() -> None:
    data = build(
        b"a",
        b"b",
        compression=CompressionType.LZ4,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        log_append_time_ms=77,
        producer_id=5,
        producer_epoch=1,
        base_sequence=2**31 - 1,
        is_transactional=True,
        base_offset=10,
        leader_epoch=3,
    )
    header = first_header(data)
    assert header.compression_type is CompressionType.LZ4
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (header.is_transactional, header.is_control, header.has_producer_id) == (
        True,
        False,
        True,
    )
    assert (header.max_timestamp, header.base_timestamp) == (77, 1000)
    assert header.size_in_bytes == len(data)
    assert (header.last_offset, header.partition_leader_epoch) == (11, 3)
    # After the largest sequence comes 0.
    assert (header.sequence_of(10), header.last_sequence) == (2**31 - 1, 0)
    assert {record.timestamp for record in iter_records(data, 0, header)} == {77}


def test_a_batch_without_producer_has_no_sequence() -> None:
    header = first_header(build(b"a"))
    assert (header.has_producer_id, header.last_sequence) == (False, -1)


def test_append_gives_another_offset_and_epoch_outside_the_checksum() -> None:
    data = build(b"a", b"b")
    header = first_header(data)
    moved = b"".join(with_offset_and_epoch(memoryview(data), 0, header, 500, 9))
    in_place = bytearray(data)
    set_base_offset_and_epoch(in_place, 0, 500, 9)
    assert moved == in_place
    new_header = first_header(moved)
    check_crc(moved, 0, new_header)
    assert new_header == header._replace(base_offset=500, partition_leader_epoch=9)


def test_every_changed_byte_behind_the_checksum_is_noticed() -> None:
    for magic in range(3):
        data = build(b"abc", magic=magic)
        for position in range(21 if magic == 2 else 16, len(data)):
            changed = bytearray(data)
            changed[position] ^= 0x40
            with pytest.raises(CorruptRecordError):
                check_crc(changed, 0, first_header(bytes(changed)))


def test_batches_are_walked_over_until_one_is_cut_off() -> None:
    one, two, old = build(b"a"), build(b"b", base_offset=1), build(b"c", magic=1, base_offset=2)
    data = one + two + old
    assert [position for position, _ in iter_batches(data)] == [0, len(one), len(one + two)]
    assert [r.value for r in iter_all_records(data)] == [b"a", b"b", b"c"]
    for end in range(len(one + two), len(data)):
        assert len(list(iter_batches(data[:end]))) == 2
    assert [p for p, _ in iter_batches(memoryview(data), len(one))] == [len(one), len(one + two)]


def test_a_batch_that_is_cut_off_is_not_opened() -> None:
    data = build(b"abc")
    with pytest.raises(CorruptRecordError, match="cut off"):
        list(iter_records(data[:-1], 0, first_header(data)))
    with pytest.raises(CorruptRecordError, match="cut off"):
        check_crc(data[:-1], 0, first_header(data))


def test_an_emptied_batch_has_no_records() -> None:
    header = first_header(build(b"a"))._replace(record_count=0, batch_length=49)
    assert list(iter_records(bytes(61), 0, header)) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({16: 3}, "Invalid magic found in record: 3"),
        ({8: 0x80}, "smaller than the minimum"),
        (
            {8: 0, 9: 0, 10: 0, 11: 48},
            "the size 60 is smaller than the minimum .* 61",
        ),
        ({16: 1, 11: 20}, "smaller than the minimum"),
    ],
)
def test_impossible_headers_are_corrupt(change: dict[int, int], message: str) -> None:
    data = bytearray(build(b"abc"))
    for position, value in change.items():
        data[position] = value
    with pytest.raises(CorruptRecordError, match=message):
        parse_batch_header(data)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_header_that_is_cut_off_is_corrupt(magic: int) -> None:
    data = build(b"", magic=magic)
    smallest = {0: 26, 1: 34, 2: 61}[magic]
    parse_batch_header(data[:smallest])
    for end in range(smallest):
        with pytest.raises(CorruptRecordError):
            parse_batch_header(data[:end])


SOURCES = [
    build(b"a" * 50, b"b" * 50, magic=magic, compression=codec)
    for magic in range(3)
    for codec in CompressionType
    if magic == 2 or codec is not CompressionType.ZSTD
]


@pytest.mark.parametrize("seed", range(40))
def test_mutated_batches_read_or_are_refused(seed: int) -> None:
    chance = random.Random(seed)
    for source in SOURCES:
        data = bytearray(source)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 127, 128, 255])
        with contextlib.suppress(CorruptRecordError, InvalidRecordError):
            assert len(list(iter_all_records(bytes(data)))) <= len(data)


def encoded(record: Record) -> bytes:
    return encode_record(record, record.offset, record.timestamp)


@pytest.mark.parametrize(
    ("data", "count", "message"),
    [
        (b"", -1, "invalid record count -1"),
        (b"", 1, "premature EOF"),
        (b"\x20", 1, "premature EOF"),
        (b"\x01", 1, "premature EOF"),
        (encoded(Record(0, 0, b"k", b"v")), 2, "premature EOF"),
        (encoded(Record(0, 0, b"k", b"v")) * 2, 1, "records still remaining"),
        (b"\x0e\x00\x00\x00\x01\x01\x01\x00", 1, "invalid number of record headers -1"),
        (b"\x0e\x00\x00\x00\x01\x01\x7e\x00", 1, "larger than the remaining size"),
        (b"\x0e\x00\x00\x00\x01\x01\x00\x00", 1, "Invalid record size"),
        (b"\x0e\x00\x00\x00\x40\x01\x00\x00", 1, "invalid record structure"),
        (b"\x10\x00\x00\x00\x01\x01\x02\x01\x01", 1, "Invalid negative header key size"),
    ],
)
def test_malformed_records_say_what_is_wrong(data: bytes, count: int, message: str) -> None:
    with pytest.raises(InvalidRecordError, match=message):
        list(decode_records(data, count, base_offset=0, base_timestamp=0))


def test_a_timestamp_of_more_than_64_bits_is_refused() -> None:
    data = encoded(Record(0, 2**62, None, None))
    assert next(decode_records(data, 1, base_offset=0, base_timestamp=0)).timestamp == 2**62
    with pytest.raises(InvalidRecordError, match="does not fit 64 bits"):
        list(decode_records(data, 1, base_offset=0, base_timestamp=2**62))


def test_a_header_name_that_is_not_utf_8_survives() -> None:
    record = Record(0, 0, None, None, [("\udcff", b"v")])
    data = encoded(record)
    assert b"\xff" in data
    [read] = decode_records(data, 1, base_offset=0, base_timestamp=0)
    assert encoded(read) == data


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"magic": 1, "producer_id": 1}, "no producer ids"),
        ({"magic": 1, "is_control": True}, "no producer ids and control records"),
        ({"magic": 0, "compression": CompressionType.ZSTD}, "ZStandard"),
        ({"is_transactional": True}, "without a valid producer ID"),
        ({"producer_id": 1, "base_sequence": 0}, "negative producer epoch"),
        ({"producer_id": 1, "producer_epoch": 0}, "negative sequence"),
    ],
)
def test_a_builder_refuses_what_a_format_cannot_hold(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        BatchBuilder(**options)  # type: ignore[arg-type]


def test_a_builder_refuses_records_that_do_not_fit() -> None:
    builder = BatchBuilder(base_offset=10)
    builder.append(0, None, None, offset=12)
    with pytest.raises(ValueError, match="Illegal offset 12 following previous 12"):
        builder.append(0, None, None, offset=12)
    with pytest.raises(ValueError, match="Illegal offset"):
        builder.append(0, None, None, offset=10 + 2**31)
    with pytest.raises(ValueError, match="negative timestamp"):
        builder.append(-2, None, None)
    with pytest.raises(ValueError, match="does not support record headers"):
        BatchBuilder(magic=1).append(0, None, None, [("h", None)])


def test_a_builder_without_records_builds_nothing() -> None:
    builder = BatchBuilder()
    assert builder.build() == b""
    assert (builder.record_count, builder.uncompressed_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("magic", "codec", "timestamp_type", "expected"),
    [
        (2, CompressionType.NONE, TimestampType.CREATE_TIME, (9, 2)),
        (1, CompressionType.NONE, TimestampType.CREATE_TIME, (9, 1)),
        (1, CompressionType.GZIP, TimestampType.CREATE_TIME, (9, 2)),
        (0, CompressionType.NONE, TimestampType.CREATE_TIME, (-1, 2)),
        (1, CompressionType.NONE, TimestampType.LOG_APPEND_TIME, (50, 0)),
        (2, CompressionType.NONE, TimestampType.LOG_APPEND_TIME, (50, 2)),
    ],
)
def test_a_time_index_learns_the_largest_timestamp_and_its_shallow_offset(
    magic: int,
    codec: CompressionType,
    timestamp_type: TimestampType,
    expected: tuple[int, int],
) -> None:
    """M5: what the builder says of a batch is what Kafka puts into the time index."""
    builder = BatchBuilder(
        magic=magic, compression=codec, timestamp_type=timestamp_type, log_append_time_ms=50
    )
    for timestamp in (3, 9, 5):
        builder.append(timestamp, None, b"v")
    assert builder.info() == expected


def test_messages_of_old_formats_stand_alone() -> None:
    data = build(b"a", b"b", magic=1, base_offset=5)
    assert [header.base_offset for _, header in iter_batches(data)] == [5, 6]
    assert data == encode_message(5, 1, 1000, b"key", b"a") + encode_message(
        6, 1, 1001, b"key", b"b"
    )
