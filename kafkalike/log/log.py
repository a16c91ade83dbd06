"""A replica's log: records go in at the end and come out by offset (Kafka's `Log`).

`LocalLog` has the segments, `LogOffsets` the offsets, `LogAppender` the writing end,
`ProducerStateManager` the idempotent and transactional producers, `LeaderEpochCache` the epochs;
here is the rest: reading, searching, truncating, retention, and the life of the directory.
`log_loader.load_log` makes a `Log` from a directory.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from twisted.logger import Logger

from kafkalike.log.fetch_data_info import (
    FetchDataInfo,
    FetchIsolation,
    OffsetAndEpoch,
    TimestampAndOffset,
)
from kafkalike.log.leader_epoch_cache import UNDEFINED_EPOCH_OFFSET
from kafkalike.log.log_appender import LogAppender
from kafkalike.log.log_file_names import FUTURE_DIR_SUFFIX
from kafkalike.log.log_segment import LogSegment
from kafkalike.log.log_segments import LogSegments
from kafkalike.log.offset_search import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    earliest_offset,
    first_offset_at_or_after,
    offsets_before,
)
from kafkalike.log.partition_metadata_file import write_partition_metadata
from kafkalike.log.producer_state_loader import ProducerStateLoading, rebuild_producer_state
from kafkalike.log.retention import SegmentFacts, deletable_segments
from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.protocol.errors import InconsistentTopicIdError, OffsetOutOfRangeError
from kafkalike.protocol.records.record import NO_TIMESTAMP

logger = Logger()


class Log(LogAppender):
    """One replica of a partition on this broker; owned by the log manager.

    Methods are synchronous and cheap, and run where the broker's state lives. The exceptions are
    `flush`, `close` and `delete`, which block; `prepare_flush` cuts a flush in two. An I/O error
    takes the log directory offline and becomes a `KafkaStorageError`, but for `close` and `delete`:
    these may run in a thread, and leave it to the caller to tell `storage_failed`.
    """

    topic_id: bytes | None = None

    def __repr__(self) -> str:
        return (
            f"Log(dir={self.directory}, highWatermark={self.high_watermark}, "
            f"lastStableOffset={self.last_stable_offset}, logStartOffset={self.log_start_offset}, "
            f"logEndOffset={self.log_end_offset})"
        )

    @contextmanager
    def _storage(self, action: str) -> Iterator[None]:
        self._check_online()
        try:
            yield
        except OSError as error:
            message = f"Error while {action} {self.tp} in dir {self.parent_dir}"
            raise self.storage_failed(message, error) from error

    @property
    def segments(self) -> LogSegments:
        """All segments, by base offset."""
        return self._local.segments

    @property
    def active_segment(self) -> LogSegment:
        """The segment that takes the appends."""
        return self._local.segments.active

    @property
    def size(self) -> int:
        """Bytes of records."""
        return self._local.segments.size

    @property
    def is_future(self) -> bool:
        """Whether this replica is moving in from another log directory."""
        return self.directory.name.endswith(FUTURE_DIR_SUFFIX)

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Note the topic's id, and write it down if it is new."""
        if self.topic_id == topic_id:
            return
        if self.topic_id is not None:
            raise InconsistentTopicIdError(
                f"Tried to assign topic ID {topic_id.hex()} to log for topic partition {self.tp}, "
                f"but log already contained topic ID {self.topic_id.hex()}"
            )
        with self._storage("writing the topic id of"):
            write_partition_metadata(self.directory, topic_id)
        self.topic_id = topic_id

    # --- read

    def read(
        self,
        start_offset: int,
        max_length: int,
        isolation: FetchIsolation,
        *,
        min_one_message: bool,
    ) -> FetchDataInfo:
        """Return records of one segment from an offset on, as far as the isolation allows."""
        if self._is_offline:
            self._check_online()
        if not self.log_start_offset <= start_offset <= self.log_end_offset:
            raise OffsetOutOfRangeError(
                f"Received request for offset {start_offset} for partition {self.tp}, but we only "
                f"have log segments in the range {self.log_start_offset} to {self.log_end_offset}."
            )
        try:
            return self._local.read(
                start_offset,
                max_length,
                self.fetchable_end(isolation),
                min_one_message=min_one_message,
                include_aborted_txns=isolation is FetchIsolation.TXN_COMMITTED,
            )
        except OSError as error:
            message = f"Exception while reading from {self.tp} in dir {self.parent_dir}"
            raise self.storage_failed(message, error) from error

    def fetch_offset_by_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """Return the first record at or after a time; -1 means the log's end, -2 its start."""
        if timestamp == EARLIEST_TIMESTAMP:
            return earliest_offset(self.log_start_offset, self.leader_epoch_cache)
        if timestamp == LATEST_TIMESTAMP:
            return TimestampAndOffset(NO_TIMESTAMP, self.log_end_offset, self.latest_epoch)
        with self._storage("fetching offset by timestamp for"):
            return first_offset_at_or_after(
                self.tp, self.config, self.segments, timestamp, self.log_start_offset
            )

    def legacy_fetch_offsets_before(self, timestamp: int, max_count: int, now_ms: int) -> list[int]:
        """Return up to `max_count` offsets where segments begin, as ListOffsets 0 wants them."""
        with self._storage("fetching offsets before a time for"):
            return offsets_before(
                list(self.segments),
                timestamp,
                max_count,
                log_start_offset=self.log_start_offset,
                log_end_offset=self.log_end_offset,
                now_ms=now_ms,
            )

    # --- leader epochs

    @property
    def latest_epoch(self) -> int | None:
        """The epoch of the last leader that this log knows."""
        return self.leader_epoch_cache.latest_epoch if self.leader_epoch_cache else None

    def maybe_assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """Note that a leader's epoch begins at an offset."""
        if self.leader_epoch_cache:
            with self._storage("assigning a leader epoch to"):
                self.leader_epoch_cache.assign(leader_epoch, start_offset)

    def end_offset_for_epoch(self, leader_epoch: int) -> OffsetAndEpoch | None:
        """Return where an epoch (or the one before it) ended, None if that is not known."""
        if self.leader_epoch_cache is None:
            return None
        found = self.leader_epoch_cache.end_offset_for(leader_epoch)
        if found.start_offset == UNDEFINED_EPOCH_OFFSET:
            return None
        return OffsetAndEpoch(found.start_offset, found.epoch)

    # --- truncation

    def truncate_to(self, target_offset: int, now_ms: int) -> bool:
        """Remove everything from an offset on; False if there was nothing."""
        if target_offset < 0:
            raise ValueError(f"Cannot truncate {self.tp} to a negative offset ({target_offset})")
        with self._storage("truncating log of"):
            if target_offset >= self.log_end_offset:
                # A leader that appended nothing may have left an epoch at the end of its log.
                if self.leader_epoch_cache:
                    self.leader_epoch_cache.truncate_from_end(self.log_end_offset)
                return False
            logger.info("Truncating {tp} to offset {offset}", tp=self.tp, offset=target_offset)
            if self.segments.first.base_offset > target_offset:
                self.truncate_fully_and_start_at(target_offset, now_ms)
                return True
            self._local.truncate_to(target_offset, now_ms)
            if self.leader_epoch_cache:
                self.leader_epoch_cache.truncate_from_end(target_offset)
            start_offset = min(target_offset, self.log_start_offset)
            self._complete_truncation(start_offset, target_offset, now_ms)
        return True

    def truncate_fully_and_start_at(self, new_offset: int, now_ms: int) -> None:
        """Remove everything and begin anew at an offset."""
        with self._storage("truncating the entire log of"):
            logger.info("Truncating {tp} fully, to {offset}", tp=self.tp, offset=new_offset)
            self._local.truncate_fully_and_start_at(new_offset, now_ms)
            if self.leader_epoch_cache:
                self.leader_epoch_cache.clear_and_flush()
            self.producer_state.truncate_fully_and_start_at(new_offset)
            self._complete_truncation(new_offset, new_offset, now_ms)

    def _complete_truncation(self, start_offset: int, end_offset: int, now_ms: int) -> None:
        self._truncations += 1
        self._unsynced_dirs = [self.directory]
        self.log_start_offset = start_offset
        self.recovery_point = min(self.recovery_point, end_offset)
        rebuild_producer_state(
            self.producer_state,
            self.segments,
            log_start_offset=start_offset,
            last_offset=end_offset,
            loading=ProducerStateLoading(self.config.record_version, now_ms, is_synced=False),
        )
        self._maybe_increment_first_unstable_offset()
        self.update_high_watermark(min(self.high_watermark, end_offset))

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Raise the log start offset; what lies before it goes with the next retention."""
        if offset > self.high_watermark:
            raise OffsetOutOfRangeError(
                f"Cannot increment the log start offset to {offset} of partition {self.tp} since "
                f"it is larger than the high watermark {self.high_watermark}"
            )
        if offset <= self.log_start_offset:
            return False
        with self._storage("increasing log start offset of"):
            self._update_log_start_offset(offset)
            logger.info("{tp}: log start offset is {offset} now", tp=self.tp, offset=offset)
            if self.leader_epoch_cache:
                self.leader_epoch_cache.truncate_from_start(offset)
            self.producer_state.on_log_start_offset_incremented(offset)
            self._maybe_increment_first_unstable_offset()
        return True

    # --- retention

    def delete_old_segments(self, now_ms: int) -> int:
        """Delete the segments that retention no longer covers; return how many."""
        deleted = 0
        with self._storage("deleting segments of"):
            while True:
                count, reason = deletable_segments(
                    self._segment_facts(),
                    self.config,
                    high_watermark=self.high_watermark,
                    log_start_offset=self.log_start_offset,
                    now_ms=now_ms,
                )
                if not count:
                    return deleted
                self._delete_segments(list(self.segments)[:count], reason, now_ms)
                deleted += count

    def _segment_facts(self) -> list[SegmentFacts]:
        segments = list(self.segments)
        ends = [*(segment.base_offset for segment in segments[1:]), self.log_end_offset]
        return [
            SegmentFacts(
                segment.base_offset,
                end,
                segment.size,
                segment.largest_timestamp,
                is_active=segment is segments[-1],
            )
            for segment, end in zip(segments, ends, strict=True)
        ]

    def _delete_segments(self, segments: Sequence[LogSegment], reason: str, now_ms: int) -> None:
        if len(segments) == len(self.segments):
            self.roll(now_ms)
        self._local.remove_and_delete_segments(segments, reason=reason)
        self.maybe_increment_log_start_offset(self.segments.first.base_offset)

    # --- compaction

    def collect_aborted_transactions(self, start_offset: int, upper_bound: int) -> list[AbortedTxn]:
        """Return the aborted transactions that overlap a range of offsets."""
        with self._storage("reading aborted transactions of"):
            return self._local.collect_aborted_transactions(start_offset, upper_bound)

    def replace_segments(self, new: Sequence[LogSegment], old: Sequence[LogSegment]) -> None:
        """Put cleaned segments, still under their suffix, in the place of old ones."""
        with self._storage("replacing segments of"):
            self._local.replace_segments(new, old)
        self._forget_positions()

    # --- producers

    def take_producer_snapshot(self) -> None:
        """Write the state of the producers as it is now."""
        with self._storage("taking a producer snapshot of"):
            snapshot = self.producer_state.take_snapshot(sync=False)
        if snapshot is not None:
            self._unsynced_snapshots.append(snapshot)

    def remove_expired_producers(self, now_ms: int) -> None:
        """Forget producers that have been silent for long."""
        self.producer_state.remove_expired_producers(now_ms)

    # --- life of the directory

    def rename_dir(self, name: str) -> None:
        """Rename the directory, within its log directory."""
        with self._storage("renaming dir for"):
            self._local.rename_dir(name)
            self._unsynced_snapshots = [
                self.directory / path.name for path in self._unsynced_snapshots
            ]
            self._unsynced_dirs = [self.parent_dir, self.directory]
            self.producer_state.update_parent_dir(self.directory)
            if self.leader_epoch_cache:
                self.leader_epoch_cache.update_parent_dir(self.directory)

    def close(self) -> None:
        """Write what makes the next start quick, and cut all files to their size; it blocks."""
        self._check_online()
        self.producer_state.take_snapshot()
        for segment in self.segments:
            segment.close()
        self._is_offline = True

    def close_handlers(self) -> None:
        """Let go of the files as they are, as their disk is offline."""
        self._is_offline = True
        for segment in self.segments:
            segment.close_handlers()

    def delete(self) -> None:
        """Remove the directory with all that is in it; it blocks."""
        self._is_offline = True
        self._local.remove_and_delete_segments(
            list(self.segments), reason="log deletion", is_async=False
        )
        with suppress(FileNotFoundError):
            shutil.rmtree(self.directory)
