"""Write the recovery points and log start offsets of log directories.

Part of Kafka's `LogManager`. Each directory's files are written by one at a time, in threads.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from twisted.internet.defer import DeferredLock

from kafkalike.log.log import Log
from kafkalike.log.log_dir import LogDir
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.blocking import RunBlocking


def recovery_points(logs: Iterable[Log]) -> dict[TopicPartition, int]:
    """Return from where each log must be checked after a crash."""
    return {log.tp: log.recovery_point for log in logs}


def log_start_offsets(logs: Iterable[Log]) -> dict[TopicPartition, int]:
    """Return the log start offsets that the names of segments do not tell."""
    return {
        log.tp: log.log_start_offset
        for log in logs
        if log.log_start_offset > log.segments.first.base_offset
    }


class LogCheckpoints:
    """The checkpoint files of all log directories; `logs_in(path)` gives a directory's logs."""

    def __init__(
        self,
        run_blocking: RunBlocking,
        logs_in: Callable[[Path], Iterable[Log]],
        on_storage_failure: Callable[[Path, str, OSError], None],
    ) -> None:
        self._run_blocking = run_blocking
        self._logs_in = logs_in
        self._on_storage_failure = on_storage_failure
        self._locks: dict[Path, DeferredLock] = {}

    async def write_recovery_points(self, log_dir: LogDir) -> None:
        """Write `recovery-point-offset-checkpoint` as the logs are when it is written."""
        lock = self._locks.setdefault(log_dir.recovery_points.path, DeferredLock())
        await lock.acquire()
        try:
            offsets = recovery_points(self._logs_in(log_dir.path))
            await self._run_blocking(log_dir.recovery_points.write, offsets)
        except OSError as error:
            self._failed(log_dir, "recovery offsets", error)
        finally:
            lock.release()

    async def write_log_start_offsets(self, log_dir: LogDir) -> None:
        """Write `log-start-offset-checkpoint` as the logs are when it is written."""
        lock = self._locks.setdefault(log_dir.log_start_offsets.path, DeferredLock())
        await lock.acquire()
        try:
            offsets = log_start_offsets(self._logs_in(log_dir.path))
            await self._run_blocking(log_dir.log_start_offsets.write, offsets)
        except OSError as error:
            self._failed(log_dir, "log start offsets", error)
        finally:
            lock.release()

    def _failed(self, log_dir: LogDir, what: str, error: OSError) -> None:
        message = f"Disk error while writing {what} checkpoint in directory {log_dir.path}"
        self._on_storage_failure(log_dir.path, message, error)
