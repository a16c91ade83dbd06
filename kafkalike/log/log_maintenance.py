"""What is done for all logs from time to time: retention, flushes, checkpoints, producer expiry.

Part of Kafka's `LogManager`: its scheduled tasks.
"""

from collections.abc import AsyncIterator, Callable, Iterable

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.log.log import Log
from kafkalike.log.log_checkpoints import LogCheckpoints
from kafkalike.log.log_dir import LogDir
from kafkalike.log.log_environment import FlushJob
from kafkalike.protocol.errors import KafkaStorageError
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.periodic import PeriodicTasks
from kafkalike.utils.time import Time

logger = Logger()

INITIAL_TASK_DELAY_MS = 30_000
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = 600_000
_LOGS_AT_ONCE = 50
"""How many logs are looked after before the reactor gets its turn."""


class LogMaintenance:
    """Looks after logs; owned by the log manager, which says which logs and directories there are.

    `all_logs` and `log_dirs` are asked anew each time. A log whose disk fails meanwhile is passed
    over: the failure has been told where it was seen. The segments of compacted logs, for which
    `is_for_retention` is not true, are the cleaner's business.
    """

    def __init__(
        self,
        time: Time,
        run_blocking: RunBlocking,
        checkpoints: LogCheckpoints,
        *,
        all_logs: Callable[[], Iterable[Log]],
        log_dirs: Callable[[], Iterable[LogDir]],
        is_for_retention: Callable[[Log], bool],
    ) -> None:
        self._time = time
        self._run_blocking = run_blocking
        self._checkpoints = checkpoints
        self._all_logs = all_logs
        self._log_dirs = log_dirs
        self._is_for_retention = is_for_retention

    def start(self, tasks: PeriodicTasks, config: BrokerConfig) -> None:
        """Begin with all of it, as often as the configuration says."""
        for what, task, period_ms in (
            ("log retention", self.cleanup_logs, config.log_retention_check_interval_ms),
            ("log flusher", self.flush_dirty_logs, config.log_flush_scheduler_interval_ms),
            (
                "recovery point checkpoint",
                self.checkpoint_recovery_points,
                config.log_flush_offset_checkpoint_interval_ms,
            ),
            (
                "log start offset checkpoint",
                self.checkpoint_log_start_offsets,
                config.log_flush_start_offset_checkpoint_interval_ms,
            ),
        ):
            tasks.start(what, task, delay_ms=INITIAL_TASK_DELAY_MS, period_ms=period_ms)
        expiry_ms = PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS
        tasks.start(
            "producer expiry", self.expire_producers, delay_ms=expiry_ms, period_ms=expiry_ms
        )

    async def _logs_in_turns(self) -> AsyncIterator[Log]:
        for number, log in enumerate(list(self._all_logs()), 1):
            yield log
            if not number % _LOGS_AT_ONCE:
                await self._time.sleep_ms(0)

    async def cleanup_logs(self) -> None:
        """Delete the segments that retention no longer covers."""
        deleted = 0
        async for log in self._logs_in_turns():
            if not self._is_for_retention(log):
                continue
            try:
                deleted += log.delete_old_segments(self._time.now_ms())
            except KafkaStorageError:
                continue
        logger.debug("Log cleanup completed. {count} segments deleted", count=deleted)

    async def expire_producers(self) -> None:
        """Forget idempotent producers that have been silent for long."""
        async for log in self._logs_in_turns():
            log.remove_expired_producers(self._time.now_ms())

    async def flush_dirty_logs(self) -> None:
        """Flush the logs for which `flush.ms` have passed."""
        for log in list(self._all_logs()):
            try:
                if log.is_flush_due(self._time.now_ms()):
                    await self.flush(log)
            except KafkaStorageError:
                continue

    async def flush(self, log: Log) -> None:
        """Bring a log to the disk; raises `KafkaStorageError` if that fails."""
        job = log.prepare_flush()
        if job is not None:
            await self.run_flush(job)

    async def run_flush(self, job: FlushJob) -> None:
        """Run a flush away from the reactor; raises `KafkaStorageError` if that fails."""
        try:
            await self._run_blocking(job.run)
        except OSError as error:
            raise job.fail(error) from error
        job.complete(self._time.now_ms())

    async def checkpoint_recovery_points(self) -> None:
        """Write the recovery points of all directories."""
        for log_dir in list(self._log_dirs()):
            await self._checkpoints.write_recovery_points(log_dir)

    async def checkpoint_log_start_offsets(self) -> None:
        """Write the log start offsets of all directories."""
        for log_dir in list(self._log_dirs()):
            await self._checkpoints.write_log_start_offsets(log_dir)
