"""Records that cannot be appended as they came: other codec, other or old message format.

The part of Kafka's `LogValidator` that opens every record and mostly builds the batch anew. Only
messages of the topic's own old format are kept and get new offsets and timestamps in place.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafkalike.log.record_checks import RecordErrors, RecordRules
from kafkalike.log.validated_records import ValidatedRecords
from kafkalike.protocol.errors import CorruptRecordError, UnknownServerError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.legacy_message_set import open_legacy_entry, stamp_message
from kafkalike.protocol.records.record import NO_TIMESTAMP, Record, TimestampType
from kafkalike.protocol.records.record_batch import (
    MAGIC_V0,
    MAGIC_V1,
    MAGIC_V2,
    BatchHeader,
    iter_batches,
)
from kafkalike.protocol.records.record_reader import iter_records

Batches = list[tuple[int, BatchHeader]]


class Placement(NamedTuple):
    """Where and when records are appended, and with which codec."""

    source_codec: CompressionType
    target_codec: CompressionType
    first_offset: int
    leader_epoch: int
    now_ms: int


class RecordRewriter:
    """Checks and rewrites records for a topic whose message format is `magic`."""

    def __init__(self, rules: RecordRules, magic: int) -> None:
        self._rules = rules
        self._magic = magic
        self._timestamp_type = (
            TimestampType.LOG_APPEND_TIME if rules.is_append_time else TimestampType.CREATE_TIME
        )

    def rewrite(
        self, records: memoryview, batches: Batches, placement: Placement
    ) -> ValidatedRecords:
        """Return the records of all batches, which have one format, as the topic wants them."""
        opened = list(self._open(records, batches, placement.now_ms))
        if self._keeps_bytes(batches, opened, placement):
            return self._stamp_in_place(records, batches, opened, placement)
        return self._rebuild(batches[0][1], opened, placement)

    def _open(self, records: memoryview, batches: Batches, now_ms: int) -> Iterator[Record]:
        for position, header in batches:
            errors = RecordErrors()
            view = records[position : position + header.size_in_bytes]
            for index, record in self._open_batch(view, header, errors):
                self._rules.check(errors, index, header, record, now_ms)
                yield record
            errors.raise_if_any()

    def _open_batch(
        self, view: memoryview, header: BatchHeader, errors: RecordErrors
    ) -> Iterator[tuple[int, Record]]:
        if header.magic == MAGIC_V2:
            yield from enumerate(iter_records(view, 0, header))
            return
        tp = self._rules.topic_partition
        for index, message in enumerate(open_legacy_entry(view, header)):
            if message.magic != header.magic:
                errors.add_invalid_record(
                    index,
                    f"Record {message.offset}'s magic does not match outer magic {header.magic} in "
                    f"topic partition {tp}.",
                )
                continue
            if header.is_compressed and not message.has_valid_crc:
                raise CorruptRecordError(f"Record is corrupt in topic partition {tp}.")
            yield index, Record(message.offset, message.timestamp, message.key, message.value)

    def _keeps_bytes(self, batches: Batches, opened: list[Record], placement: Placement) -> bool:
        """Tell whether the bytes can stay but for offsets and timestamps."""
        header = batches[0][1]
        if header.magic != self._magic or self._magic == MAGIC_V2:
            return False
        if placement.source_codec is not placement.target_codec:
            return False
        if placement.source_codec is CompressionType.NONE:
            return True
        # Some old clients do not number inner messages from 0; Kafka has always rewritten theirs.
        return self._magic == MAGIC_V1 and all(
            record.offset == index for index, record in enumerate(opened)
        )

    def _stamp_in_place(
        self,
        records: memoryview,
        batches: Batches,
        opened: list[Record],
        placement: Placement,
    ) -> ValidatedRecords:
        end = batches[-1][0] + batches[-1][1].size_in_bytes
        data = bytearray(records[:end])
        last_offset = placement.first_offset + len(opened) - 1
        is_wrapper = placement.source_codec is not CompressionType.NONE
        is_append_time = self._rules.is_append_time
        # A negative time is none, as in Kafka; and no older format could be made of it.
        max_timestamp = max(NO_TIMESTAMP, *(record.timestamp for record in opened))
        for index, (position, header) in enumerate(batches):
            own = max(NO_TIMESTAMP, header.max_timestamp)
            timestamp = max_timestamp if is_wrapper else own
            stamp_message(
                data,
                position,
                header,
                offset=last_offset if is_wrapper else placement.first_offset + index,
                timestamp_type=self._timestamp_type,
                timestamp=placement.now_ms if is_append_time else timestamp,
            )
        if is_append_time:
            max_timestamp, index = placement.now_ms, 0
        elif max_timestamp == NO_TIMESTAMP or self._magic == MAGIC_V0:
            max_timestamp, index = NO_TIMESTAMP, -1
        else:
            index = next(i for i, each in enumerate(opened) if each.timestamp == max_timestamp)
        offset = placement.first_offset + index if index >= 0 else -1
        return self._result(
            bytes(data),
            len(opened),
            placement,
            max_timestamp,
            last_offset if is_wrapper else offset,
            conversion_count=0,
        )

    def _rebuild(
        self, first: BatchHeader, opened: list[Record], placement: Placement
    ) -> ValidatedRecords:
        try:
            builder = BatchBuilder(
                magic=self._magic,
                compression=placement.target_codec,
                timestamp_type=self._timestamp_type,
                base_offset=placement.first_offset,
                log_append_time_ms=placement.now_ms,
                producer_id=first.producer_id,
                producer_epoch=first.producer_epoch,
                base_sequence=first.base_sequence,
                is_transactional=first.is_transactional,
                leader_epoch=placement.leader_epoch,
            )
            for record in opened:
                builder.append(record.timestamp, record.key, record.value, record.headers)
        except ValueError as problem:
            # What a format cannot hold (zstd, headers, negative timestamps) is no error of its own
            # in Kafka: the producer gets UNKNOWN_SERVER_ERROR.
            raise UnknownServerError(str(problem)) from problem
        info = builder.info()
        return self._result(
            builder.build(),
            len(opened),
            placement,
            info.max_timestamp,
            info.shallow_offset_of_max_timestamp,
            conversion_count=len(opened),
        )

    def _result(
        self,
        data: bytes,
        count: int,
        placement: Placement,
        max_timestamp: int,
        offset_of_max_timestamp: int,
        conversion_count: int,
    ) -> ValidatedRecords:
        is_append_time = self._rules.is_append_time
        return ValidatedRecords(
            buffers=[data],
            size_in_bytes=len(data),
            first_offset=placement.first_offset,
            last_offset=placement.first_offset + count - 1,
            max_timestamp=max_timestamp,
            offset_of_max_timestamp=offset_of_max_timestamp,
            batches=tuple(header for _, header in iter_batches(data)),
            log_append_time=placement.now_ms if is_append_time else NO_TIMESTAMP,
            source_codec=placement.source_codec,
            target_codec=placement.target_codec,
            conversion_count=conversion_count,
        )
