"""Builds what a fetch brings: record batches of any format, with transactions and markers."""

from collections.abc import Sequence

from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import ControlRecordType, encode_control_key
from kafkalike.protocol.records.record import Header, TimestampType

Content = tuple[int, bytes | None, bytes | None, Sequence[Header]]
"""Timestamp, key, value, headers."""


def a_batch(
    base_offset: int,
    contents: Sequence[Content],
    *,
    magic: int = 2,
    codec: CompressionType = CompressionType.NONE,
    append_time_ms: int | None = None,
    producer_id: int = -1,
) -> bytes:
    """Return one batch; a producer id makes it part of a transaction."""
    is_transactional = producer_id >= 0
    builder = BatchBuilder(
        magic=magic,
        compression=codec,
        base_offset=base_offset,
        timestamp_type=TimestampType.CREATE_TIME
        if append_time_ms is None
        else TimestampType.LOG_APPEND_TIME,
        log_append_time_ms=-1 if append_time_ms is None else append_time_ms,
        producer_id=producer_id,
        producer_epoch=0 if is_transactional else -1,
        base_sequence=0 if is_transactional else -1,
        is_transactional=is_transactional,
    )
    for timestamp, key, value, headers in contents:
        builder.append(timestamp, key, value, headers)
    return builder.build()


def values(base_offset: int, *found: bytes, producer_id: int = -1) -> bytes:
    """Return a batch of plain values."""
    return a_batch(
        base_offset, [(1000, None, value, ()) for value in found], producer_id=producer_id
    )


def a_marker(offset: int, producer_id: int, kind: ControlRecordType) -> bytes:
    """Return the end of a transaction."""
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )
    builder.append(1000, encode_control_key(kind), b"\x00\x00\x00\x00\x00\x01")
    return builder.build()
