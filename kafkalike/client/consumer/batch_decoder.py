"""Bytes to records, fast: one whole batch of message format v2 in one loop.

`records.record_reader` reads every format for everybody; this one is for the consumer, whose
records per second are limited by it. Numbers of one or two bytes are read in place.
"""

from typing import Any, Final

from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.protocol.errors import InvalidRecordError
from kafkalike.protocol.records.compression import CompressionType, decompress
from kafkalike.protocol.records.record import Header, TimestampType, read_varint
from kafkalike.protocol.records.record_batch import (
    LOG_OVERHEAD,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
)
from kafkalike.protocol.records.record_reader import iter_records

_BROKEN: Final = "a record does not end where it says it does"


def decode_batch(
    data: memoryview, position: int, header: BatchHeader, topic: str, partition: int, first: int
) -> list[ConsumerRecord]:
    """Return the records of a batch from the offset `first` on."""
    if header.magic != MAGIC_V2:
        return _decode_any(data, position, header, topic, partition, first)
    body = data[position + RECORD_BATCH_OVERHEAD : position + header.batch_length + LOG_OVERHEAD]
    codec = header.compression_type
    opened = bytes(body) if codec is CompressionType.NONE else decompress(codec, body)
    try:
        records = _decode_v2(opened, header, topic, partition)
    except IndexError:
        raise InvalidRecordError(f"{topic}-{partition}: {_BROKEN}") from None
    if header.base_offset < first:
        return [record for record in records if record.offset >= first]
    return records


# A record is five numbers and what they measure. To read a number takes seven lines, and a call per
# number would double the time: so the loop is written with READ for those lines and compiled once.
_READ: Final = """\
raw = body[position]
position += 1
if raw > 127:
    byte = body[position]
    if byte < 128:
        raw = raw & 127 | byte << 7
        position += 1
    else:
        raw, position = read_wide(body, position - 1)
"""
_LOOP: Final = """\
def decode(body, count, base_offset, base_timestamp, append_time, topic, partition, kind, epoch):
    found = []
    add = found.append
    position = 0
    for _ in range(count):
        READ
        end = position + (raw >> 1)
        position += 1
        READ
        timestamp = append_time if append_time else base_timestamp + ((raw >> 1) ^ -(raw & 1))
        READ
        offset = base_offset + (raw >> 1)
        READ
        if raw == 1:
            key = None
        else:
            following = position + (raw >> 1)
            key = body[position:following]
            position = following
        READ
        if raw == 1:
            value = None
        else:
            following = position + (raw >> 1)
            value = body[position:following]
            position = following
        if body[position]:
            headers, position = read_headers(body, position)
        else:
            headers = ()
            position += 1
        if position != end:
            raise IndexError
        add(new(Record, (topic, partition, offset, timestamp, kind, key, value, headers, epoch)))
    return found
"""


def _decode_v2(
    body: bytes, header: BatchHeader, topic: str, partition: int
) -> list[ConsumerRecord]:
    kind = header.timestamp_type
    append_time = header.max_timestamp if kind is TimestampType.LOG_APPEND_TIME else 0
    found: list[ConsumerRecord] = _decode(
        body,
        header.record_count,
        header.base_offset,
        header.base_timestamp,
        append_time,
        topic,
        partition,
        int(kind),
        header.partition_leader_epoch,
    )
    return found


def _read_wide(body: bytes, position: int) -> tuple[int, int]:
    """Read a number of three bytes or more, without undoing the zigzag."""
    number, position = read_varint(body, position)
    return (number << 1) ^ (number >> 63), position


def _decode_headers(body: bytes, position: int) -> tuple[list[Header], int]:
    count, position = read_varint(body, position)
    if not 0 <= count <= len(body) - position:
        raise InvalidRecordError(f"{count} headers cannot be")
    headers: list[Header] = []
    for _ in range(count):
        size, position = read_varint(body, position)
        name = body[position : position + size].decode("utf-8", "surrogateescape")
        position += size
        size, position = read_varint(body, position)
        value = None
        if size >= 0:
            value = body[position : position + size]
            position += size
        headers.append((name, value))
    return headers, position


def _decode_any(
    data: memoryview, position: int, header: BatchHeader, topic: str, partition: int, first: int
) -> list[ConsumerRecord]:
    kind = int(header.timestamp_type)
    return [
        ConsumerRecord(topic, partition, r.offset, r.timestamp, kind, r.key, r.value, r.headers)
        for r in iter_records(data, position, header)
        if r.offset >= first
    ]


def _compile_loop() -> Any:
    """Put the lines of READ where it stands, and compile the loop."""
    lines: list[str] = []
    for line in _LOOP.splitlines():
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        lines += [indent + read for read in _READ.splitlines()] if text == "READ" else [line]
    names: dict[str, Any] = {
        "read_wide": _read_wide,
        "read_headers": _decode_headers,
        "new": tuple.__new__,
        "Record": ConsumerRecord,
    }
    exec(compile("\n".join(lines), "<decode records>", "exec"), names)
    return names["decode"]


_decode: Final = _compile_loop()
