"""All logs of a broker in all its log directories (Kafka's `LogManager`).

Finds, creates and deletes logs, moves them between directories, takes failed directories offline.
Loading and closing is in `log_dir_loader`, what recurs in `log_maintenance`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from twisted.logger import Logger

from kafkalike.config.api_version import api_version
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.checkpoint import OffsetCheckpointFile
from kafkalike.log.cleaner_config import CleanerConfig
from kafkalike.log.log import Log
from kafkalike.log.log_checkpoints import LogCheckpoints
from kafkalike.log.log_cleaner import LogCleaner
from kafkalike.log.log_deleter import LogDeleter
from kafkalike.log.log_dir import LogDir
from kafkalike.log.log_dir_loader import LogDirLoader, LogLoading
from kafkalike.log.log_dirs import LogDirs
from kafkalike.log.log_environment import FlushJob, LogEnvironment
from kafkalike.log.log_file_names import (
    DELETE_DIR_SUFFIX,
    log_delete_dir_name,
    log_dir_name,
    log_future_dir_name,
)
from kafkalike.log.log_loader import load_log
from kafkalike.log.log_maintenance import LogMaintenance
from kafkalike.log.log_pool import LogPool
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaStorageError
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.gather import gather
from kafkalike.utils.periodic import PeriodicTasks
from kafkalike.utils.time import Time

logger = Logger()

_FIRST_VERSION_WITH_TOPIC_IDS = api_version("2.8-IV0")


class LogManager:
    """Owns the logs from `startup` to `shutdown`.

    When a disk fails, `on_log_dir_failure(path)` is called soon after, on the reactor: whoever owns
    the partitions then takes them offline and calls `handle_log_dir_failure`, and ends the broker
    if no directory is left (`live_log_dirs`). Without an owner the manager does it itself.
    """

    def __init__(
        self,
        config: BrokerConfig,
        time: Time,
        run_blocking: RunBlocking,
        *,
        on_log_dir_failure: Callable[[Path], None] | None = None,
    ) -> None:
        self.default_config = TopicConfig.merge(config, {})
        self._config = config
        self._time = time
        self._on_log_dir_failure = on_log_dir_failure or self.handle_log_dir_failure
        self._logs = LogPool()
        self._is_stopping = False
        self._preferred_log_dirs: dict[TopicPartition, Path] = {}
        self._dirs = LogDirs(
            [Path(path).absolute() for path in config.log_directories], self._log_dir_failed
        )
        self._background = Background()
        self._tasks = PeriodicTasks(time, self._background)
        self._deleter = LogDeleter(time, run_blocking, self._background, self._dirs.report_failure)
        self._keeps_partition_metadata = (
            config.inter_broker_api_version >= _FIRST_VERSION_WITH_TOPIC_IDS
        )
        self._environment = LogEnvironment(
            delete_later=self._deleter.delete_later,
            flush_later=self._flush_later,
            on_storage_failure=self._dirs.report_failure,
            max_producer_id_expiration_ms=config.transactional_id_expiration_ms,
        )
        self._loader = LogDirLoader(run_blocking, config.num_recovery_threads_per_data_dir)
        self._checkpoints = LogCheckpoints(
            run_blocking, self.logs_in_dir, self._dirs.report_failure
        )
        cleaner_config = CleanerConfig.of(config)
        self.cleaner = LogCleaner(
            cleaner_config, self._logs, time, run_blocking, self._dirs.report_failure
        )
        self._maintenance = LogMaintenance(
            time,
            run_blocking,
            self._checkpoints,
            all_logs=lambda: self.all_logs,
            log_dirs=lambda: self._dirs.online,
            is_for_retention=self.cleaner.manager.is_for_retention,
        )

    # --- start and stop

    async def startup(
        self,
        topic_configs: Mapping[str, TopicConfig],
        initial_offline_dirs: Collection[Path] = (),
    ) -> None:
        """Lock the directories, load all logs, and begin with what recurs.

        Raises `LogDirLockedError` if another broker uses a directory, `OSError` if none can be
        used, and `ValueError` if there is a directory that is no log, or the same log twice.
        """
        self._dirs.open(initial_offline_dirs)
        try:
            await gather(self._load_dir(log_dir, topic_configs) for log_dir in self._dirs.online)
        except BaseException:
            self._logs.clear()
            self._dirs.close()
            raise
        self._maintenance.start(self._tasks, self._config)
        await self.cleaner.startup(self._dirs.online)

    def reconfigure(self, config: BrokerConfig) -> None:
        """Take over what has changed in the broker's configuration."""
        self.cleaner.reconfigure(CleanerConfig.of(config))

    async def _load_dir(self, log_dir: LogDir, topic_configs: Mapping[str, TopicConfig]) -> None:
        loading = LogLoading(
            self.default_config,
            topic_configs,
            self._environment,
            self._keeps_partition_metadata,
            self._time.now_ms(),
        )
        try:
            logs = await self._loader.load(log_dir, loading)
        except OSError as error:
            message = f"Error while loading log dir {log_dir.path}"
            self._dirs.report_failure(log_dir.path, message, error)
            return
        for log in logs:
            if log.directory.name.endswith(DELETE_DIR_SUFFIX):
                self._deleter.delete_log_later(log, self.default_config.file_delete_delay_ms)
            else:
                self._logs.add(log)

    async def shutdown(self) -> None:
        """Bring everything to the disk, and leave the marks of a clean shutdown."""
        self._is_stopping = True
        self._tasks.stop()
        await self.cleaner.shutdown()
        self._background.stop()
        self._deleter.stop()
        try:
            await gather(self._close_dir(self._dirs[path]) for path in self.live_log_dirs)
        finally:
            self._logs.clear()
            self._dirs.close()

    async def _close_dir(self, log_dir: LogDir) -> None:
        logs = self.logs_in_dir(log_dir.path)
        try:
            await self._loader.close(log_dir, logs, self._time.now_ms())
        except (OSError, KafkaStorageError) as error:
            logger.error(
                "{path} was not shut down cleanly: {error}", path=log_dir.path, error=error
            )

    # --- directories

    @property
    def live_log_dirs(self) -> list[Path]:
        """The directories in use."""
        return [
            log_dir.path for log_dir in self._dirs.online if self.is_log_dir_online(log_dir.path)
        ]

    @property
    def offline_log_dirs(self) -> list[Path]:
        """The directories that failed."""
        return self._dirs.offline_paths

    def is_log_dir_online(self, path: Path) -> bool:
        """Whether a directory is in use; raises `LogDirNotFoundError` if it is not configured."""
        return self._dirs.is_online(path)

    def high_watermark_checkpoint(self, path: Path) -> OffsetCheckpointFile:
        """Return the file of the replica manager's high watermarks in a directory in use."""
        return self._dirs[path].high_watermarks

    def _log_dir_failed(self, path: Path) -> None:
        # When logs are closed, in threads, there is nobody left to be told.
        if self._is_stopping:
            return
        # Not at once: whoever saw the failure is in the middle of something.
        self._time.call_later_ms(0, self._on_log_dir_failure, path)

    def handle_log_dir_failure(self, path: Path) -> None:
        """Take a directory offline with all its logs, and no others."""
        self._dirs.take_offline(path)
        self.cleaner.manager.handle_log_dir_failure(path)
        gone = self._logs.remove_dir(path)
        for log in gone:
            log.close_handlers()
        logger.warn(
            "Stopped serving logs in dir {path}; offline are {gone}",
            path=path,
            gone=", ".join(str(log.tp) for log in gone) or "no partitions",
        )

    # --- logs

    @property
    def all_logs(self) -> list[Log]:
        """All logs, current and future."""
        return self._logs.all

    def get_log(self, tp: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Return the log of a partition, or the one that is to replace it."""
        return self._logs.get(tp, is_future=is_future)

    def logs_by_topic(self, topic: str) -> list[Log]:
        """Return all logs of a topic."""
        return [log for log in self.all_logs if log.tp.topic == topic]

    def logs_in_dir(self, path: Path) -> list[Log]:
        """Return all logs of a directory."""
        return self._logs.in_dir(path)

    def maybe_update_preferred_log_dir(self, tp: TopicPartition, path: Path) -> None:
        """Remember where a log is to be created, unless it or its future one is there already."""
        logs = (self.get_log(tp), self.get_log(tp, is_future=True))
        if not any(log is not None and log.parent_dir == path for log in logs):
            self._preferred_log_dirs[tp] = path

    def get_or_create_log(
        self,
        tp: TopicPartition,
        config: TopicConfig,
        *,
        topic_id: bytes | None,
        is_new: bool,
        is_future: bool = False,
        preferred_dir: Path | None = None,
    ) -> Log:
        """Return a log; if there is none, create it where it is preferred or the fewest logs are.

        A log that is not new may lie in an offline directory: `KafkaStorageError` then.
        """
        log = self.get_log(tp, is_future=is_future)
        if log is None:
            if not is_new and self.offline_log_dirs:
                offline = ", ".join(map(str, self.offline_log_dirs))
                raise KafkaStorageError(
                    f"Can not create log for {tp} because log directories {offline} are offline"
                )
            preferred = preferred_dir or self._preferred_log_dirs.get(tp)
            log = self._create_log(tp, config, preferred, is_future=is_future)
            self._preferred_log_dirs.pop(tp, None)
            self._logs.add(log)
        if topic_id is not None and self._keeps_partition_metadata:
            log.assign_topic_id(topic_id)
        return log

    def _create_log(
        self, tp: TopicPartition, config: TopicConfig, preferred: Path | None, *, is_future: bool
    ) -> Log:
        if is_future:
            current = self._logs.get(tp)
            if preferred is None or current is None or current.parent_dir == preferred:
                raise ValueError(
                    f"The future log for {tp} needs a preferred log directory that is not the "
                    f"current one, not {preferred}"
                )
        paths = [preferred] if preferred else self._next_log_dirs()
        name = log_future_dir_name(tp) if is_future else log_dir_name(tp)
        for path in filter(self.is_log_dir_online, paths):
            try:
                log = load_log(path / name, config, self._environment, now_ms=self._time.now_ms())
            except OSError as error:
                message = f"Error while creating log for {tp} in dir {path}"
                self._dirs.report_failure(path, message, error)
                continue
            logger.info("Created log for partition {tp} in {path}", tp=tp, path=log.directory)
            return log
        tried = ", ".join(map(str, paths))
        raise KafkaStorageError(f"No log directories available for {tp}. Tried {tried}")

    def _next_log_dirs(self) -> list[Path]:
        return sorted(self.live_log_dirs, key=self._logs.count_in_dir)

    def update_topic_config(self, topic: str, config: TopicConfig) -> None:
        """Give all logs of a topic another configuration."""
        for log in self.logs_by_topic(topic):
            log.update_config(config)

    # --- delete and replace

    def async_delete(self, tp: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Rename a log so that it is gone, and delete it after `file.delete.delay.ms`."""
        log = self._logs.remove(tp, is_future=is_future)
        if log is None:
            if self.offline_log_dirs:
                offline = ", ".join(map(str, self.offline_log_dirs))
                raise KafkaStorageError(
                    f"Failed to delete log for {tp} because it may be in one of the offline "
                    f"directories {offline}"
                )
            return None
        if not is_future:
            self.cleaner.manager.forget(log)
        self._retire(log)
        return log

    def _retire(self, log: Log) -> None:
        log.rename_dir(log_delete_dir_name(log.tp))
        logger.info(
            "Log for partition {tp} is renamed to {directory} and is scheduled for deletion",
            tp=log.tp,
            directory=log.directory,
        )
        self._deleter.delete_log_later(log, self.default_config.file_delete_delay_ms)
        self._checkpoint_soon({log.parent_dir})

    def replace_current_with_future_log(self, tp: TopicPartition) -> Log:
        """Put the log that has moved to another directory in the place of the old one."""
        source, future = self._logs.get(tp), self._logs.get(tp, is_future=True)
        if source is None or future is None:
            which = "current" if source is None else "future"
            raise KafkaStorageError(f"The {which} replica for {tp} is offline")
        future.rename_dir(log_dir_name(tp))
        future.update_high_watermark(source.high_watermark)
        self._logs.remove(tp)
        self._logs.remove(tp, is_future=True)
        self._logs.add(future)
        self.cleaner.manager.alter_checkpoint_dir(source, future)
        try:
            self._retire(source)
        except KafkaStorageError:
            source.close_handlers()
            raise
        self._checkpoint_soon({future.parent_dir})
        logger.info("{tp} has moved to {path}", tp=tp, path=future.parent_dir)
        return future

    # --- truncate, flush, checkpoint

    def truncate_to(
        self, offsets: Mapping[TopicPartition, int], *, is_future: bool = False
    ) -> None:
        """Truncate logs, and write down their recovery points, which may have gone back."""
        changed = set()
        for tp, offset in offsets.items():
            log = self.get_log(tp, is_future=is_future)
            if log is None:
                continue
            with self.cleaner.manager.truncation(log, offset):
                if log.truncate_to(offset, self._time.now_ms()):
                    changed.add(log.parent_dir)
        self._checkpoint_soon(changed)

    def truncate_fully_and_start_at(
        self, tp: TopicPartition, offset: int, *, is_future: bool = False
    ) -> None:
        """Empty a log, and write down its recovery point."""
        log = self.get_log(tp, is_future=is_future)
        if log is not None:
            with self.cleaner.manager.truncation(log):
                log.truncate_fully_and_start_at(offset, self._time.now_ms())
            self._checkpoint_soon({log.parent_dir})

    async def flush(self, log: Log) -> None:
        """Bring a log to the disk; raises `KafkaStorageError` if that fails."""
        await self._maintenance.flush(log)

    def _flush_later(self, job: FlushJob) -> None:
        self._background.start(self._flush_quietly(job), "flush")

    async def _flush_quietly(self, job: FlushJob) -> None:
        # The failure has been reported, and there is nobody to tell.
        with suppress(KafkaStorageError):
            await self._maintenance.run_flush(job)

    def _checkpoint_soon(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if self.is_log_dir_online(path):
                self._background.start(self._checkpoint(self._dirs[path]), "checkpoint")

    async def _checkpoint(self, log_dir: LogDir) -> None:
        await self._checkpoints.write_recovery_points(log_dir)
        await self._checkpoints.write_log_start_offsets(log_dir)
