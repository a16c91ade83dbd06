"""Records to bytes, fast: one whole batch of message format v2 in one loop.

`records.batch_builder` is the builder for everybody and every format; this one is for the producer,
whose records per second are limited by it. Small varints come from a table, and what a record has
in front of its value is looked up by the sizes that determine it.
"""

from collections.abc import Sequence
from typing import Final

from crc32c import crc32c

from kafkalike.protocol.records.compression import CompressionType, compress
from kafkalike.protocol.records.record import Header, write_varint
from kafkalike.protocol.records.record_batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER,
    CRC_POSITION,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
)

PendingRecord = tuple[int, bytes | None, bytes | None, Sequence[Header]]
"""Timestamp, key, value, headers."""

RECORD_OVERHEAD_BYTES: Final = 21
"""The most that a record takes besides its key, value and headers."""

_TABLE_SIZE: Final = 1 << 14
_VARINTS: Final = [write_varint(number) for number in range(_TABLE_SIZE)]
_NULL: Final = b"\x01"
_NO_HEADERS: Final = b"\x00"


def encode_records(records: Sequence[PendingRecord]) -> bytes:
    """Return the bytes of all records of a batch, before compression."""
    parts: list[bytes] = []
    add = parts.append
    varints = _VARINTS
    base_timestamp = records[0][0]
    fronts: dict[tuple[int, int, int], tuple[bytes, bytes]] = {}
    for number, (timestamp, key, value, headers) in enumerate(records):
        offset_delta = varints[number] if number < _TABLE_SIZE else write_varint(number)
        if key is None and value is not None and not headers:
            # The commonest record: only the offset differs from its neighbours'.
            size = len(value)
            kind = (size, timestamp, len(offset_delta))
            front = fronts.get(kind)
            if front is None:
                front = fronts[kind] = _front(size, timestamp - base_timestamp, len(offset_delta))
            parts += (front[0], offset_delta, front[1], value, _NO_HEADERS)
            continue
        delta = timestamp - base_timestamp
        body = b"".join(
            (
                b"\x00",
                varints[delta] if 0 <= delta < _TABLE_SIZE else write_varint(delta),
                offset_delta,
                _NULL if key is None else _sized(key),
                _NULL if value is None else _sized(value),
                _encode_headers(headers) if headers else _NO_HEADERS,
            )
        )
        size = len(body)
        add(varints[size] if size < _TABLE_SIZE else write_varint(size))
        add(body)
    return b"".join(parts)


def _front(value_size: int, timestamp_delta: int, offset_delta_size: int) -> tuple[bytes, bytes]:
    """Return what stands before and behind the offset of a record without key and headers."""
    delta = write_varint(timestamp_delta)
    behind = _NULL + write_varint(value_size)
    size = 1 + len(delta) + offset_delta_size + len(behind) + value_size + 1
    return write_varint(size) + b"\x00" + delta, behind


def _sized(data: bytes) -> bytes:
    size = len(data)
    return (_VARINTS[size] if size < _TABLE_SIZE else write_varint(size)) + data


def _encode_headers(headers: Sequence[Header]) -> bytes:
    parts = [write_varint(len(headers))]
    for name, value in headers:
        parts.append(_sized(name.encode()))
        parts.append(_NULL if value is None else _sized(value))
    return b"".join(parts)


def encode_batch(
    records: Sequence[PendingRecord],
    body: bytes,
    codec: CompressionType,
    *,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> bytes:
    """Put the header before the (compressed) records."""
    batch = bytearray(
        BATCH_HEADER.pack(
            0,
            RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(body),
            NO_PARTITION_LEADER_EPOCH,
            MAGIC_V2,
            0,
            int(codec) | (TRANSACTIONAL_FLAG if is_transactional else 0),
            len(records) - 1,
            records[0][0],
            max(record[0] for record in records),
            producer_id,
            producer_epoch,
            base_sequence,
            len(records),
        )
    )
    batch += body
    crc = int(crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
    batch[CRC_POSITION : CRC_POSITION + 4] = crc.to_bytes(4, "big")
    return bytes(batch)


def compress_records(codec: CompressionType, body: bytes) -> bytes:
    """Compress the records of a batch."""
    return compress(codec, body)
