"""Check records that a leader sent: they keep their offsets, and are refused only if corrupt."""

from kafkalike.log.batch_placement import markers_of
from kafkalike.log.errors import OffsetsOutOfOrderError, UnexpectedAppendOffsetError
from kafkalike.log.validated_records import NO_RECORDS, ValidatedRecords
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import EndTransactionMarker
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import (
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG,
    MAGIC_V2,
    BatchHeader,
    check_crc,
    iter_batches,
)
from kafkalike.protocol.records.record_reader import iter_records


def validate_replicated_records(
    tp: TopicPartition, records: memoryview, *, next_offset: int
) -> ValidatedRecords:
    """Return the whole batches of a follower's fetch, ready to be appended at `next_offset`.

    Raises CorruptRecord, `OffsetsOutOfOrderError`, or `UnexpectedAppendOffsetError` if they begin
    before the log's end.
    """
    last_offset = -1
    max_timestamp, offset_of_max_timestamp = NO_TIMESTAMP, -1
    codec = CompressionType.NONE
    headers: list[BatchHeader] = []
    markers: dict[int, EndTransactionMarker] = {}
    end = 0
    for position, header in iter_batches(records):
        check_crc(records, position, header)
        if header.last_offset <= last_offset:
            raise OffsetsOutOfOrderError(
                f"Out of order offsets found in append to {tp}: {header.last_offset} after "
                f"{last_offset}"
            )
        last_offset = header.last_offset
        if header.max_timestamp > max_timestamp:
            max_timestamp, offset_of_max_timestamp = header.max_timestamp, last_offset
        if header.attributes & COMPRESSION_CODEC_MASK:
            codec = header.compression_type
        if header.attributes & CONTROL_FLAG:
            markers.update(markers_of(records, position, header))
        headers.append(header)
        end = position + header.size_in_bytes
    if not headers:
        return NO_RECORDS
    first_offset = headers[0].base_offset
    if first_offset < next_offset:
        raise UnexpectedAppendOffsetError(
            f"Unexpected offset in append to {tp}. First offset {first_offset} is less than the "
            f"next offset {next_offset}. Last offset in append: {last_offset}",
            _true_first_offset(records, headers[0]),
            last_offset,
        )
    return ValidatedRecords(
        buffers=[records[:end]],
        size_in_bytes=end,
        first_offset=first_offset,
        last_offset=last_offset,
        max_timestamp=max_timestamp,
        offset_of_max_timestamp=offset_of_max_timestamp,
        batches=tuple(headers),
        source_codec=codec,
        target_codec=codec,
        end_txn_markers=markers,
    )


def _true_first_offset(records: memoryview, header: BatchHeader) -> int:
    # A compressed message of format v0 or v1 bears the offset of its last record.
    if header.magic == MAGIC_V2:
        return header.base_offset
    return next(iter_records(records, 0, header)).offset
