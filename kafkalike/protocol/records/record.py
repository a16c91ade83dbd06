"""One record, and how message format v2 writes it inside a batch.

A record is length-delimited, with zigzag varints and offsets and timestamps relative to its batch.
`record_batch` and `batch_builder` use this; nobody else needs to know the bytes.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from kafkalike.protocol.errors import InvalidRecordError

NO_TIMESTAMP = -1

_MAX_LONG = (1 << 63) - 1
_MAX_RAW = (1 << 64) - 1

Header = tuple[str, bytes | None]


class TimestampType(IntEnum):
    """Who set the timestamp of a record: nobody (format v0), its producer, or the broker."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Record(NamedTuple):
    """A record as a consumer sees it, with absolute offset and timestamp."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a zigzag varint of at most 64 bits: (value, next position)."""
    byte = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    raw = byte & 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise InvalidRecordError("Found invalid record structure: varint is too long")
    if raw > _MAX_RAW:
        raise InvalidRecordError("Found invalid record structure: varint has more than 64 bits")
    return (raw >> 1) ^ -(raw & 1), position


def write_varint(value: int) -> bytes:
    """Return a signed number of at most 64 bits as zigzag varint."""
    raw = (value << 1) ^ (value >> 63)
    if raw < 0x80:
        return bytes((raw,))
    out = bytearray()
    while raw > 0x7F:
        out.append((raw & 0x7F) | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def _with_length(data: bytes | None) -> bytes:
    return b"\x01" if data is None else write_varint(len(data)) + data


def encode_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    """Return the bytes of one record inside a v2 batch."""
    parts = [
        b"\x00",
        write_varint(timestamp_delta),
        write_varint(offset_delta),
        _with_length(record.key),
        _with_length(record.value),
        write_varint(len(record.headers)),
    ]
    for name, value in record.headers:
        parts.append(_with_length(name.encode("utf-8", "surrogateescape")))
        parts.append(_with_length(value))
    body = b"".join(parts)
    return write_varint(len(body)) + body


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    if position + size > end:
        raise InvalidRecordError("Found invalid record structure")
    return data[position : position + size], position + size


def _read_headers(data: bytes, position: int, end: int, count: int) -> tuple[list[Header], int]:
    headers: list[Header] = []
    for _ in range(count):
        name, position = _read_bytes(data, position, end)
        if name is None:
            raise InvalidRecordError("Invalid negative header key size -1")
        value, position = _read_bytes(data, position, end)
        # A name that is not UTF-8 is carried through unharmed when a batch is rebuilt.
        headers.append((name.decode("utf-8", "surrogateescape"), value))
    return headers, position


def _read_record(
    data: bytes, start: int, end: int, base_offset: int, base_timestamp: int
) -> Record:
    timestamp_delta, position = read_varint(data, start + 1)
    offset_delta, position = read_varint(data, position)
    key, position = _read_bytes(data, position, end)
    value, position = _read_bytes(data, position, end)
    count, position = read_varint(data, position)
    if count < 0:
        raise InvalidRecordError(f"Found invalid number of record headers {count}")
    if count > end - position:
        raise InvalidRecordError(
            f"Found invalid number of record headers. {count} is larger than the remaining size "
            "of the buffer"
        )
    headers: Sequence[Header] = ()
    if count:
        headers, position = _read_headers(data, position, end, count)
    if position != end:
        raise InvalidRecordError(
            f"Invalid record size: expected to read {end - start} bytes in record payload, "
            f"but instead read {position - start}"
        )
    timestamp = base_timestamp + timestamp_delta
    if not -_MAX_LONG <= timestamp <= _MAX_LONG:
        raise InvalidRecordError(f"Timestamp {timestamp} of a record does not fit 64 bits")
    return Record(base_offset + offset_delta, timestamp, key, value, headers)


def decode_records(
    data: bytes,
    count: int,
    *,
    base_offset: int,
    base_timestamp: int,
    log_append_time_ms: int | None = None,
) -> Iterator[Record]:
    """Yield the records of an opened v2 batch; what does not fit raises `InvalidRecordError`."""
    if count < 0:
        raise InvalidRecordError(f"Found invalid record count {count} in magic v2 batch")
    position = 0
    try:
        for _ in range(count):
            size, position = read_varint(data, position)
            end = position + size
            if size < 0 or end > len(data):
                raise InvalidRecordError("Incorrect declared batch size, premature EOF reached")
            record = _read_record(data, position, end, base_offset, base_timestamp)
            position = end
            if log_append_time_ms is not None:
                record = record._replace(timestamp=log_append_time_ms)
            yield record
    except IndexError:
        raise InvalidRecordError("Incorrect declared batch size, premature EOF reached") from None
    if count and position != len(data):
        raise InvalidRecordError("Incorrect declared batch size, records still remaining in file")
