"""Up to where each log is clean: `cleaner-offset-checkpoint`, one file in each log directory.

Part of Kafka's `LogCleanerManager`. The offsets live in memory and are written down when they
change; a change that a crash loses means that some of a log is cleaned again.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from twisted.internet.defer import DeferredLock

from kafkalike.log.log_dir import LogDir
from kafkalike.log.log_pool import LogPool
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import RunBlocking


class CleanerCheckpoints:
    """The first dirty offsets of all logs, by log directory."""

    def __init__(
        self,
        run_blocking: RunBlocking,
        background: Background,
        logs: LogPool,
        on_storage_failure: Callable[[Path, str, OSError], None],
    ) -> None:
        self._run_blocking = run_blocking
        self._background = background
        self._logs = logs
        self._on_storage_failure = on_storage_failure
        self._dirs: dict[Path, LogDir] = {}
        self._offsets: dict[Path, dict[TopicPartition, int]] = {}
        self._unwritten: set[Path] = set()
        self._locks: dict[Path, DeferredLock] = {}

    async def load(self, log_dirs: Iterable[LogDir]) -> None:
        """Read the files of all directories; without a good file all logs in it are dirty."""
        for log_dir in log_dirs:
            self._dirs[log_dir.path] = log_dir
            self._locks[log_dir.path] = DeferredLock()
            self._offsets[log_dir.path] = await self._run_blocking(
                log_dir.read_or_forget, log_dir.cleaner_offsets
            )

    def get(self, path: Path, tp: TopicPartition) -> int | None:
        """Return up to where a log is clean, None if it was never cleaned."""
        return self._offsets.get(path, {}).get(tp)

    def update(self, path: Path, tp: TopicPartition, offset: int) -> None:
        """Note up to where a log is clean now."""
        if path in self._offsets:
            self._offsets[path][tp] = offset
            self._write_soon(path)

    def remove(self, path: Path, tp: TopicPartition) -> int | None:
        """Forget a log; return what was known of it."""
        offset = self._offsets.get(path, {}).pop(tp, None)
        if offset is not None:
            self._write_soon(path)
        return offset

    def drop_dir(self, path: Path) -> None:
        """Forget a directory that failed."""
        self._offsets.pop(path, None)
        self._unwritten.discard(path)

    async def write_all(self) -> None:
        """Write down what is not yet, and wait for it."""
        for path in self._locks:
            await self._write(path)

    def _write_soon(self, path: Path) -> None:
        self._unwritten.add(path)
        self._background.start(self._write(path), "cleaner checkpoint")

    async def _write(self, path: Path) -> None:
        lock = self._locks[path]
        await lock.acquire()
        try:
            if path not in self._unwritten:
                return
            self._unwritten.discard(path)
            # Nobody tells of partitions that were deleted while the broker was down.
            offsets = {tp: each for tp, each in self._offsets[path].items() if self._logs.get(tp)}
            self._offsets[path] = offsets
            await self._run_blocking(self._dirs[path].cleaner_offsets.write, dict(offsets))
        except OSError as error:
            message = f"Failed to write the cleaner's checkpoint in dir {path}"
            self._on_storage_failure(path, message, error)
        finally:
            lock.release()
