"""Compaction: keep the last value of each key (Kafka's `LogCleaner`).

A log is a clean part, cleaned before, and a dirty one behind it. The cleaner takes the dirtiest
log, notes the last offset of each key of its dirty part, and copies all segments without the
records that have been overtaken. Offsets never change. What it reads and computes is done in slices
in a thread; what it changes in the log, the swap of segments, happens on the reactor at once.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from kafkalike.log.cleaner_checkpoints import CleanerCheckpoints
from kafkalike.log.cleaner_config import CleanerConfig
from kafkalike.log.cleaner_job import CleaningJob
from kafkalike.log.cleaner_manager import LogCleanerManager
from kafkalike.log.cleaner_offsets import LogToClean
from kafkalike.log.cleaner_slices import SliceRunner
from kafkalike.log.cleaner_stats import CleanerStats, PreCleanStats
from kafkalike.log.cleaner_throttler import Throttler
from kafkalike.log.errors import LogCleaningAbortedError
from kafkalike.log.log import Log
from kafkalike.log.log_dir import LogDir
from kafkalike.log.log_pool import LogPool
from kafkalike.protocol.errors import KafkaStorageError
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

logger = Logger()

_LONGEST_PAUSE_MS = (1 << 31) - 1


class LogCleaner:
    """Cleans one log after the other from `startup` to `shutdown`; owned by the log manager.

    `manager` is to be told of all that concerns the cleaning of a log.
    """

    def __init__(
        self,
        config: CleanerConfig,
        logs: LogPool,
        time: Time,
        run_blocking: RunBlocking,
        on_storage_failure: Callable[[Path, str, OSError], None],
    ) -> None:
        self._background = Background()
        self._checkpoints = CleanerCheckpoints(
            run_blocking, self._background, logs, on_storage_failure
        )
        self.manager = LogCleanerManager(time, self._checkpoints, logs)
        self.last_stats = CleanerStats()
        self.last_pre_clean_stats = PreCleanStats()
        self._config = config
        self._time = time
        self._run_blocking = run_blocking
        self._throttler = Throttler(config.max_io_bytes_per_second, time.now_ms())
        self._slices = SliceRunner(time, run_blocking, self._throttler)
        self._is_stopping = False
        self._pause: Deferred[None] | None = None
        self._ended: Deferred[None] | None = None

    # --- start and stop

    async def startup(self, log_dirs: Iterable[LogDir]) -> None:
        """Begin, unless `log.cleaner.enable` is false."""
        await self._checkpoints.load(log_dirs)
        if self._config.is_enabled:
            logger.info("Starting the log cleaner")
            self._ended = Deferred()
            self._background.start(self._run(), "log cleaner")

    async def shutdown(self) -> None:
        """Stop, and wait until no thread works on any log."""
        self._is_stopping = True
        self._wake()
        if self._ended is not None:
            logger.info("Shutting down the log cleaner.")
            await self._ended
        await self._checkpoints.write_all()
        self._background.stop()

    def reconfigure(self, config: CleanerConfig) -> None:
        """Take over changed settings; what is being cleaned goes on at the new rate."""
        if config != self._config:
            self._config = config
            self._throttler.max_per_second = config.max_io_bytes_per_second
            self._wake()

    def _wake(self) -> None:
        if self._pause is not None:
            self._pause.cancel()

    # --- the loop

    async def _run(self) -> None:
        try:
            while not self._is_stopping:
                if not await self.clean_filthiest_log() and not self._is_stopping:
                    await self._back_off()
        finally:
            assert self._ended is not None
            self._ended.callback(None)

    async def _back_off(self) -> None:
        self._pause = self._time.sleep_ms(min(self._config.backoff_ms, _LONGEST_PAUSE_MS))
        try:
            await self._pause
        except CancelledError:
            pass
        finally:
            self._pause = None

    async def clean_filthiest_log(self) -> bool:
        """Clean the log that needs it most; False if there is none, or if that failed."""
        stats = PreCleanStats()
        cleanable = await self.manager.grab_filthiest_compacted_log(stats)
        is_cleaned = False
        if cleanable is not None:
            self.last_pre_clean_stats = stats
            is_cleaned = await self._clean_log(cleanable)
        await self._delete_old_segments()
        return is_cleaned

    async def _clean_log(self, cleanable: LogToClean) -> bool:
        log, end_offset = cleanable.log, cleanable.first_dirty_offset
        check = partial(self._check, log)
        job = CleaningJob(
            cleanable, self._config, self._slices, self._time, self._run_blocking, check
        )
        try:
            end_offset = await job.clean()
            self._record_stats(cleanable, end_offset, job.stats)
        except (LogCleaningAbortedError, KafkaStorageError) as reason:
            # Somebody wants it so, or the partition is offline already: let it go.
            logger.debug("{tp} is not cleaned: {reason}", tp=log.tp, reason=reason)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 (the other logs must still be cleaned)
            return self._cleaning_failed(log, error)
        finally:
            self.manager.done_cleaning(log, end_offset)
        return True

    def _check(self, log: Log) -> None:
        if self._is_stopping:
            raise LogCleaningAbortedError("The log cleaner is shutting down")
        self.manager.check_cleaning_aborted(log)

    def _cleaning_failed(self, log: Log, error: Exception) -> bool:
        try:
            self._check(log)
        except LogCleaningAbortedError:
            # It was reading what has been truncated or deleted meanwhile.
            return True
        if isinstance(error, OSError):
            log.storage_failed(f"Failed to clean up log for {log.tp} in {log.parent_dir}", error)
            return True
        logger.warn(
            "Unexpected error when cleaning {tp} in {path}. Marking it as uncleanable until the "
            "broker restarts: {error!r}",
            tp=log.tp,
            path=log.parent_dir,
            error=error,
        )
        self.manager.mark_partition_uncleanable(log)
        return False

    def _record_stats(self, cleanable: LogToClean, end_offset: int, stats: CleanerStats) -> None:
        self.last_stats = stats
        logger.info(
            "Log cleaner cleaned log {tp} (dirty section = [{start}, {end}]): {summary}",
            tp=cleanable.tp,
            start=cleanable.first_dirty_offset,
            end=end_offset,
            summary=stats.summary(),
        )
        if stats.invalid_messages_read:
            logger.warn(
                "{count} messages of {tp} had no key and were removed by compaction",
                count=stats.invalid_messages_read,
                tp=cleanable.tp,
            )

    async def _delete_old_segments(self) -> None:
        """Do for compacted logs what retention does for the others."""
        async for log in self.manager.compacted_logs():
            if self.manager.is_left_alone(log):
                with suppress(KafkaStorageError):
                    log.delete_old_segments(self._time.now_ms())
