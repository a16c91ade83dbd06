"""Build record batches of all message formats (Kafka's `MemoryRecordsBuilder`).

One builder makes one batch of format v2, one wrapper message, or a run of plain messages (formats
v0 and v1 without compression have no batches).
"""

from collections.abc import Sequence
from typing import NamedTuple

from crc32c import crc32c

from kafkalike.protocol.records.compression import CompressionType, compress
from kafkalike.protocol.records.legacy_message_set import encode_message
from kafkalike.protocol.records.record import (
    NO_TIMESTAMP,
    Header,
    Record,
    TimestampType,
    encode_record,
)
from kafkalike.protocol.records.record_batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER,
    CONTROL_FLAG,
    CRC_POSITION,
    LOG_OVERHEAD,
    MAGIC_V0,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG,
)

_MAX_OFFSET_DELTA = (1 << 31) - 1


class RecordsInfo(NamedTuple):
    """The largest timestamp of what was built, and the offset a time index gives for it."""

    max_timestamp: int
    shallow_offset_of_max_timestamp: int


class BatchBuilder:
    """Collects records and builds their bytes; offsets rise, and need not be consecutive.

    With `LOG_APPEND_TIME` the batch bears `log_append_time_ms`, as if the broker had appended it.
    """

    def __init__(
        self,
        *,
        magic: int = MAGIC_V2,
        compression: CompressionType = CompressionType.NONE,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        base_offset: int = 0,
        log_append_time_ms: int = NO_TIMESTAMP,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    ) -> None:
        self._magic = magic
        self._compression = compression
        self._timestamp_type = timestamp_type
        self._base_offset = base_offset
        self._log_append_time_ms = log_append_time_ms
        self._producer_id = producer_id
        self._producer_epoch = producer_epoch
        self._base_sequence = base_sequence
        self._is_transactional = is_transactional
        self._is_control = is_control
        self._leader_epoch = leader_epoch
        self._check_features()
        self._parts: list[bytes] = []
        self._count = 0
        self._size = 0
        self._base_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = -1
        self._last_offset = base_offset - 1

    def _check_features(self) -> None:
        if self._magic < MAGIC_V2:
            if self._is_transactional or self._is_control or self._producer_id != NO_PRODUCER_ID:
                raise ValueError(f"Format v{self._magic} has no producer ids and control records")
            if self._compression is CompressionType.ZSTD:
                raise ValueError(f"ZStandard compression is not supported for magic {self._magic}")
        if self._is_transactional and self._producer_id == NO_PRODUCER_ID:
            raise ValueError("Cannot write transactional messages without a valid producer ID")
        if self._producer_id != NO_PRODUCER_ID:
            if self._producer_epoch < 0:
                raise ValueError("Invalid negative producer epoch")
            if self._base_sequence < 0 and not self._is_control:
                raise ValueError("Invalid negative sequence number used")

    @property
    def record_count(self) -> int:
        """How many records are in."""
        return self._count

    @property
    def uncompressed_bytes(self) -> int:
        """The size of the records before compression."""
        return self._size

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
        *,
        offset: int | None = None,
    ) -> None:
        """Add a record, at the next offset unless another is given."""
        if offset is None:
            offset = self._last_offset + 1
        if offset <= self._last_offset or offset - self._base_offset > _MAX_OFFSET_DELTA:
            raise ValueError(f"Illegal offset {offset} following previous {self._last_offset}")
        if timestamp < NO_TIMESTAMP:
            raise ValueError(f"Invalid negative timestamp {timestamp}")
        if self._magic == MAGIC_V2:
            if not self._count:
                self._base_timestamp = timestamp
            record = Record(offset, timestamp, key, value, headers)
            delta = offset - self._base_offset
            part = encode_record(record, delta, timestamp - self._base_timestamp)
        else:
            if headers:
                raise ValueError(f"Magic v{self._magic} does not support record headers")
            if self._timestamp_type is TimestampType.LOG_APPEND_TIME:
                timestamp = self._log_append_time_ms
            part = self._encode_legacy(offset, timestamp, key, value)
        self._add(part, offset, timestamp)

    def _encode_legacy(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None
    ) -> bytes:
        is_relative = self._magic > MAGIC_V0 and self._compression is not CompressionType.NONE
        return encode_message(
            offset - self._base_offset if is_relative else offset,
            self._magic,
            timestamp,
            key,
            value,
            timestamp_type=self._timestamp_type,
        )

    def _add(self, part: bytes, offset: int, timestamp: int) -> None:
        self._parts.append(part)
        self._size += len(part)
        self._count += 1
        self._last_offset = offset
        if self._magic > MAGIC_V0 and timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
            self._offset_of_max_timestamp = offset

    def info(self) -> RecordsInfo:
        """Return what a time index must know of the records."""
        is_append_time = self._timestamp_type is TimestampType.LOG_APPEND_TIME
        timestamp = self._log_append_time_ms if is_append_time else self._max_timestamp
        if self._compression is not CompressionType.NONE or self._magic == MAGIC_V2:
            return RecordsInfo(timestamp, self._last_offset)
        if is_append_time:
            return RecordsInfo(timestamp, self._base_offset)
        if timestamp == NO_TIMESTAMP:
            return RecordsInfo(timestamp, self._last_offset)
        return RecordsInfo(timestamp, self._offset_of_max_timestamp)

    def build(self) -> bytes:
        """Return the bytes; nothing if no record was added."""
        if not self._count:
            return b""
        body = b"".join(self._parts)
        if self._magic == MAGIC_V2:
            return self._build_batch(compress(self._compression, body))
        if self._compression is CompressionType.NONE:
            return body
        return encode_message(
            self._last_offset,
            self._magic,
            self.info().max_timestamp,
            None,
            compress(self._compression, body, self._magic),
            codec=self._compression,
            timestamp_type=self._timestamp_type,
        )

    def _build_batch(self, body: bytes) -> bytes:
        attributes = int(self._compression)
        if self._timestamp_type is TimestampType.LOG_APPEND_TIME:
            attributes |= TIMESTAMP_TYPE_MASK
        if self._is_transactional:
            attributes |= TRANSACTIONAL_FLAG
        if self._is_control:
            attributes |= CONTROL_FLAG
        batch = bytearray(
            BATCH_HEADER.pack(
                self._base_offset,
                RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(body),
                self._leader_epoch,
                MAGIC_V2,
                0,
                attributes,
                self._last_offset - self._base_offset,
                self._base_timestamp,
                self.info().max_timestamp,
                self._producer_id,
                self._producer_epoch,
                self._base_sequence,
                self._count,
            )
        )
        batch += body
        crc = int(crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
        batch[CRC_POSITION : CRC_POSITION + 4] = crc.to_bytes(4, "big")
        return bytes(batch)
