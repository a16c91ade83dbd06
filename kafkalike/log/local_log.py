"""The segments of one replica as one sequence of bytes: append, read, roll, truncate, flush.

Part of Kafka's `Log` (later its `LocalLog`): it knows nothing of producers, epochs and watermarks.
I/O errors leave as `OSError`; `Log` turns them into `KafkaStorageError`.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from twisted.logger import Logger

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.fetch_data_info import FetchDataInfo
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_file_names import (
    CLEANED_FILE_SUFFIX,
    DELETED_FILE_SUFFIX,
    SWAP_FILE_SUFFIX,
)
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.log.log_segment import LogSegment, delete_segment_files
from kafkalike.log.log_segments import LogSegments
from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.protocol.errors import OffsetOutOfRangeError

logger = Logger()


class LocalLog:
    """Owns the segments; `next_offset_metadata` is the log end offset and where it lies.

    While it is loaded in a thread its `environment` does everything at once; then it gets the
    broker's.
    """

    def __init__(
        self,
        directory: Path,
        config: TopicConfig,
        segments: LogSegments,
        environment: LogEnvironment,
        *,
        on_segment_deleted: Callable[[int], None],
    ) -> None:
        self.directory = directory
        self.config = config
        self.segments = segments
        self.environment = environment
        self._on_segment_deleted = on_segment_deleted
        self.next_offset_metadata = LogOffsetMetadata(0)

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self.next_offset_metadata.message_offset

    def update_log_end_offset(self, offset: int) -> None:
        """Note where the next record goes."""
        active = self.segments.active
        self.next_offset_metadata = LogOffsetMetadata(offset, active.base_offset, active.size)

    # --- append and roll

    def open_segment(self, base_offset: int, now_ms: int) -> LogSegment:
        """Create an empty segment and make it the active one."""
        segment = LogSegment(
            self.directory,
            base_offset,
            self.config,
            now_ms=now_ms,
            roll_jitter_ms=roll_jitter_ms(self.config, self.environment),
        )
        self.segments.add(segment)
        return segment

    def roll(self, expected_next_offset: int, now_ms: int) -> LogSegment:
        """Close the active segment and go on in a new one."""
        new_offset = max(expected_next_offset, self.log_end_offset)
        active = self.segments.active
        if new_offset in self.segments:
            if active.base_offset != new_offset or active.size:
                raise ValueError(f"{self.directory}: a segment at {new_offset} exists already")
            # An empty active segment whose index is full, or that was just opened: start afresh.
            # The snapshot of producers at this offset is still what the next start needs.
            self.segments.remove(new_offset)
            self.delete_segment_files([active], is_async=True, keeps_snapshots=True)
        elif new_offset < active.base_offset:
            raise ValueError(f"{self.directory}: {new_offset} is below the active segment {active}")
        else:
            delete_segment_files(self.directory, new_offset)
            active.on_become_inactive()
        segment = self.open_segment(new_offset, now_ms)
        self.update_log_end_offset(self.log_end_offset)
        return segment

    # --- read

    def read(
        self,
        start_offset: int,
        max_length: int,
        max_offset: LogOffsetMetadata,
        *,
        min_one_message: bool,
        include_aborted_txns: bool,
    ) -> FetchDataInfo:
        """Return records from an offset on, from one segment, not beyond `max_offset`."""
        segments = self.segments
        end = self.next_offset_metadata
        segment = segments.floor(start_offset)
        if start_offset > end.message_offset or segment is None:
            raise OffsetOutOfRangeError(
                f"{self.directory.name}: offset {start_offset} is above the log end offset "
                f"{end.message_offset}, or below all segments"
            )
        if start_offset >= max_offset.message_offset:
            found = max_offset
            if start_offset > max_offset.message_offset:
                found = self.to_offset_metadata(start_offset)
            return FetchDataInfo(found, b"", False, [] if include_aborted_txns else None)
        while segment is not None:
            limit = segment.size
            if max_offset.segment_base_offset == segment.base_offset:
                limit = max_offset.relative_position_in_segment
            info = segment.read(start_offset, max_length, limit, min_one_message=min_one_message)
            if info is not None:
                if include_aborted_txns:
                    return self._with_aborted_transactions(segment, info)
                return info
            # Compaction may have emptied the rest of a segment: the next one has the record.
            segment = segments.higher(segment.base_offset)
        return FetchDataInfo(end, b"", False, [] if include_aborted_txns else None)

    def to_offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Return where an offset lies."""
        end = self.next_offset_metadata
        if offset == end.message_offset:
            return end
        return self.read(
            offset, 1, end, min_one_message=False, include_aborted_txns=False
        ).fetch_offset_metadata

    def _with_aborted_transactions(self, segment: LogSegment, info: FetchDataInfo) -> FetchDataInfo:
        metadata = info.fetch_offset_metadata
        upper = segment.offset_index.fetch_upper_bound_offset(
            metadata.relative_position_in_segment, len(info.records)
        )
        if upper is not None:
            upper_bound = upper.offset
        else:
            following = self.segments.higher(segment.base_offset)
            upper_bound = following.base_offset if following else self.log_end_offset
        aborted = self.collect_aborted_transactions(metadata.message_offset, upper_bound)
        return info._replace(aborted_transactions=aborted)

    def collect_aborted_transactions(self, start_offset: int, upper_bound: int) -> list[AbortedTxn]:
        """Return the aborted transactions that overlap a range of offsets."""
        aborted: list[AbortedTxn] = []
        segment = self.segments.floor(start_offset)
        while segment is not None:
            result = segment.txn_index.collect_aborted_txns(start_offset, upper_bound)
            aborted += result.aborted_transactions
            if result.is_complete:
                break
            segment = self.segments.higher(segment.base_offset)
        return aborted

    # --- truncate and delete

    def truncate_to(self, target_offset: int, now_ms: int) -> None:
        """Remove everything from an offset on; the offset is not below the first segment."""
        later = [segment for segment in self.segments if segment.base_offset > target_offset]
        self.remove_and_delete_segments(later, reason="log truncation")
        self.segments.active.truncate_to(target_offset, now_ms)
        self.update_log_end_offset(target_offset)

    def truncate_fully_and_start_at(self, new_offset: int, now_ms: int) -> None:
        """Remove everything and begin anew at an offset."""
        self.remove_and_delete_segments(list(self.segments), reason="log truncation")
        self.open_segment(new_offset, now_ms)
        self.update_log_end_offset(new_offset)

    def remove_and_delete_segments(
        self, segments: Sequence[LogSegment], *, reason: str, is_async: bool = True
    ) -> None:
        """Take segments out of the log and delete their files, after a while if `is_async`."""
        if not segments:
            return
        logger.info(
            "Deleting {count} segments of {log} ({first} to {last}) due to {reason}",
            count=len(segments),
            log=self.directory.name,
            first=segments[0].base_offset,
            last=segments[-1].base_offset,
            reason=reason,
        )
        for segment in segments:
            self.segments.remove(segment.base_offset)
        self.delete_segment_files(segments, is_async=is_async)

    def delete_segment_files(
        self, segments: Sequence[LogSegment], *, is_async: bool, keeps_snapshots: bool = False
    ) -> None:
        """Rename the files to `.deleted` now and unlink them after `file.delete.delay.ms`."""
        for segment in segments:
            segment.change_file_suffixes("", DELETED_FILE_SUFFIX)
            segment.close_handlers()
            if not keeps_snapshots:
                self._on_segment_deleted(segment.base_offset)

        def unlink() -> None:
            for segment in segments:
                segment.delete_if_exists()

        if is_async:
            log_dir, delay_ms = self.directory.parent, self.config.file_delete_delay_ms
            self.environment.delete_later(log_dir, delay_ms, unlink)
        else:
            unlink()

    def replace_segments(
        self,
        new_segments: Iterable[LogSegment],
        old_segments: Iterable[LogSegment],
        *,
        is_recovered_swap_file: bool = False,
    ) -> None:
        """Put cleaned or split segments in the place of old ones, so that a crash can be undone.

        New files go from `.cleaned` to `.swap`; from then on a restart completes the swap. Then the
        old files become `.deleted` and the new ones lose their suffix.
        """
        new = sorted(new_segments, key=lambda segment: segment.base_offset)
        old = [segment for segment in old_segments if segment.base_offset in self.segments]
        if not is_recovered_swap_file:
            # From the last to the first: a `.cleaned` file left over marks later ones as invalid.
            for segment in reversed(new):
                segment.change_file_suffixes(CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX)
        for segment in reversed(new):
            self.segments.add(segment)
        new_base_offsets = {segment.base_offset for segment in new}
        for segment in sorted(old, key=lambda segment: segment.base_offset):
            is_replaced = segment.base_offset in new_base_offsets
            if not is_replaced:
                self.segments.remove(segment.base_offset)
            self.delete_segment_files([segment], is_async=True, keeps_snapshots=is_replaced)
        for segment in new:
            segment.change_file_suffixes(SWAP_FILE_SUFFIX, "")

    def rename_dir(self, name: str) -> None:
        """Rename the directory of the log."""
        renamed = self.directory.with_name(name)
        self.directory.rename(renamed)
        self.directory = renamed
        for segment in self.segments:
            segment.update_parent_dir(renamed)


def roll_jitter_ms(config: TopicConfig, environment: LogEnvironment) -> int:
    """Draw how much earlier than `segment.ms` a segment rolls, so that not all roll at once."""
    if not config.segment_jitter_ms:
        return 0
    return environment.random.randrange(min(config.segment_jitter_ms, config.segment_ms) or 1)
