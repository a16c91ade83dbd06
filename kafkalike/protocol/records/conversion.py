"""Rewrite batches in an older message format for old consumers (Kafka's `RecordsUtil`).

Headers, producer ids and control batches have no place in formats v0 and v1 and are left out.
"""

from typing import NamedTuple

from kafkalike.protocol.errors import UnsupportedCompressionTypeError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import NO_TIMESTAMP, TimestampType
from kafkalike.protocol.records.record_batch import (
    MAGIC_V2,
    BatchHeader,
    Buffer,
    iter_batches,
)
from kafkalike.protocol.records.record_reader import iter_records


class ConvertedRecords(NamedTuple):
    """What came out of a conversion, and how many records had to be rewritten."""

    data: bytes
    record_count: int


def down_convert(data: Buffer, to_magic: int, first_offset: int) -> ConvertedRecords:
    """Return all whole batches in format `to_magic` or older.

    Records before `first_offset` are dropped from uncompressed batches that become single messages:
    a client that asked for the middle of a batch must not see its beginning (some versions of
    librdkafka rely on it). zstd cannot be had in old formats: a client gets what comes before it,
    and asking again from there on is an `UnsupportedCompressionTypeError`.
    """
    parts: list[bytes] = []
    record_count = 0
    for position, header in iter_batches(data):
        if to_magic < MAGIC_V2:
            if header.is_control:
                continue
            if header.compression_type is CompressionType.ZSTD:
                if any(parts):
                    break
                raise UnsupportedCompressionTypeError(
                    "Down-conversion of zstandard-compressed batches is not supported"
                )
        if header.magic <= to_magic:
            parts.append(bytes(data[position : position + header.size_in_bytes]))
            continue
        part, converted = _convert_batch(data, position, header, to_magic, first_offset)
        parts.append(part)
        record_count += converted
    return ConvertedRecords(b"".join(parts), record_count)


def _convert_batch(
    data: Buffer, position: int, header: BatchHeader, to_magic: int, first_offset: int
) -> tuple[bytes, int]:
    keeps_all = header.is_compressed
    records = [
        record
        for record in iter_records(data, position, header)
        if keeps_all or record.offset >= first_offset
    ]
    if not records:
        return b"", 0
    is_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        magic=to_magic,
        compression=header.compression_type,
        timestamp_type=header.timestamp_type,
        base_offset=records[0].offset,
        log_append_time_ms=header.max_timestamp if is_append_time else NO_TIMESTAMP,
    )
    for record in records:
        builder.append(record.timestamp, record.key, record.value, offset=record.offset)
    return builder.build(), len(records)
