"""Records that may be appended to a log, as `RecordValidator` hands them over."""

from collections.abc import Mapping
from typing import NamedTuple

from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import EndTransactionMarker
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import BatchHeader

NO_MARKERS: Mapping[int, EndTransactionMarker] = {}


class ValidatedRecords(NamedTuple):
    """Bytes for `os.writev`, and all that the log must know of them.

    `batches` have the offsets that were assigned. Of batches in format v0 and v1 from a leader the
    first offset is not known without opening them: `first_offset` is then that of the first
    shallow message (the last one inside it). `end_txn_markers` go by base offset of their batch.
    """

    buffers: list[bytes | memoryview]
    size_in_bytes: int
    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    batches: tuple[BatchHeader, ...]
    log_append_time: int = NO_TIMESTAMP
    source_codec: CompressionType = CompressionType.NONE
    target_codec: CompressionType = CompressionType.NONE
    conversion_count: int = 0
    end_txn_markers: Mapping[int, EndTransactionMarker] = NO_MARKERS


NO_RECORDS = ValidatedRecords([], 0, -1, -1, NO_TIMESTAMP, -1, ())
