"""Batches after cleaning: with fewer records, or with none but still there for their producer.

Offsets, epochs and sequence numbers stay as they were: a v2 batch keeps its first and its last
offset even if the records there are gone. Decisions are in `cleaner_filter`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalike.log.cleaner_records import RawRecord, copy_records
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import compress
from kafkalike.protocol.records.legacy_message_set import LegacyMessage
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import (
    BATCH_HEADER,
    COMPRESSION_CODEC_MASK,
    CRC_POSITION,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    compute_crc,
    parse_batch_header,
)


class CleanedBatch(NamedTuple):
    """A batch for the cleaned segment, and how many records it has."""

    header: BatchHeader
    data: bytes | memoryview
    record_count: int


def unchanged(header: BatchHeader, batch: memoryview, record_count: int) -> CleanedBatch:
    """Return a batch as it is."""
    return CleanedBatch(header, batch, record_count)


def without_records(header: BatchHeader) -> CleanedBatch:
    """Return a v2 batch that only tells the last epoch and sequence number of its producer."""
    emptied = header._replace(
        attributes=header.attributes & ~COMPRESSION_CODEC_MASK,
        base_timestamp=NO_TIMESTAMP,
        record_count=0,
    )
    return _v2_batch(emptied, b"")


def with_records(header: BatchHeader, opened: bytes, kept: Sequence[RawRecord]) -> CleanedBatch:
    """Return a v2 batch with those of its records that stay."""
    copied = copy_records(opened, kept, header)
    changed = header._replace(
        base_timestamp=copied.base_timestamp,
        max_timestamp=copied.max_timestamp,
        record_count=len(kept),
    )
    return _v2_batch(changed, compress(header.compression_type, copied.body))


def _v2_batch(header: BatchHeader, body: bytes) -> CleanedBatch:
    sized = header._replace(batch_length=RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(body))
    batch = bytearray(BATCH_HEADER.pack(*sized) + body)
    crc = compute_crc(batch, 0, sized)
    batch[CRC_POSITION : CRC_POSITION + 4] = crc.to_bytes(4, "big")
    return CleanedBatch(sized._replace(crc=crc), bytes(batch), header.record_count)


def with_messages(header: BatchHeader, kept: Sequence[LegacyMessage]) -> CleanedBatch:
    """Return a message of format v0 or v1, mostly a wrapper, with those inside it that stay."""
    builder = BatchBuilder(
        magic=header.magic,
        compression=header.compression_type,
        timestamp_type=header.timestamp_type,
        base_offset=kept[0].offset,
        log_append_time_ms=header.max_timestamp,
    )
    for message in kept:
        builder.append(message.timestamp, message.key, message.value, offset=message.offset)
    data = builder.build()
    return CleanedBatch(parse_batch_header(data), data, len(kept))
