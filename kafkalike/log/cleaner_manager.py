"""Which log is cleaned next, and which must not be (Kafka's `LogCleanerManager`).

Everything here happens on the reactor. The states are in `cleaner_states`, the checkpoints in
`cleaner_checkpoints`, and what is dirty in a log in `cleaner_offsets`.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.cleaner_checkpoints import CleanerCheckpoints
from kafkalike.log.cleaner_offsets import (
    LogToClean,
    cleanable_offsets,
    log_to_clean,
    max_compaction_delay_ms,
)
from kafkalike.log.cleaner_states import CleaningStates
from kafkalike.log.cleaner_stats import PreCleanStats
from kafkalike.log.errors import LogCleaningAbortedError
from kafkalike.log.log import Log
from kafkalike.log.log_pool import LogPool
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.time import Time

logger = Logger()

_LOGS_AT_ONCE = 50
"""How many logs are looked at before the reactor gets its turn."""


class LogCleanerManager:
    """Chooses logs for the cleaner, and is told of everything that concerns their cleaning.

    Logs that move to another directory are not cleaned meanwhile, as the copy reads them.
    """

    def __init__(self, time: Time, checkpoints: CleanerCheckpoints, logs: LogPool) -> None:
        self._time = time
        self._checkpoints = checkpoints
        self._logs = logs
        self.states = CleaningStates()
        self._uncleanable: dict[Path, set[TopicPartition]] = {}
        self.dirtiest_log_cleanable_ratio = 0.0
        self.time_of_last_run_ms = time.now_ms()

    # --- what the cleaner asks

    async def grab_filthiest_compacted_log(self, stats: PreCleanStats) -> LogToClean | None:
        """Return the dirtiest of the logs that are due; from now on it is in progress."""
        self.time_of_last_run_ms = self._time.now_ms()
        dirty = [
            cleanable
            async for log in self.compacted_logs()
            if (cleanable := self._measure(log, stats)) is not None
        ]
        dirty.sort(key=lambda each: each.cleanable_ratio, reverse=True)
        self.dirtiest_log_cleanable_ratio = dirty[0].cleanable_ratio if dirty else 0.0
        due = [cleanable for cleanable in dirty if cleanable.is_due]
        stats.cleanable_partitions = len(due)
        for candidate in due:
            # Everything may have changed while the reactor had its turns.
            filthiest = self._measure(candidate.log, PreCleanStats())
            if filthiest is not None and filthiest.is_due:
                self.states.begin(filthiest.tp)
                return filthiest
        return None

    async def compacted_logs(self) -> AsyncIterator[Log]:
        """Give all logs that are compacted, with turns for the reactor."""
        for number, log in enumerate(self._logs.current, 1):
            if log.config.is_compact:
                yield log
            if not number % _LOGS_AT_ONCE:
                await self._time.sleep_ms(0)

    def _measure(self, log: Log, stats: PreCleanStats) -> LogToClean | None:
        if not self.is_left_alone(log) or self._is_moving(log):
            return None
        try:
            cleanable = self._log_to_clean(log, stats)
        except Exception:  # noqa: BLE001 (the other logs must still be cleaned)
            logger.failure("Failed to calculate log cleaning stats for partition {tp}", tp=log.tp)
            self.mark_partition_uncleanable(log)
            return None
        return cleanable if cleanable.total_bytes else None

    def _log_to_clean(self, log: Log, stats: PreCleanStats) -> LogToClean:
        now_ms = self._time.now_ms()
        offsets = cleanable_offsets(log, self._checkpoints.get(log.parent_dir, log.tp), now_ms)
        if offsets.forces_checkpoint_update:
            self._checkpoints.update(log.parent_dir, log.tp, offsets.first_dirty_offset)
        delay_ms = max_compaction_delay_ms(log, offsets.first_dirty_offset, now_ms)
        stats.update_max_compaction_delay(delay_ms)
        return log_to_clean(log, offsets, needs_compaction_now=delay_ms > 0)

    def is_left_alone(self, log: Log) -> bool:
        """Whether a log is there, nothing forbids to clean it, and nobody is cleaning it."""
        tp = log.tp
        is_uncleanable = tp in self._uncleanable.get(log.parent_dir, ())
        return self._is_there(log) and self.states.get(tp) is None and not is_uncleanable

    def _is_there(self, log: Log) -> bool:
        return self._logs.get(log.tp) is log

    def _is_moving(self, log: Log) -> bool:
        return self._logs.get(log.tp, is_future=True) is not None

    def is_for_retention(self, log: Log) -> bool:
        """Whether old segments may be deleted now, by who does not care for compacted logs."""
        return not log.config.is_compact and self.states.get(log.tp) is None

    def check_cleaning_aborted(self, log: Log) -> None:
        """Raise `LogCleaningAbortedError` if the cleaning in progress is to stop."""
        goes_on = self._is_there(log) and self.states.is_in_progress(log.tp)
        if not goes_on or self._is_moving(log):
            raise LogCleaningAbortedError(f"The cleaning of {log.tp} is aborted")

    def done_cleaning(self, log: Log, end_offset: int) -> None:
        """Note up to where a log is clean, unless its cleaning was aborted."""
        if self.states.end(log.tp) and self._is_there(log):
            self._checkpoints.update(log.parent_dir, log.tp, end_offset)

    # --- what must not be cleaned

    def abort_cleaning(self, tp: TopicPartition) -> None:
        """Stop the cleaning of a partition."""
        self.states.abort_and_pause(tp)
        self.states.resume(tp)

    @contextmanager
    def truncation(self, log: Log, offset: int | None = None) -> Iterator[None]:
        """Stop the cleaning of a log while it is truncated (to an offset, or as a whole)."""
        is_in_active_segment = offset is not None and offset >= log.active_segment.base_offset
        if is_in_active_segment or not self._is_there(log):
            yield
            return
        self.states.abort_and_pause(log.tp)
        try:
            yield
            self._maybe_truncate_checkpoint(log)
        finally:
            self.states.resume(log.tp)

    def mark_partition_uncleanable(self, log: Log) -> None:
        """Leave a log alone until the broker restarts, as its cleaning has failed."""
        self._uncleanable.setdefault(log.parent_dir, set()).add(log.tp)

    def uncleanable_partitions(self, path: Path) -> frozenset[TopicPartition]:
        """The partitions of a log directory whose cleaning has failed."""
        return frozenset(self._uncleanable.get(path, ()))

    # --- checkpoints

    def _maybe_truncate_checkpoint(self, log: Log) -> None:
        offset = log.active_segment.base_offset
        clean_offset = self._checkpoints.get(log.parent_dir, log.tp) or 0
        if log.config.is_compact and clean_offset > offset:
            self._checkpoints.update(log.parent_dir, log.tp, offset)

    def forget(self, log: Log) -> None:
        """Stop the cleaning of a log that is being deleted."""
        self.abort_cleaning(log.tp)
        self._checkpoints.remove(log.parent_dir, log.tp)
        self._uncleanable.get(log.parent_dir, set()).discard(log.tp)

    def alter_checkpoint_dir(self, source: Log, destination: Log) -> None:
        """Follow a log to another directory."""
        tp = source.tp
        offset = self._checkpoints.remove(source.parent_dir, tp)
        if offset is not None:
            self._checkpoints.update(destination.parent_dir, tp, offset)
        if tp in self._uncleanable.get(source.parent_dir, ()):
            self._uncleanable[source.parent_dir].discard(tp)
            self.mark_partition_uncleanable(destination)

    def handle_log_dir_failure(self, path: Path) -> None:
        """Stop cleaning the logs of a directory."""
        self._checkpoints.drop_dir(path)
        self._uncleanable.pop(path, None)
