"""The cleaner's own way through the records of a batch, against the reader that everybody uses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.log.cleaner_batches import with_records
from kafkalike.log.cleaner_records import open_records, scan_records
from kafkalike.protocol.errors import InvalidRecordError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import Record, TimestampType
from kafkalike.protocol.records.record_batch import check_crc, parse_batch_header
from kafkalike.protocol.records.record_reader import iter_records

NOW_MS = 1_700_000_000_000

fields = st.none() | st.binary(max_size=40) | st.binary(min_size=60, max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), fields), max_size=2)
records = st.lists(
    st.tuples(st.integers(-100, 20_000), fields, fields, headers, st.integers(1, 200)),
    min_size=1,
    max_size=20,
)


def build(contents: list, **options: object) -> bytes:
    builder = BatchBuilder(base_offset=1000, leader_epoch=3, **options)
    offset = 999
    for later_ms, key, value, its_headers, gap in contents:
        offset += gap
        builder.append(NOW_MS + later_ms, key, value, its_headers, offset=offset)
    return builder.build()


@given(contents=records, at_once=st.integers(1, 30))
def test_keys_and_offsets_are_those_of_the_reader(contents: list, at_once: int) -> None:
    batch = build(contents)
    header = parse_batch_header(batch)
    opened = open_records(memoryview(batch), header)
    found, position = [], 0
    while len(found) < header.record_count:
        some, position = scan_records(opened, position, min(at_once, len(contents) - len(found)))
        found += some
    assert position == len(opened)
    wanted = list(iter_records(batch, 0, header))
    assert [(1000 + each[0], each[1], each[2]) for each in found] == [
        (record.offset, record.key, record.value is not None) for record in wanted
    ]


@given(
    contents=records,
    data=st.data(),
    codec=st.sampled_from(CompressionType),
    timestamp_type=st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]),
)
def test_batch_with_fewer_records_is_otherwise_the_same(
    contents: list, data: st.DataObject, codec: CompressionType, timestamp_type: TimestampType
) -> None:
    """Also if its first record goes, to which all timestamps were relative."""
    batch = build(
        contents,
        compression=codec,
        timestamp_type=timestamp_type,
        log_append_time_ms=NOW_MS + 5,
        producer_id=9,
        producer_epoch=2,
        base_sequence=70,
        is_transactional=True,
    )
    header = parse_batch_header(batch)
    opened = open_records(memoryview(batch), header)
    scanned, _ = scan_records(opened, 0, header.record_count)
    wanted = list(iter_records(batch, 0, header))
    stays = data.draw(st.lists(st.booleans(), min_size=len(wanted), max_size=len(wanted)))
    kept = [record for record, does in zip(scanned, stays, strict=True) if does] or scanned[-1:]
    left = [record for record, does in zip(wanted, stays, strict=True) if does] or wanted[-1:]
    cleaned = with_records(header, opened, kept)
    assert parse_batch_header(cleaned.data) == cleaned.header
    check_crc(cleaned.data, 0, cleaned.header)
    assert list(iter_records(cleaned.data, 0, cleaned.header)) == left
    assert cleaned.record_count == len(left)
    same = dict.fromkeys(("batch_length", "crc", "record_count", "base_timestamp", "max_timestamp"))
    assert cleaned.header._replace(**same) == header._replace(**same)
    assert cleaned.header.max_timestamp == max(record.timestamp for record in left)


def test_uncompressed_batch_is_what_a_builder_would_make() -> None:
    """Byte for byte: the base timestamp is that of the first record that stays."""
    contents = [(number * 700, b"%d" % number, b"value", [], 1) for number in range(9)]
    batch = build(contents)
    header = parse_batch_header(batch)
    opened = open_records(memoryview(batch), header)
    scanned, _ = scan_records(opened, 0, 9)
    builder = BatchBuilder(base_offset=1000, leader_epoch=3)
    left = [record for record in iter_records(batch, 0, header) if record.offset in (1002, 1008)]
    for record in left:
        builder.append(record.timestamp, record.key, record.value, offset=record.offset)
    assert with_records(header, opened, [scanned[2], scanned[8]]).data == builder.build()


@given(junk=st.binary(max_size=60), count=st.integers(1, 5))
def test_nonsense_is_an_invalid_record_and_no_other_error(junk: bytes, count: int) -> None:
    try:
        found, _ = scan_records(junk, 0, count)
    except InvalidRecordError:
        return
    assert len(found) == count
    assert all(start < end <= len(junk) for _, _, _, start, _, _, end in found)


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_batch_that_is_cut_off_is_invalid(cut: int) -> None:
    batch = build([(0, b"key", b"v" * 50, [], 1)] * 3)
    opened = open_records(memoryview(batch), parse_batch_header(batch))
    with pytest.raises(InvalidRecordError):
        scan_records(opened[:-cut], 0, 3)


def test_records_of_a_reader_are_what_this_file_compares_with() -> None:
    batch = build([(5, b"k", None, [("h", b"x")], 1)])
    assert list(iter_records(batch, 0, parse_batch_header(batch))) == [
        Record(1000, NOW_MS + 5, b"k", None, [("h", b"x")])
    ]
