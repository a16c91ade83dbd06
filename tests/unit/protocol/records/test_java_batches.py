"""Batches of every format, codec and timestamp type that Kafka's own builder made, and ours."""

import gzip
import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from kafkalike.protocol.errors import UnsupportedCompressionTypeError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_txn_marker,
    read_end_txn_marker,
)
from kafkalike.protocol.records.conversion import down_convert
from kafkalike.protocol.records.record import NO_TIMESTAMP, Record, TimestampType
from kafkalike.protocol.records.record_batch import check_crc, iter_batches, parse_batch_header
from kafkalike.protocol.records.record_reader import iter_all_records
from tests.support.golden import GOLDEN

APPEND_TIME_MS = 1700000000000
FIRST_OFFSET = 101
"""Where the consumer began for whom Kafka converted the batches down."""

TIMESTAMP_TYPES = {
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}


class Made(NamedTuple):
    """What Kafka made, and of what."""

    kind: str
    magic: int
    codec: CompressionType
    timestamp_type: TimestampType
    is_transactional: bool
    to_magic: int | None
    data: bytes

    def __str__(self) -> str:
        to = "" if self.to_magic is None else f"-to-v{self.to_magic}"
        txn = "-transactional" if self.is_transactional else ""
        time = "-append-time" if self.timestamp_type else ""
        return f"{self.kind}-v{self.magic}{to}-{self.codec.name.lower()}{time}{txn}"


def made_by_kafka() -> Iterator[Made]:
    with gzip.open(GOLDEN / "records" / "batches.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield Made(
                row["kind"],
                row["magic"],
                CompressionType.for_name(row["codec"]),
                TIMESTAMP_TYPES[row["timestamp_type"]],
                row["transactional"],
                row["to_magic"],
                bytes.fromhex(row["hex"]),
            )


ALL = list(made_by_kafka())
BATCHES = [made for made in ALL if made.kind == "batch"]
DOWN = [made for made in ALL if made.kind == "down"]


def appended(made: Made) -> list[Record]:
    """Return what the generator appended to each batch."""
    headers = [] if made.magic < 2 else [("h", b"v"), ("", None)]
    records = [
        Record(100, 1600000000000, b"k0", b"v0"),
        Record(101, 1600000000500, None, b"", headers),
        Record(103, 1599999999000, b"", None),
    ]
    if made.codec is not CompressionType.NONE:
        records.append(Record(104, 1600000000100, b"big", b"0123456789abcdef" * 5000))
    return records


def read_back(record: Record, magic: int, timestamp_type: TimestampType) -> Record:
    """Return the record as it can be read from a batch of that format."""
    timestamp = record.timestamp
    if magic == 0:
        timestamp = NO_TIMESTAMP
    elif timestamp_type is TimestampType.LOG_APPEND_TIME:
        timestamp = APPEND_TIME_MS
    return record._replace(timestamp=timestamp, headers=list(record.headers) if magic == 2 else [])


def read_all(data: bytes) -> list[Record]:
    return [record._replace(headers=list(record.headers)) for record in iter_all_records(data)]


def build(made: Made) -> bytes:
    builder = BatchBuilder(
        magic=made.magic,
        compression=made.codec,
        timestamp_type=made.timestamp_type,
        base_offset=100,
        log_append_time_ms=APPEND_TIME_MS,
        producer_id=7 if made.is_transactional else -1,
        producer_epoch=3 if made.is_transactional else -1,
        base_sequence=11 if made.is_transactional else -1,
        is_transactional=made.is_transactional,
        leader_epoch=5,
    )
    for offset, timestamp, key, value, headers in appended(made):
        builder.append(timestamp, key, value, headers, offset=offset)
    return builder.build()


def test_there_is_a_batch_of_every_format_with_every_codec_it_has() -> None:
    assert {(made.magic, made.codec) for made in BATCHES} == {
        (magic, codec)
        for magic in range(3)
        for codec in CompressionType
        if magic == 2 or codec is not CompressionType.ZSTD
    }


@pytest.mark.parametrize("made", BATCHES, ids=str)
def test_batch_of_kafka_reads_to_what_was_appended(made: Made) -> None:
    """M10: null, empty and large values, in every format and codec."""
    for position, header in iter_batches(made.data):
        check_crc(made.data, position, header)
        assert header.compression_type is made.codec
    expected = [read_back(r, made.magic, made.timestamp_type) for r in appended(made)]
    assert read_all(made.data) == expected


@pytest.mark.parametrize("made", BATCHES, ids=str)
def test_our_batch_is_kafkas(made: Made) -> None:
    ours = build(made)
    if made.codec is CompressionType.NONE:
        assert ours == made.data
        return
    # Compressors differ in the bytes they choose; all else must be the same.
    unlike = {"batch_length": 0, "crc": 0}
    assert parse_batch_header(ours)._replace(**unlike) == parse_batch_header(made.data)._replace(
        **unlike
    )
    check_crc(ours, 0, parse_batch_header(ours))
    assert read_all(ours) == read_all(made.data)


@pytest.mark.parametrize("made", DOWN, ids=str)
def test_batch_is_converted_down_as_kafka_does(made: Made) -> None:
    source = next(m for m in BATCHES if m[1:5] == made[1:5])
    assert made.to_magic is not None
    ours = down_convert(source.data, made.to_magic, FIRST_OFFSET)
    if made.codec is CompressionType.NONE:
        assert ours.data == made.data
    else:
        assert ours.record_count == 4
    assert [header[:4] for _, header in iter_batches(ours.data) if not header.is_compressed] == [
        header[:4] for _, header in iter_batches(made.data) if not header.is_compressed
    ]
    assert read_all(ours.data) == read_all(made.data)


def test_zstd_is_not_converted_down() -> None:
    zstd = next(made for made in BATCHES if made.codec is CompressionType.ZSTD)
    assert down_convert(zstd.data, 2, 0).data == zstd.data
    for magic in (0, 1):
        with pytest.raises(UnsupportedCompressionTypeError, match="zstandard"):
            down_convert(zstd.data, magic, 0)


@pytest.mark.parametrize(("kind", "offset", "epoch"), [("commit", 55, 9), ("abort", 56, 10)])
def test_transaction_marker_is_kafkas(kind: str, offset: int, epoch: int) -> None:
    made = next(made for made in ALL if made.kind == kind)
    control_type = ControlRecordType[kind.upper()]
    header = parse_batch_header(made.data)
    marker = EndTransactionMarker(control_type, epoch, header.max_timestamp)
    assert read_end_txn_marker(made.data, 0, header) == marker
    assert marker.is_aborted == (kind == "abort")
    assert down_convert(made.data, 1, 0) == (b"", 0)
    assert made.data == build_end_txn_marker(
        control_type,
        producer_id=7,
        producer_epoch=3,
        coordinator_epoch=epoch,
        timestamp=header.max_timestamp,
        base_offset=offset,
        leader_epoch=5,
    )
