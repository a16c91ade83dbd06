"""The headers of record batches of all message formats, and how to walk over a log's bytes.

A batch of format v2 has a header of 61 bytes; in formats v0 and v1 every shallow message, plain or
compressed wrapper, counts as a batch and gets a `BatchHeader` of the same shape. Nothing here opens
records: see `record_reader`. All functions take any buffer and slice memoryviews only.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from crc32c import crc32c

from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.records.compression import CompressionType, compression_type
from kafkalike.protocol.records.record import NO_TIMESTAMP, TimestampType

Buffer = bytes | bytearray | memoryview

MAGIC_V0, MAGIC_V1, MAGIC_V2 = 0, 1, 2
LOG_OVERHEAD = 12
HEADER_SIZE_UP_TO_MAGIC = 17
RECORD_BATCH_OVERHEAD = 61
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
PREFIX_BYTES = 16
"""Base offset, length and leader epoch: what an append changes, and what the CRC leaves out."""

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_PARTITION_LEADER_EPOCH = -1
UNKNOWN_RECORD_COUNT = -1

COMPRESSION_CODEC_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20

BATCH_HEADER = Struct(">qiibIhiqqqhii")
BATCH_PREFIX = Struct(">qii")
_LENGTH = Struct(">i")
_LEGACY_HEADER = Struct(">qiIbb")
_INT64 = Struct(">q")

_LEGACY_MAGIC_POSITION = 16
_LEGACY_TIMESTAMP_POSITION = 18
_MIN_LEGACY_RECORD = (14, 22)
_SEQUENCE_SPACE = 1 << 31


class BatchHeader(NamedTuple):
    """The header of a batch, fields in the order of format v2 on disk.

    For a message of format v0 or v1 `base_offset` is the offset that is written in front of it: of
    a compressed wrapper that is the offset of its *last* record, and `record_count` is not known.
    """

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_in_bytes(self) -> int:
        """The whole batch on disk, with the offset and the length themselves."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The offset of the last record, even if compaction has removed it."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after this batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression_type(self) -> CompressionType:
        """The codec; an unknown one is a `CorruptRecordError`."""
        return compression_type(self.attributes & COMPRESSION_CODEC_MASK)

    @property
    def is_compressed(self) -> bool:
        """Whether the records are compressed."""
        return bool(self.attributes & COMPRESSION_CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        """Who set the timestamps."""
        if self.magic == MAGIC_V0:
            return TimestampType.NO_TIMESTAMP_TYPE
        if self.attributes & TIMESTAMP_TYPE_MASK:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a control record, such as the end of a transaction."""
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent or transactional producer wrote it."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; after the largest int32 comes 0."""
        return self.sequence_of(self.base_offset + self.last_offset_delta)

    def sequence_of(self, offset: int) -> int:
        """Return the sequence number of the record at an offset of this batch."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + offset - self.base_offset) % _SEQUENCE_SPACE


def parse_batch_header(data: Buffer, position: int = 0) -> BatchHeader:
    """Return the header at a position; the records behind it need not be in the buffer.

    A length or magic that cannot be, or a buffer that ends in the header, is `CorruptRecordError`.
    """
    if len(data) - position < HEADER_SIZE_UP_TO_MAGIC:
        raise CorruptRecordError(f"Batch header at position {position} is cut off")
    magic = data[position + HEADER_SIZE_UP_TO_MAGIC - 1]
    if magic != MAGIC_V2:
        return _parse_legacy_header(data, position, magic)
    if len(data) - position < RECORD_BATCH_OVERHEAD:
        length = _LENGTH.unpack_from(data, position + 8)[0]
        _check_length(length + LOG_OVERHEAD, RECORD_BATCH_OVERHEAD)
        raise CorruptRecordError(f"Batch header at position {position} is cut off")
    header = BatchHeader._make(BATCH_HEADER.unpack_from(data, position))
    if header.batch_length < RECORD_BATCH_OVERHEAD - LOG_OVERHEAD:
        _check_length(header.size_in_bytes, RECORD_BATCH_OVERHEAD)
    return header


def _check_length(size: int, minimum: int) -> None:
    if size < minimum:
        raise CorruptRecordError(
            f"Record batch is corrupt (the size {size} is smaller than the minimum allowed "
            f"overhead {minimum})"
        )


def _parse_legacy_header(data: Buffer, position: int, magic: int) -> BatchHeader:
    length = _LENGTH.unpack_from(data, position + 8)[0]
    _check_length(length, _MIN_LEGACY_RECORD[MAGIC_V0])
    if magic > MAGIC_V2:
        raise CorruptRecordError(f"Invalid magic found in record: {magic}")
    _check_length(length, _MIN_LEGACY_RECORD[magic])
    if len(data) - position < LOG_OVERHEAD + _MIN_LEGACY_RECORD[magic]:
        raise CorruptRecordError(f"Message header at position {position} is cut off")
    offset, length, crc, _, attributes = _LEGACY_HEADER.unpack_from(data, position)
    timestamp = NO_TIMESTAMP
    mask = COMPRESSION_CODEC_MASK
    if magic == MAGIC_V1:
        timestamp = _INT64.unpack_from(data, position + _LEGACY_TIMESTAMP_POSITION)[0]
        mask |= TIMESTAMP_TYPE_MASK
    attributes &= mask
    return BatchHeader(
        base_offset=offset,
        batch_length=length,
        partition_leader_epoch=NO_PARTITION_LEADER_EPOCH,
        magic=magic,
        crc=crc,
        attributes=attributes,
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        record_count=UNKNOWN_RECORD_COUNT if attributes & COMPRESSION_CODEC_MASK else 1,
    )


def compute_crc(data: Buffer, position: int, header: BatchHeader) -> int:
    """Return the checksum of the whole batch at a position (CRC-32C; CRC-32 before format v2)."""
    end = position + header.batch_length + LOG_OVERHEAD
    if header.magic == MAGIC_V2:
        return int(crc32c(memoryview(data)[position + ATTRIBUTES_POSITION : end]))
    return crc32(memoryview(data)[position + _LEGACY_MAGIC_POSITION : end])


def check_crc(data: Buffer, position: int, header: BatchHeader) -> None:
    """Raise `CorruptRecordError` unless the batch is all there and has the checksum it says."""
    if position + header.batch_length + LOG_OVERHEAD > len(data):
        raise CorruptRecordError(f"Record batch at position {position} is cut off")
    computed = compute_crc(data, position, header)
    if computed != header.crc:
        raise CorruptRecordError(
            f"Record is corrupt (stored crc = {header.crc}, computed crc = {computed})"
        )


def iter_batches(data: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of every whole batch; what is cut off at the end is left out.

    Impossible lengths and magics raise `CorruptRecordError`; checksums are not looked at.
    """
    end = len(data)
    while position + HEADER_SIZE_UP_TO_MAGIC <= end:
        length = _LENGTH.unpack_from(data, position + 8)[0]
        following = position + length + LOG_OVERHEAD
        if following > end and data[position + HEADER_SIZE_UP_TO_MAGIC - 1] <= MAGIC_V2:
            return
        yield position, parse_batch_header(data, position)
        position = following


def is_transactional_batch(data: Buffer) -> bool:
    """Whether a buffer begins with a batch that belongs to a transaction."""
    return (
        len(data) >= RECORD_BATCH_OVERHEAD
        and data[HEADER_SIZE_UP_TO_MAGIC - 1] == MAGIC_V2
        and bool(data[ATTRIBUTES_POSITION + 1] & TRANSACTIONAL_FLAG)
    )


def with_offset_and_epoch(
    data: memoryview, position: int, header: BatchHeader, base_offset: int, leader_epoch: int
) -> list[bytes | memoryview]:
    """Return a v2 batch under another base offset and leader epoch, its body uncopied."""
    start = position + PREFIX_BYTES
    end = position + header.batch_length + LOG_OVERHEAD
    return [
        BATCH_PREFIX.pack(base_offset, header.batch_length, leader_epoch),
        data[start:end],
    ]


def set_base_offset_and_epoch(
    data: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Write base offset and leader epoch into the v2 batch at a position; the CRC stays true."""
    length = _LENGTH.unpack_from(data, position + 8)[0]
    BATCH_PREFIX.pack_into(data, position, base_offset, length, leader_epoch)
