"""Look over the records of a v2 batch for the cleaner, and copy those that stay.

Nothing is made of values and headers: a record that stays is copied as it is, but for its timestamp
if the first record of the batch goes, as timestamps are relative to that one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalike.protocol.errors import InvalidRecordError
from kafkalike.protocol.records.compression import CompressionType, decompress
from kafkalike.protocol.records.record import (
    NO_TIMESTAMP,
    TimestampType,
    read_varint,
    write_varint,
)
from kafkalike.protocol.records.record_batch import RECORD_BATCH_OVERHEAD, BatchHeader

RawRecord = tuple[int, bytes | None, bool, int, int, int, int]
"""Offset delta, key, whether it has a value; and where in the bytes of its batch the record begins,
its attributes are, its timestamp ends, and it ends itself. A plain tuple, as there are millions."""


class CopiedRecords(NamedTuple):
    """Records for a batch that is written anew, and what its header says of their timestamps."""

    base_timestamp: int
    max_timestamp: int
    body: bytes


def open_records(batch: memoryview, header: BatchHeader) -> bytes:
    """Return the records of a v2 batch, decompressed."""
    body = batch[RECORD_BATCH_OVERHEAD:]
    codec = header.compression_type
    return bytes(body) if codec is CompressionType.NONE else decompress(codec, body)


def scan_records(data: bytes, position: int, count: int) -> tuple[list[RawRecord], int]:
    """Return `count` records from a position on, and the position behind them.

    Half of the cleaner's time goes here. So varints of one byte are read in place.
    """
    records: list[RawRecord] = []
    try:
        for _ in range(count):
            start = position
            size = data[position]
            if size < 0x80:
                size, position = size >> 1, position + 1
            else:
                size, position = read_varint(data, position)
            attributes, end = position, position + size
            position += 1
            while data[position] >= 0x80:
                position += 1
            timestamp_end = position = position + 1
            offset_delta = data[position]
            if offset_delta < 0x80:
                offset_delta, position = offset_delta >> 1, position + 1
            else:
                offset_delta, position = read_varint(data, position)
            key_size = data[position]
            if key_size < 0x80:
                key_size, position = (key_size >> 1) ^ -(key_size & 1), position + 1
            else:
                key_size, position = read_varint(data, position)
            key = None if key_size < 0 else data[position : position + key_size]
            if key_size > 0:
                position += key_size
            # The lowest bit of a varint is its sign, and a value of negative length is null.
            has_value = not data[position] & 1
            if not position < end <= len(data):
                raise InvalidRecordError("Found invalid record structure")
            records.append((offset_delta, key, has_value, start, attributes, timestamp_end, end))
            position = end
    except IndexError:
        raise InvalidRecordError("Incorrect declared batch size, premature EOF reached") from None
    return records, position


def copy_records(data: bytes, kept: Sequence[RawRecord], header: BatchHeader) -> CopiedRecords:
    """Return the bytes of the records that stay, at least one, for a batch with this header."""
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        append_time = header.max_timestamp
        return CopiedRecords(append_time, append_time, _stamped(data, kept, [0] * len(kept)))
    deltas = [read_varint(data, attributes + 1)[0] for _, _, _, _, attributes, _, _ in kept]
    max_timestamp = max(header.base_timestamp + max(deltas), NO_TIMESTAMP)
    first = deltas[0]
    if first:
        body = _stamped(data, kept, [delta - first for delta in deltas])
    else:
        body = b"".join([data[start:end] for _, _, _, start, _, _, end in kept])
    return CopiedRecords(header.base_timestamp + first, max_timestamp, body)


def _stamped(data: bytes, kept: Sequence[RawRecord], timestamp_deltas: Sequence[int]) -> bytes:
    parts = []
    for (_, _, _, _, attributes, timestamp_end, end), delta in zip(
        kept, timestamp_deltas, strict=True
    ):
        timestamp = write_varint(delta)
        parts += [
            write_varint(1 + len(timestamp) + end - timestamp_end),
            data[attributes : attributes + 1],
            timestamp,
            data[timestamp_end:end],
        ]
    return b"".join(parts)
