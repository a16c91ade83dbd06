"""Give a batch of format v2 its place in the log without touching its records."""

from collections.abc import Mapping
from struct import Struct

from crc32c import crc32c

from kafkalike.log.validated_records import NO_MARKERS, ValidatedRecords
from kafkalike.protocol.records.control_record import EndTransactionMarker, read_end_txn_marker
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER,
    BATCH_PREFIX,
    CONTROL_FLAG,
    CRC_POSITION,
    PREFIX_BYTES,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
)

_UINT32 = Struct(">I")


def place_batch(
    records: memoryview, header: BatchHeader, first_offset: int, leader_epoch: int
) -> ValidatedRecords:
    """Place the batch that fills `records`: 16 new bytes, and the rest as it came."""
    length = header.batch_length
    last_offset = first_offset + header.last_offset_delta
    codec = header.compression_type
    placed = BatchHeader._make((first_offset, length, leader_epoch, *header[3:]))
    return ValidatedRecords(
        [BATCH_PREFIX.pack(first_offset, length, leader_epoch), records[PREFIX_BYTES:]],
        len(records),
        first_offset,
        last_offset,
        header.max_timestamp,
        # The record with the largest timestamp is not known without opening the batch; the batch's
        # last offset is what Kafka itself takes for compressed batches and in recovery.
        last_offset,
        (placed,),
        NO_TIMESTAMP,
        codec,
        codec,
        0,
        markers_of(records, 0, placed) if header.attributes & CONTROL_FLAG else NO_MARKERS,
    )


def place_batch_at_append_time(
    records: memoryview, header: BatchHeader, first_offset: int, leader_epoch: int, now_ms: int
) -> ValidatedRecords:
    """Place the batch that fills `records` with the broker's time as that of all its records."""
    stamped = header._replace(
        base_offset=first_offset,
        partition_leader_epoch=leader_epoch,
        attributes=header.attributes | TIMESTAMP_TYPE_MASK,
        max_timestamp=now_ms,
    )
    head = bytearray(BATCH_HEADER.pack(*stamped))
    body = records[RECORD_BATCH_OVERHEAD:]
    crc = int(crc32c(body, crc32c(memoryview(head)[ATTRIBUTES_POSITION:])))
    _UINT32.pack_into(head, CRC_POSITION, crc)
    stamped = stamped._replace(crc=crc)
    return ValidatedRecords(
        buffers=[bytes(head), body],
        size_in_bytes=len(records),
        first_offset=first_offset,
        last_offset=stamped.last_offset,
        max_timestamp=now_ms,
        offset_of_max_timestamp=stamped.last_offset,
        batches=(stamped,),
        log_append_time=now_ms,
        source_codec=header.compression_type,
        target_codec=header.compression_type,
        end_txn_markers=markers_of(records, 0, stamped),
    )


def markers_of(
    records: memoryview, position: int, header: BatchHeader
) -> Mapping[int, EndTransactionMarker]:
    """Return the end of a transaction in a batch, if it is a control batch that has one."""
    if not header.attributes & CONTROL_FLAG:
        return NO_MARKERS
    marker = read_end_txn_marker(records, position, header)
    return NO_MARKERS if marker is None else {header.base_offset: marker}
