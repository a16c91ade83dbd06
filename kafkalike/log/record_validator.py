"""Checks records before they are appended, and gives them offsets and timestamps.

Kafka's `LogValidator` and the first half of `Log.append`. A batch of format v2 that needs no change
is never opened: its header and checksum are checked, 16 bytes in front are replaced, and the rest
goes to the segment as it came. `record_rewriter` does what cannot be done that way.
"""

from kafkalike.config.api_version import api_version
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.append_origin import AppendOrigin as AppendOrigin
from kafkalike.log.batch_placement import place_batch, place_batch_at_append_time
from kafkalike.log.record_checks import RecordErrors, RecordRules, check_batch
from kafkalike.log.record_rewriter import Placement, RecordRewriter
from kafkalike.log.validated_records import NO_RECORDS, ValidatedRecords
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import CorruptRecordError, InvalidRecordError, RecordTooLargeError
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record_batch import (
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG,
    LOG_OVERHEAD,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    compute_crc,
    iter_batches,
    parse_batch_header,
)
from kafkalike.protocol.records.record_reader import iter_records

_NO_TIMESTAMP_LIMIT = (1 << 63) - 1

Batches = list[tuple[int, BatchHeader]]


class RecordValidator:
    """The rules of one partition, worked out once from its configuration.

    The log makes a new one whenever the topic's configuration changes.
    """

    def __init__(self, topic_partition: TopicPartition, config: TopicConfig) -> None:
        self._tp = topic_partition
        self._max_message_bytes = config.max_message_bytes
        self._magic = api_version(config.message_format_version).record_version
        self._is_compacted = "compact" in config.cleanup_policy
        self._is_append_time = config.message_timestamp_type == "LogAppendTime"
        self._max_difference_ms = config.message_timestamp_difference_max_ms
        compression = config.compression_type
        self._fixed_codec = (
            None if compression == "producer" else CompressionType.for_name(compression)
        )
        self._must_open = self._is_compacted or (
            not self._is_append_time and self._max_difference_ms < _NO_TIMESTAMP_LIMIT
        )
        self._is_plain = (
            self._magic == MAGIC_V2
            and self._fixed_codec is None
            and not self._is_append_time
            and not self._must_open
        )
        self._rules = RecordRules(
            topic_partition,
            is_compacted=self._is_compacted,
            is_append_time=self._is_append_time,
            max_difference_ms=self._max_difference_ms,
        )
        self._rewriter = RecordRewriter(self._rules, self._magic)

    def validate_and_assign_offsets(
        self,
        records: memoryview,
        *,
        first_offset: int,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> ValidatedRecords:
        """Check the records of a produce request or coordinator and put them at `first_offset`.

        Bytes of a batch that is cut off at the end are dropped. Raises CorruptRecord,
        InvalidRecord, InvalidTimestamp (both with `record_errors` where single records are at
        fault), RecordTooLarge, UnsupportedForMessageFormat.
        """
        if self._is_plain and len(records) > RECORD_BATCH_OVERHEAD:
            header = parse_batch_header(records)
            # Control batches and foreign timestamp types take the long way, and so do the rest.
            if (
                header.magic == MAGIC_V2
                and header.batch_length + LOG_OVERHEAD == len(records)
                and not header.attributes & (CONTROL_FLAG | TIMESTAMP_TYPE_MASK)
            ):
                self._check_shallow(records, 0, header, origin)
                check_batch(self._tp, header, origin, MAGIC_V2)
                return place_batch(records, header, first_offset, leader_epoch)
        batches = list(iter_batches(records))
        if not batches:
            return NO_RECORDS
        for position, header in batches:
            self._check_shallow(records, position, header, origin)
        validated = self._validate(records, batches, first_offset, leader_epoch, now_ms, origin)
        if validated.conversion_count:
            self._check_sizes(validated.batches)
        return validated

    def _check_shallow(
        self, records: memoryview, position: int, header: BatchHeader, origin: AppendOrigin
    ) -> None:
        is_client = origin is AppendOrigin.CLIENT
        if is_client and header.magic == MAGIC_V2 and header.base_offset != 0:
            raise InvalidRecordError(
                f"The baseOffset of the record batch in the append to {self._tp} should be 0, but "
                f"it is {header.base_offset}"
            )
        if header.batch_length + LOG_OVERHEAD > self._max_message_bytes:
            raise RecordTooLargeError(
                f"The record batch size in the append to {self._tp} is {header.size_in_bytes} "
                f"bytes which exceeds the maximum configured value of {self._max_message_bytes}."
            )
        if compute_crc(records, position, header) != header.crc:
            raise CorruptRecordError(
                f"Record is corrupt (stored crc = {header.crc}) in topic partition {self._tp}."
            )

    def _check_sizes(self, batches: tuple[BatchHeader, ...]) -> None:
        for header in batches:
            if header.size_in_bytes > self._max_message_bytes:
                raise RecordTooLargeError(
                    f"Message batch size is {header.size_in_bytes} bytes in append to partition "
                    f"{self._tp} which exceeds the maximum configured size of "
                    f"{self._max_message_bytes}."
                )

    def _validate(
        self,
        records: memoryview,
        batches: Batches,
        first_offset: int,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
    ) -> ValidatedRecords:
        source_codec = CompressionType.NONE
        for _, header in batches:
            if header.attributes & COMPRESSION_CODEC_MASK:
                source_codec = header.compression_type
        target_codec = source_codec if self._fixed_codec is None else self._fixed_codec
        first = batches[0][1]
        has_more = len(batches) > 1
        if has_more and (first.magic == MAGIC_V2 or source_codec is not CompressionType.NONE):
            raise InvalidRecordError("Compressed outer record has more than one batch")
        for _, header in batches:
            if header.magic != first.magic:
                raise InvalidRecordError(
                    f"Batch magic {header.magic} is not the same as the first batch's magic byte "
                    f"{first.magic} in topic partition {self._tp}."
                )
            check_batch(self._tp, header, origin, self._magic)
        is_control = bool(first.attributes & CONTROL_FLAG)
        if first.magic == MAGIC_V2 == self._magic and (
            source_codec is target_codec or (is_control and not first.is_compressed)
        ):
            return self._place_whole(records, first, first_offset, leader_epoch, now_ms)
        placement = Placement(source_codec, target_codec, first_offset, leader_epoch, now_ms)
        return self._rewriter.rewrite(records, batches, placement)

    def _place_whole(
        self,
        records: memoryview,
        header: BatchHeader,
        first_offset: int,
        leader_epoch: int,
        now_ms: int,
    ) -> ValidatedRecords:
        """Place a v2 batch whose records stay as they are, after a look at them where needed."""
        if self._must_open or header.attributes & TIMESTAMP_TYPE_MASK:
            self._check_records(records, header, now_ms)
        records = records[: header.size_in_bytes]
        if self._is_append_time:
            return place_batch_at_append_time(records, header, first_offset, leader_epoch, now_ms)
        return place_batch(records, header, first_offset, leader_epoch)

    def _check_records(self, records: memoryview, header: BatchHeader, now_ms: int) -> None:
        errors = RecordErrors()
        for index, record in enumerate(iter_records(records, 0, header)):
            self._rules.check(errors, index, header, record, now_ms)
        errors.raise_if_any()
