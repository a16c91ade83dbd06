"""Message formats v0 and v1: single messages, and wrapper messages that hold a compressed set.

    offset int64, size int32, crc uint32, magic int8, attributes int8, [timestamp int64 in v1],
    key (int32 length), value (int32 length)

The value of a wrapper is a compressed message set. Its inner offsets are absolute in v0; in v1
they count from 0 and the wrapper has the absolute offset of the last one.
"""

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import NamedTuple
from zlib import crc32

from kafkalike.protocol.errors import CorruptRecordError, InvalidRecordError
from kafkalike.protocol.records.compression import (
    MAX_DECOMPRESSED_BYTES,
    CompressionType,
    decompress,
)
from kafkalike.protocol.records.record import NO_TIMESTAMP, Record, TimestampType
from kafkalike.protocol.records.record_batch import (
    COMPRESSION_CODEC_MASK,
    LOG_OVERHEAD,
    MAGIC_V0,
    MAGIC_V1,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
)

_OFFSET_AND_SIZE = Struct(">qi")
_HEAD = Struct(">Ibb")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_MIN_RECORD_V0 = 14
_MAGIC_POSITION = 16
_ATTRIBUTES_POSITION = 17


class LegacyMessage(NamedTuple):
    """One message as it stands in a set, its offset not yet made absolute."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    has_valid_crc: bool
    crc: int

    @property
    def is_compressed(self) -> bool:
        """Whether the message is a wrapper."""
        return bool(self.attributes & COMPRESSION_CODEC_MASK)


def encode_message(
    offset: int,
    magic: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    *,
    codec: CompressionType = CompressionType.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> bytes:
    """Return one message with its offset, size and checksum."""
    attributes = int(codec)
    if magic == MAGIC_V1 and timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_MASK
    parts = [bytes((magic, attributes))]
    if magic == MAGIC_V1:
        parts.append(_INT64.pack(timestamp))
    for field in (key, value):
        parts.append(_INT32.pack(-1 if field is None else len(field)))
        if field is not None:
            parts.append(field)
    body = b"".join(parts)
    crc = crc32(body).to_bytes(4, "big")
    return _OFFSET_AND_SIZE.pack(offset, len(body) + 4) + crc + body


def stamp_message(
    data: bytearray,
    position: int,
    header: BatchHeader,
    *,
    offset: int,
    timestamp_type: TimestampType,
    timestamp: int,
) -> None:
    """Give the message at a position another offset and, in v1, timestamp; the CRC stays true."""
    _INT64.pack_into(data, position, offset)
    is_same_type = header.timestamp_type is timestamp_type
    if header.magic == MAGIC_V0 or (is_same_type and header.max_timestamp == timestamp):
        return
    attributes = header.attributes & COMPRESSION_CODEC_MASK
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_MASK
    data[position + _ATTRIBUTES_POSITION] = attributes
    _INT64.pack_into(data, position + _ATTRIBUTES_POSITION + 1, timestamp)
    end = position + header.size_in_bytes
    crc = crc32(memoryview(data)[position + _MAGIC_POSITION : end])
    data[position + LOG_OVERHEAD : position + _MAGIC_POSITION] = crc.to_bytes(4, "big")


def decode_message_set(data: bytes | memoryview) -> Iterator[LegacyMessage]:
    """Yield the messages of a set; one that is cut off at the end is left out, as Kafka does."""
    position = 0
    while position + LOG_OVERHEAD <= len(data):
        offset, size = _OFFSET_AND_SIZE.unpack_from(data, position)
        position += LOG_OVERHEAD
        if size < _MIN_RECORD_V0:
            raise CorruptRecordError(
                f"Record size is less than the minimum record overhead ({_MIN_RECORD_V0})"
            )
        if position + size > len(data):
            return
        yield _decode_message(data[position : position + size], offset)
        position += size


def _decode_message(data: bytes | memoryview, offset: int) -> LegacyMessage:
    crc, magic, attributes = _HEAD.unpack_from(data)
    if not MAGIC_V0 <= magic <= MAGIC_V1:
        raise InvalidRecordError(f"Invalid magic found in message set: {magic}")
    position = _HEAD.size
    timestamp = NO_TIMESTAMP
    try:
        if magic == MAGIC_V1:
            timestamp = _INT64.unpack_from(data, position)[0]
            position += 8
        key, position = _read_bytes(data, position)
        value, position = _read_bytes(data, position)
    except StructError:
        raise InvalidRecordError("Message is shorter than its fields") from None
    has_valid_crc = crc == crc32(data[4:])
    return LegacyMessage(offset, magic, attributes, timestamp, key, value, has_valid_crc, crc)


def _read_bytes(data: bytes | memoryview, position: int) -> tuple[bytes | None, int]:
    size = _INT32.unpack_from(data, position)[0]
    position += 4
    if size < 0:
        return None, position
    if position + size > len(data):
        raise InvalidRecordError("Message is shorter than its fields")
    return bytes(data[position : position + size]), position + size


def open_legacy_entry(
    view: memoryview, header: BatchHeader, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> list[LegacyMessage]:
    """Return the messages of one shallow entry with absolute offsets and effective timestamps."""
    outer = _decode_message(view[LOG_OVERHEAD:], header.base_offset)
    if not header.is_compressed:
        return [outer]
    codec = header.compression_type
    if codec is CompressionType.ZSTD:
        raise InvalidRecordError(f"Message format v{header.magic} has no zstd compression")
    if outer.value is None:
        raise InvalidRecordError(
            f"Found invalid compressed record set with null value (magic = {header.magic})"
        )
    opened = decompress(codec, outer.value, header.magic, max_bytes)
    inner = list(decode_message_set(opened))
    if not inner:
        raise InvalidRecordError("Found invalid compressed record set with no inner records")
    if any(message.is_compressed for message in inner):
        raise InvalidRecordError("Inner messages must not be compressed")
    return inner if header.magic == MAGIC_V0 else _made_absolute(inner, header)


def _made_absolute(inner: list[LegacyMessage], wrapper: BatchHeader) -> list[LegacyMessage]:
    last_inner_offset = inner[-1].offset
    if wrapper.base_offset == 0:
        # Certain versions of librdkafka leave the outer offset at 0 when they produce.
        base_offset = 0
    elif wrapper.base_offset < last_inner_offset:
        raise InvalidRecordError(
            "Found invalid wrapper offset in compressed v1 message set, wrapper offset "
            f"'{wrapper.base_offset}' is less than the last inner message offset "
            f"'{last_inner_offset}' and it is not zero."
        )
    else:
        base_offset = wrapper.base_offset - last_inner_offset
    is_append_time = wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME
    return [
        message._replace(
            offset=base_offset + message.offset,
            timestamp=(
                wrapper.max_timestamp
                if is_append_time and message.magic == MAGIC_V1
                else message.timestamp
            ),
        )
        for message in inner
    ]


def iter_legacy_records(
    view: memoryview, header: BatchHeader, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Iterator[Record]:
    """Yield the records of one shallow entry (`view` is exactly that entry)."""
    for message in open_legacy_entry(view, header, max_bytes):
        yield Record(message.offset, message.timestamp, message.key, message.value)
