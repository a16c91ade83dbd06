"""What a batch and a record must be to be appended: the single checks of Kafka's `LogValidator`."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalike.log.append_origin import AppendOrigin
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    KafkaError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import NO_TIMESTAMP, Record, TimestampType
from kafkalike.protocol.records.record_batch import (
    CONTROL_FLAG,
    MAGIC_V2,
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    iter_batches,
)

_FIRST_VERSION_WITH_MAGIC_V2_ONLY = 3
_FIRST_VERSION_WITH_ZSTD = 7


class RecordError(NamedTuple):
    """Why one record of a batch was refused; Produce answers it from version 8 on."""

    batch_index: int
    message: str


class RecordValidationError(KafkaError):
    """One or more records have been rejected; `record_errors` has the reason for each."""

    def __init__(self, message: str, record_errors: Sequence[RecordError]) -> None:
        super().__init__(message)
        self.record_errors = tuple(record_errors)


class InvalidRecordsError(RecordValidationError, InvalidRecordError):
    """Records are invalid for this topic."""


class InvalidTimestampsError(RecordValidationError, InvalidTimestampError):
    """Timestamps of records are out of range or not the producer's to set."""


def check_produce_records(version: int, records: Buffer) -> None:
    """Refuse what a Produce request of a version may not hold; older ones may hold anything."""
    if version < _FIRST_VERSION_WITH_MAGIC_V2_ONLY:
        return
    batches = iter_batches(records)
    _, header = next(batches, (0, None))
    if header is None:
        raise InvalidRecordError(
            f"Produce requests with version {version} must have at least one record batch"
        )
    if header.magic != MAGIC_V2:
        raise InvalidRecordError(
            f"Produce requests with version {version} are only allowed to contain record batches "
            "with magic version 2"
        )
    if version < _FIRST_VERSION_WITH_ZSTD and header.compression_type is CompressionType.ZSTD:
        raise UnsupportedCompressionTypeError(
            f"Produce requests with version {version} are not allowed to use ZStandard compression"
        )
    if header.size_in_bytes != len(records) and next(batches, None) is not None:
        raise InvalidRecordError(
            f"Produce requests with version {version} are only allowed to contain exactly one "
            "record batch"
        )


def check_batch(
    tp: TopicPartition, batch: BatchHeader, origin: AppendOrigin, to_magic: int
) -> None:
    """Refuse a batch whose header contradicts itself or that its sender may not write."""
    if origin is AppendOrigin.CLIENT and batch.magic == MAGIC_V2:
        if batch.last_offset_delta < 0:
            raise InvalidRecordError(
                f"Batch has an invalid offset range: [{batch.base_offset}, {batch.last_offset}] "
                f"in topic partition {tp}."
            )
        if batch.record_count <= 0:
            raise InvalidRecordError(
                f"Invalid reported count for record batch: {batch.record_count} in topic "
                f"partition {tp}."
            )
        if batch.last_offset_delta + 1 != batch.record_count:
            raise InvalidRecordError(
                f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and "
                f"count of records {batch.record_count} in topic partition {tp}."
            )
        if batch.attributes & CONTROL_FLAG:
            raise InvalidRecordError(
                f"Clients are not allowed to write control records in topic partition {tp}."
            )
        if batch.producer_id > NO_PRODUCER_ID and batch.base_sequence < 0:
            raise InvalidRecordError(
                f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
                f"{batch.producer_id} in topic partition {tp}."
            )
    if to_magic < MAGIC_V2:
        if batch.attributes & TRANSACTIONAL_FLAG:
            raise UnsupportedForMessageFormatError(
                f"Transactional records cannot be used with magic version {to_magic}"
            )
        if batch.producer_id > NO_PRODUCER_ID:
            raise UnsupportedForMessageFormatError(
                f"Idempotent records cannot be used with magic version {to_magic}"
            )


class RecordErrors:
    """Gathers the refused records of a batch, which is refused as a whole because of them."""

    def __init__(self) -> None:
        self._errors: list[RecordError] = []
        self._has_invalid_timestamp = False

    def __bool__(self) -> bool:
        return bool(self._errors)

    def add_invalid_record(self, batch_index: int, message: str) -> None:
        """Note a record that is wrong for the topic."""
        self._errors.append(RecordError(batch_index, message))

    def add_invalid_timestamp(self, batch_index: int, message: str) -> None:
        """Note a record whose timestamp is refused."""
        self._errors.append(RecordError(batch_index, message))
        self._has_invalid_timestamp = True

    def raise_if_any(self) -> None:
        """Refuse the batch if one of its records was."""
        if not self._errors:
            return
        if self._has_invalid_timestamp:
            raise InvalidTimestampsError(
                "One or more records have been rejected due to invalid timestamp", self._errors
            )
        raise InvalidRecordsError("One or more records have been rejected", self._errors)


class RecordRules:
    """What a topic asks of every record, whatever the batch around it."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        is_compacted: bool,
        is_append_time: bool,
        max_difference_ms: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.is_append_time = is_append_time
        self._is_compacted = is_compacted
        self._max_difference_ms = max_difference_ms

    def check(
        self, errors: RecordErrors, index: int, batch: BatchHeader, record: Record, now_ms: int
    ) -> None:
        """Note what is wrong with a record, key before timestamp, and only the first of it."""
        limit = self._max_difference_ms
        if self._is_compacted and record.key is None:
            errors.add_invalid_record(
                index,
                "Compacted topic cannot accept message without key in topic partition "
                f"{self.topic_partition}.",
            )
        elif (
            not self.is_append_time
            and record.timestamp != NO_TIMESTAMP
            and abs(record.timestamp - now_ms) > limit
        ):
            errors.add_invalid_timestamp(
                index,
                f"Timestamp {record.timestamp} of message with offset {record.offset} is out of "
                f"range. The timestamp should be within [{now_ms - limit}, {now_ms + limit}]",
            )
        elif batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
            errors.add_invalid_timestamp(
                index,
                f"Invalid timestamp type in message {record.offset}. Producer should not set "
                "timestamp type to LogAppendTime.",
            )
