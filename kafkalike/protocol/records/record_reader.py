"""Open batches of any message format into records."""

from collections.abc import Iterator

from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.records.compression import (
    MAX_DECOMPRESSED_BYTES,
    CompressionType,
    decompress,
)
from kafkalike.protocol.records.legacy_message_set import iter_legacy_records
from kafkalike.protocol.records.record import Record, TimestampType, decode_records
from kafkalike.protocol.records.record_batch import (
    LOG_OVERHEAD,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    Buffer,
    iter_batches,
)


def iter_records(
    data: Buffer,
    position: int,
    header: BatchHeader,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Iterator[Record]:
    """Yield the records of the batch at a position, with absolute offsets and timestamps.

    Broken compression raises `CorruptRecordError`, broken records `InvalidRecordError`; a batch
    that would unfold to more than `max_bytes` counts as broken.
    """
    end = position + header.batch_length + LOG_OVERHEAD
    if end > len(data):
        raise CorruptRecordError(f"Record batch at position {position} is cut off")
    view = memoryview(data)[position:end]
    if header.magic != MAGIC_V2:
        return iter_legacy_records(view, header, max_bytes)
    if not header.record_count:
        # Compaction leaves an empty batch behind for the sake of its producer's sequence.
        return iter(())
    return _iter_v2(view, header, max_bytes)


def _iter_v2(view: memoryview, header: BatchHeader, max_bytes: int) -> Iterator[Record]:
    codec = header.compression_type
    body = view[RECORD_BATCH_OVERHEAD:]
    opened = bytes(body) if codec is CompressionType.NONE else decompress(codec, body, 2, max_bytes)
    is_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    return decode_records(
        opened,
        header.record_count,
        base_offset=header.base_offset,
        base_timestamp=header.base_timestamp,
        log_append_time_ms=header.max_timestamp if is_append_time else None,
    )


def iter_all_records(data: Buffer) -> Iterator[Record]:
    """Yield the records of all whole batches of a buffer, control records too."""
    for position, header in iter_batches(data):
        yield from iter_records(data, position, header)
