"""Load all logs of a log directory, and close them again, in threads.

Part of Kafka's `LogManager` (`loadLogs`, `shutdown`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from twisted.logger import Logger

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_checkpoints import log_start_offsets, recovery_points
from kafkalike.log.log_dir import LogDir
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_file_names import parse_topic_partition_name
from kafkalike.log.log_loader import load_log
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.gather import gather

logger = Logger()

T = TypeVar("T")

_RAFT_METADATA_TOPIC = "__cluster_metadata"


class LogDirContents(NamedTuple):
    """What a log directory says of itself before its logs are loaded."""

    had_clean_shutdown: bool
    recovery_points: Mapping[TopicPartition, int]
    log_start_offsets: Mapping[TopicPartition, int]
    log_directories: Sequence[Path]


class LogLoading(NamedTuple):
    """How logs are to be loaded."""

    default_config: TopicConfig
    topic_configs: Mapping[str, TopicConfig]
    environment: LogEnvironment
    keeps_partition_metadata: bool
    now_ms: int


class LogDirLoader:
    """Loads and closes the logs of one directory at a time in up to `threads` threads."""

    def __init__(self, run_blocking: RunBlocking, threads: int) -> None:
        self._run_blocking = run_blocking
        self._threads = threads

    async def load(self, log_dir: LogDir, loading: LogLoading) -> list[Log]:
        """Load all logs; an `OSError` is one of the whole directory."""
        contents = await self._run_blocking(_read_log_dir, log_dir)
        loaded = await gather(
            self._in_thread(_load_logs, contents, share, loading)
            for share in self._shares(contents.log_directories)
        )
        return [log for logs in loaded for log in logs]

    async def close(self, log_dir: LogDir, logs: Sequence[Log], now_ms: int) -> None:
        """Flush and close all logs, and leave the marks of a clean shutdown."""
        await gather(
            self._in_thread(_flush_and_close_logs, share, now_ms) for share in self._shares(logs)
        )
        await self._run_blocking(log_dir.recovery_points.write, recovery_points(logs))
        await self._run_blocking(log_dir.log_start_offsets.write, log_start_offsets(logs))
        await self._run_blocking(log_dir.write_clean_shutdown_marker)

    def _shares(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        count = min(self._threads, len(items))
        return (items[number::count] for number in range(count))

    async def _in_thread(self, call: Callable[..., T], *args: Any) -> T:
        return await self._run_blocking(call, *args)


def _read_log_dir(log_dir: LogDir) -> LogDirContents:
    """Take the clean-shutdown marker, read the checkpoints, find the logs."""
    had_clean_shutdown = log_dir.take_clean_shutdown_marker()
    logger.info(
        "Skipping recovery for all logs in {path} since clean shutdown file was found"
        if had_clean_shutdown
        else "Attempting recovery for all logs in {path} since no clean shutdown file was found",
        path=log_dir.path,
    )
    return LogDirContents(
        had_clean_shutdown,
        log_dir.read_or_forget(log_dir.recovery_points),
        log_dir.read_or_forget(log_dir.log_start_offsets),
        [
            directory
            for directory in log_dir.log_directories()
            if parse_topic_partition_name(directory).topic != _RAFT_METADATA_TOPIC
        ],
    )


def _load_logs(
    contents: LogDirContents, directories: Sequence[Path], loading: LogLoading
) -> list[Log]:
    """Load the logs in some of the directories; an `OSError` is one of the whole log directory."""
    logs = []
    for directory in directories:
        tp = parse_topic_partition_name(directory)
        log = load_log(
            directory,
            loading.topic_configs.get(tp.topic, loading.default_config),
            loading.environment,
            now_ms=loading.now_ms,
            log_start_offset=contents.log_start_offsets.get(tp, 0),
            recovery_point=contents.recovery_points.get(tp, 0),
            had_clean_shutdown=contents.had_clean_shutdown,
            keeps_partition_metadata=loading.keeps_partition_metadata,
        )
        logger.debug("Loaded {log}, {count} segments", log=log, count=len(log.segments))
        logs.append(log)
    return logs


def _flush_and_close_logs(logs: Sequence[Log], now_ms: int) -> None:
    """Bring logs to the disk and close them; nobody else may use them any more."""
    for log in logs:
        job = log.prepare_flush()
        if job is not None:
            job.run()
            job.complete(now_ms)
        log.close()
