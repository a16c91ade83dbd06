"""The end of a log where records go in: append, roll, flush.

Part of Kafka's `Log`. The append is the broker's hot path: a plain batch is not opened and not
copied, and what is done here for each one is kept to the necessary.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from twisted.logger import Logger

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.abstract_index import MAX_RELATIVE_OFFSET
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.leader_epoch_cache import LeaderEpochCache, open_leader_epoch_cache
from kafkalike.log.local_log import LocalLog
from kafkalike.log.log_append_info import LogAppendInfo
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_flush import LogFlush
from kafkalike.log.log_offsets import LogOffsets
from kafkalike.log.log_segment import LogSegment
from kafkalike.log.producer_state import ProducerStateManager, ProducerStateUpdate
from kafkalike.log.producer_state_entry import BatchMetadata
from kafkalike.log.record_validator import RecordValidator
from kafkalike.log.replicated_records import validate_replicated_records
from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.log.validated_records import ValidatedRecords
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import RecordBatchTooLargeError
from kafkalike.protocol.records.record_batch import MAGIC_V2, BatchHeader

logger = Logger()


class LogAppender(LogOffsets):
    """The writing half of `Log`."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        local_log: LocalLog,
        producer_state: ProducerStateManager,
        leader_epoch_cache: LeaderEpochCache | None,
        environment: LogEnvironment,
        *,
        log_start_offset: int,
        recovery_point: int,
        now_ms: int,
    ) -> None:
        super().__init__(
            topic_partition,
            local_log,
            producer_state,
            environment,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
        )
        self.leader_epoch_cache = leader_epoch_cache
        self.last_flush_ms = now_ms
        self._validator = RecordValidator(topic_partition, local_log.config)
        self._unsynced_snapshots: list[Path] = []
        self._unsynced_dirs = [self.parent_dir, self.directory]
        self._truncations = 0

    @property
    def config(self) -> TopicConfig:
        """The configuration of the topic."""
        return self._local.config

    def update_config(self, config: TopicConfig) -> None:
        """Take over another configuration; open segments keep their index interval and size."""
        old_version = self.config.record_version
        self._local.config = config
        self._validator = RecordValidator(self.tp, config)
        if config.record_version < old_version:
            logger.warn(
                "Record format version of {tp} has been downgraded from {old} to {new}.",
                tp=self.tp,
                old=old_version,
                new=config.record_version,
            )
        if config.record_version != old_version:
            self.leader_epoch_cache = open_leader_epoch_cache(self._local)

    # --- append

    def append_as_leader(
        self,
        records: memoryview,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> LogAppendInfo:
        """Check records of a producer or coordinator, give them offsets and append them.

        A batch that an idempotent producer sends again is answered with the offsets of its first
        time. Raises what `RecordValidator` and `ProducerStateManager.analyze` raise.
        """
        validated = self._validator.validate_and_assign_offsets(
            records,
            first_offset=self._local.next_offset_metadata.message_offset,
            leader_epoch=leader_epoch,
            now_ms=now_ms,
            origin=origin,
        )
        return self._append(validated, now_ms, origin)

    def append_as_follower(self, records: memoryview, now_ms: int) -> LogAppendInfo:
        """Append records that the leader sent, with the offsets and epochs that they have."""
        validated = validate_replicated_records(
            self.tp, records, next_offset=self._local.next_offset_metadata.message_offset
        )
        return self._append(validated, now_ms, AppendOrigin.REPLICATION)

    def _append(
        self, validated: ValidatedRecords, now_ms: int, origin: AppendOrigin
    ) -> LogAppendInfo:
        batches = validated.batches
        if not batches:
            return LogAppendInfo(
                first_offset=-1, last_offset=-1, log_start_offset=self.log_start_offset
            )
        if self._is_offline:
            self._check_online()
        if validated.size_in_bytes > self._local.config.segment_bytes:
            raise RecordBatchTooLargeError(
                f"Message batch size is {validated.size_in_bytes} bytes in append to partition "
                f"{self.tp}, which exceeds the maximum configured segment size of "
                f"{self._local.config.segment_bytes}."
            )
        producers = self.producer_state.analyze(batches, origin, validated.end_txn_markers)
        if producers.duplicate is not None:
            return self._duplicate(producers.duplicate, validated)
        try:
            self._assign_epochs(batches)
            segment = self._maybe_roll(validated, now_ms, origin)
            segment.append(
                validated.buffers,
                validated.size_in_bytes,
                batches[0],
                largest_offset=validated.last_offset,
                largest_timestamp=validated.max_timestamp,
                offset_of_max_timestamp=validated.offset_of_max_timestamp,
            )
            # At once: the write to the transaction index may fail, offsets must grow nevertheless.
            self._local.update_log_end_offset(validated.last_offset + 1)
            self._apply_producers(producers, segment)
        except OSError as error:
            message = f"Error while appending records to {self.tp} in dir {self.parent_dir}"
            raise self.storage_failed(message, error) from error
        self.producer_state.map_end_offset = end = validated.last_offset + 1
        return self._append_info(
            validated, is_flush_due=end - self.recovery_point >= self._local.config.flush_messages
        )

    def _assign_epochs(self, batches: Sequence[BatchHeader]) -> None:
        cache = self.leader_epoch_cache
        if cache is None:
            return
        for batch in batches:
            if batch.magic == MAGIC_V2:
                if batch.partition_leader_epoch >= 0:
                    cache.assign(batch.partition_leader_epoch, batch.base_offset)
            elif cache.latest_epoch is not None:
                # The format has gone back: the next election truncates by high watermark.
                logger.warn(
                    "Clearing leader epoch cache of {tp} after unexpected append with message "
                    "format v{magic}",
                    tp=self.tp,
                    magic=batch.magic,
                )
                cache.clear_and_flush()

    def _apply_producers(self, update: ProducerStateUpdate, segment: LogSegment) -> None:
        if not update.append_infos:
            return
        state = self.producer_state
        for append_info in update.append_infos.values():
            state.update(append_info)
        for txn in update.completed_txns:
            if txn.is_aborted:
                last_stable_offset = state.last_stable_offset(txn)
                segment.txn_index.append(
                    AbortedTxn(
                        txn.producer_id, txn.first_offset, txn.last_offset, last_stable_offset
                    )
                )
            state.complete_txn(txn)
        self._maybe_increment_first_unstable_offset()

    def _append_info(self, validated: ValidatedRecords, *, is_flush_due: bool) -> LogAppendInfo:
        epoch = validated.batches[-1].partition_leader_epoch
        return LogAppendInfo(
            first_offset=validated.first_offset,
            last_offset=validated.last_offset,
            last_leader_epoch=epoch if epoch >= 0 else None,
            max_timestamp=validated.max_timestamp,
            offset_of_max_timestamp=validated.offset_of_max_timestamp,
            log_append_time=validated.log_append_time,
            log_start_offset=self.log_start_offset,
            shallow_count=len(validated.batches),
            valid_bytes=validated.size_in_bytes,
            is_flush_due=is_flush_due,
        )

    def _duplicate(self, duplicate: BatchMetadata, validated: ValidatedRecords) -> LogAppendInfo:
        info = self._append_info(validated, is_flush_due=False)
        info.first_offset = duplicate.first_offset
        info.last_offset = duplicate.last_offset
        info.log_append_time = duplicate.timestamp
        info.is_duplicate = True
        return info

    # --- roll

    def _maybe_roll(
        self, validated: ValidatedRecords, now_ms: int, origin: AppendOrigin
    ) -> LogSegment:
        segment = self._local.segments.active
        if not segment.should_roll(
            self._local.config,
            size=validated.size_in_bytes,
            max_timestamp=validated.max_timestamp,
            last_offset=validated.last_offset,
            now_ms=now_ms,
        ):
            return segment
        first_offset = validated.first_offset
        if origin is AppendOrigin.REPLICATION and validated.batches[0].magic < MAGIC_V2:
            # The first record's offset is inside the compressed message: this is surely below it.
            first_offset = validated.last_offset - MAX_RELATIVE_OFFSET
        return self.roll(now_ms, first_offset)

    def roll(self, now_ms: int, expected_next_offset: int = 0) -> LogSegment:
        """Close the active segment, go on in a new one, and have the old one flushed."""
        self._check_online()
        new_offset = max(expected_next_offset, self.log_end_offset)
        try:
            segment = self._local.roll(new_offset, now_ms)
            # With a snapshot for each segment a recovery begins at that segment.
            self.producer_state.map_end_offset = new_offset
            snapshot = self.producer_state.take_snapshot(sync=False)
        except OSError as error:
            message = f"Error while rolling log segment for {self.tp} in dir {self.parent_dir}"
            raise self.storage_failed(message, error) from error
        if snapshot is not None:
            self._unsynced_snapshots.append(snapshot)
        self._unsynced_dirs = [self.directory]
        self._update_log_end_offset(self.log_end_offset)
        flush = self.prepare_flush(new_offset)
        if flush is not None:
            self._environment.flush_later(flush)
        return segment

    # --- flush

    def is_flush_due(self, now_ms: int) -> bool:
        """Whether `flush.ms` have passed since the last flush."""
        return now_ms - self.last_flush_ms >= self._local.config.flush_ms

    def prepare_flush(self, offset: int | None = None) -> LogFlush | None:
        """Return the job to bring the log up to an offset (all of it) to the disk, if needed."""
        self._check_online()
        up_to = self.log_end_offset if offset is None else offset
        if up_to <= self.recovery_point:
            return None
        truncations = self._truncations

        def complete(now_ms: int) -> None:
            # What was truncated and written anew meanwhile is not on the disk.
            if truncations == self._truncations:
                self.last_flush_ms = now_ms
                self.recovery_point = max(self.recovery_point, up_to)

        def fail(error: OSError) -> Exception:
            message = f"Error while flushing log for {self.tp} in dir {self.parent_dir} with offset"
            return self.storage_failed(f"{message} {up_to}", error)

        try:
            segments = self._local.segments.between(self.recovery_point, up_to)
            return LogFlush(segments, self._open_other_files(), complete, fail)
        except OSError as error:
            raise fail(error) from error

    def _open_other_files(self) -> list[int]:
        """Open what else must be on the disk: new names in directories, epochs, snapshots."""
        snapshots = [path for path in self._unsynced_snapshots if path.exists()]
        descriptors = [
            os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in (*snapshots, *self._unsynced_dirs)
        ]
        self._unsynced_snapshots.clear()
        self._unsynced_dirs.clear()
        epochs = self.leader_epoch_cache.open_for_flush() if self.leader_epoch_cache else None
        return descriptors if epochs is None else [*descriptors, epochs]

    def flush(self, now_ms: int, offset: int | None = None) -> None:
        """Bring the log to the disk; it blocks."""
        job = self.prepare_flush(offset)
        if job is None:
            return
        try:
            job.run()
        except OSError as error:
            raise job.fail(error) from error
        job.complete(now_ms)
