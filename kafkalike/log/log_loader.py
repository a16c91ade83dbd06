"""Make a `Log` from a directory, and bring in order what a crash left behind.

Kafka's `LogLoader` (in 2.8 still a part of `Log`): finishes or undoes interrupted swaps, rebuilds
indexes, checks every batch that may not be on the disk, and cuts the log where it is torn. All of
it blocks, so it runs in a thread before anybody knows the log. I/O errors leave as `OSError`.
"""

from collections.abc import Callable
from pathlib import Path

from twisted.logger import Logger

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.errors import CorruptIndexError, LogSegmentOffsetOverflowError
from kafkalike.log.leader_epoch_cache import LeaderEpochCache, open_leader_epoch_cache
from kafkalike.log.local_log import LocalLog, roll_jitter_ms
from kafkalike.log.log import Log
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_file_names import (
    DELETE_DIR_SUFFIX,
    SWAP_FILE_SUFFIX,
    parse_topic_partition_name,
)
from kafkalike.log.log_segment import LogSegment
from kafkalike.log.log_segments import LogSegments
from kafkalike.log.partition_metadata_file import (
    delete_partition_metadata,
    read_partition_metadata,
)
from kafkalike.log.producer_state import ProducerStateManager
from kafkalike.log.producer_state_loader import ProducerStateLoading, rebuild_producer_state
from kafkalike.log.segment_files import find_segments, has_indexes, remove_temporary_files
from kafkalike.log.segment_recovery import recover_segment
from kafkalike.log.segment_splitter import split_overflowed_segment
from kafkalike.protocol.errors import CorruptRecordError

logger = Logger()

_NO_LIMIT = 1 << 63


def load_log(
    directory: Path,
    config: TopicConfig,
    environment: LogEnvironment,
    *,
    now_ms: int,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    had_clean_shutdown: bool = True,
    keeps_partition_metadata: bool = True,
) -> Log:
    """Open the log in a directory, which is created if it does not exist; it blocks.

    Without a clean shutdown everything from the recovery point on is checked. With one, nothing is
    read but the end of the last segment, unless that is corrupt nevertheless.
    """
    directory.mkdir(parents=True, exist_ok=True)

    def load(*, is_clean: bool) -> Log:
        loader = LogLoader(
            directory,
            config,
            environment,
            now_ms=now_ms,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            had_clean_shutdown=is_clean,
        )
        return loader.load()

    try:
        log = load(is_clean=had_clean_shutdown)
    except CorruptRecordError as problem:
        if not had_clean_shutdown:
            raise
        logger.warn(
            "{directory} is corrupt in spite of a clean shutdown, recovering it: {problem}",
            directory=directory,
            problem=problem,
        )
        log = load(is_clean=False)
    if keeps_partition_metadata:
        log.topic_id = read_partition_metadata(directory)
    else:
        delete_partition_metadata(directory)
    return log


class LogLoader:
    """Loads one log, once."""

    def __init__(
        self,
        directory: Path,
        config: TopicConfig,
        environment: LogEnvironment,
        *,
        now_ms: int,
        log_start_offset: int,
        recovery_point: int,
        had_clean_shutdown: bool,
    ) -> None:
        self._tp = parse_topic_partition_name(directory)
        self._directory = directory
        self._config = config
        self._environment = environment
        self._now_ms = now_ms
        self._log_start_offset = log_start_offset
        self._recovery_point = recovery_point
        self._had_clean_shutdown = had_clean_shutdown
        expiration_ms = environment.max_producer_id_expiration_ms
        self._producers = ProducerStateManager(self._tp, directory, expiration_ms)
        at_once = LogEnvironment(
            max_producer_id_expiration_ms=expiration_ms, random=environment.random
        )
        self._local = LocalLog(
            directory,
            config,
            LogSegments(),
            at_once,
            on_segment_deleted=self._producers.remove_and_delete_snapshot,
        )
        self._segments = self._local.segments
        self._epochs: LeaderEpochCache | None = open_leader_epoch_cache(self._local)

    def load(self) -> Log:
        """Open the segments, recover what must be, and put the log together."""
        swaps = remove_temporary_files(self._directory)
        self._splitting_overflows(lambda: self._open_segments(checks_all=bool(swaps)))
        self._complete_swap_operations(swaps)
        if self._directory.name.endswith(DELETE_DIR_SUFFIX):
            next_offset = 0
            if not len(self._segments):
                self._local.open_segment(0, self._now_ms)
        else:
            next_offset = self._splitting_overflows(self._recover_log)
            self._segments.active.resize_indexes(self._config.segment_index_bytes)
        self._local.update_log_end_offset(next_offset)
        return self._assemble(next_offset)

    def _assemble(self, next_offset: int) -> Log:
        start_offset = max(self._log_start_offset, self._segments.first.base_offset)
        if self._epochs:
            self._epochs.truncate_from_end(next_offset)
            # The epoch of the earliest record may not have been on the disk.
            self._epochs.truncate_from_start(start_offset)
        self._producers.remove_stray_snapshots([each.base_offset for each in self._segments])
        rebuild_producer_state(
            self._producers,
            self._segments,
            log_start_offset=start_offset,
            last_offset=next_offset,
            loading=self._loading(is_clean_shutdown=self._had_clean_shutdown),
        )
        self._local.environment = self._environment
        return Log(
            self._tp,
            self._local,
            self._producers,
            self._epochs,
            self._environment,
            log_start_offset=start_offset,
            recovery_point=max(self._recovery_point, start_offset),
            now_ms=self._now_ms,
        )

    def _loading(self, *, is_clean_shutdown: bool = False) -> ProducerStateLoading:
        # A snapshot that a crash tears is recognised by its checksum: no need to wait for the disk.
        return ProducerStateLoading(
            self._config.record_version,
            self._now_ms,
            is_clean_shutdown=is_clean_shutdown,
            is_synced=False,
        )

    # --- segments

    def _splitting_overflows(self, action: Callable[[], int]) -> int:
        while True:
            try:
                return action()
            except LogSegmentOffsetOverflowError as overflow:
                logger.info("{overflow}: split it and go on", overflow=overflow)
                base_offset = overflow.base_offset
                segment = (
                    self._segments[base_offset]
                    if base_offset in self._segments
                    else self._open_segment(base_offset)
                )
                split_overflowed_segment(self._local, segment, self._now_ms)

    def _open_segment(self, base_offset: int, suffix: str = "") -> LogSegment:
        return LogSegment(
            self._directory,
            base_offset,
            self._config,
            now_ms=self._now_ms,
            is_existing=True,
            roll_jitter_ms=roll_jitter_ms(self._config, self._local.environment),
            suffix=suffix,
        )

    def _open_segments(self, *, checks_all: bool) -> int:
        """Open all segments in order; what will be recovered anyway need not be checked now."""
        self._segments.clear()
        base_offsets = find_segments(self._directory)
        unflushed = _NO_LIMIT
        if not self._had_clean_shutdown and not checks_all:
            below = [offset for offset in base_offsets if offset <= self._recovery_point]
            unflushed = below[-1] if below else 0
        for base_offset in base_offsets:
            is_whole = has_indexes(self._directory, base_offset)
            segment = self._open_segment(base_offset)
            if base_offset < unflushed:
                self._check_segment(segment, is_whole=is_whole)
            self._segments.add(segment)
        return len(base_offsets)

    def _check_segment(self, segment: LogSegment, *, is_whole: bool) -> None:
        try:
            if is_whole:
                segment.sanity_check()
                return
            problem = "an index file is missing"
        except (CorruptIndexError, CorruptRecordError) as error:
            problem = str(error)
        logger.warn(
            "Recovering {path} and rebuilding its index files: {problem}",
            path=segment.log.path,
            problem=problem,
        )
        self._recover_segment(segment)

    def _recover_segment(self, segment: LogSegment, epochs: LeaderEpochCache | None = None) -> int:
        return recover_segment(
            self._tp,
            self._local,
            segment,
            self._loading(),
            log_start_offset=self._log_start_offset,
            leader_epoch_cache=epochs,
        )

    def _complete_swap_operations(self, base_offsets: list[int]) -> None:
        for base_offset in base_offsets:
            swap = self._open_segment(base_offset, SWAP_FILE_SUFFIX)
            logger.info("{path} is from an interrupted swap: repairing", path=swap.log.path)
            self._recover_segment(swap)
            replaced = [
                segment
                for segment in self._segments.between(base_offset, swap.read_next_offset())
                if segment.read_next_offset() > base_offset
            ]
            self._local.replace_segments([swap], replaced, is_recovered_swap_file=True)

    # --- recovery

    def _recover_log(self) -> int:
        """Check what may not be on the disk, cut the log where it is torn, return its end."""
        if not self._had_clean_shutdown:
            self._recover_unflushed_segments()
        next_offset = self._segments.active.read_next_offset() if len(self._segments) else None
        if next_offset is not None and next_offset < self._log_start_offset:
            logger.warn(
                "Deleting all segments of {directory} because it ends at {end}, before the log "
                "start offset {start}. Were segment files deleted from the file system?",
                directory=self._directory,
                end=next_offset,
                start=self._log_start_offset,
            )
            self._delete_segments(list(self._segments))
            if self._epochs:
                self._epochs.clear_and_flush()
            self._producers.truncate_fully_and_start_at(self._log_start_offset)
            next_offset = None
        if next_offset is None:
            self._local.open_segment(self._log_start_offset, self._now_ms)
            next_offset = self._log_start_offset
        elif self._had_clean_shutdown:
            self._recovery_point = next_offset
        # Only a flush raises the recovery point.
        self._recovery_point = min(self._recovery_point, next_offset)
        return next_offset

    def _recover_unflushed_segments(self) -> None:
        unflushed = self._segments.between(self._recovery_point, _NO_LIMIT)
        for number, segment in enumerate(unflushed, 1):
            logger.info(
                "Recovering unflushed segment {base_offset} of {directory}",
                base_offset=segment.base_offset,
                directory=self._directory,
            )
            if self._recover_segment(segment, self._epochs):
                logger.warn(
                    "Corruption found in segment {base_offset} of {directory}, truncating to "
                    "offset {offset}",
                    base_offset=segment.base_offset,
                    directory=self._directory,
                    offset=segment.read_next_offset(),
                )
                self._delete_segments(unflushed[number:])
                return

    def _delete_segments(self, segments: list[LogSegment]) -> None:
        self._local.remove_and_delete_segments(segments, reason="log recovery", is_async=False)
