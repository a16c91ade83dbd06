"""Replicas move between the log directories of this broker (Kafka's ReplicaAlterLogDirsThread).

A future log in the new directory catches up with the current one by copying its batches; once both
end at the same offset it takes its place. One partition moves at a time, in small steps, so that
requests are answered in between.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.cluster.partition import Partition
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.log.file_records import FileSlice
from kafkalike.log.log import Log
from kafkalike.log.log_file_names import log_future_dir_name
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    LogDirNotFoundError,
)
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

log = Logger()

_MAX_STEP_BYTES: Final = 1 << 20
_MAX_DIR_NAME: Final = 255


class LogDirMover:
    """Begins, carries on and gives up moves. Which logs are on the move the log manager knows.

    `max_bytes_per_second` is `replica.alter.log.dirs.io.max.bytes.per.second` at the moment.
    """

    def __init__(
        self,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        run_blocking: RunBlocking,
        time: Time,
        max_bytes_per_second: Callable[[], float],
    ) -> None:
        self._replicas = replica_manager
        self._logs = log_manager
        self._run_blocking = run_blocking
        self._time = time
        self._max_bytes_per_second = max_bytes_per_second
        self._background = Background()
        self._waiting: dict[TopicPartition, None] = {}
        self._is_busy = False

    def alter_replica_log_dir(self, tp: TopicPartition, directory: str) -> None:
        """Begin to move a replica, or raise a `KafkaError`.

        A replica that is not here yet will be created in that directory, but is an error as well.
        """
        if len(log_future_dir_name(tp)) > _MAX_DIR_NAME:
            raise InvalidTopicError("The topic name is too long.")
        path = Path(directory)
        if str(path) != directory:
            raise LogDirNotFoundError(f"Log dir {directory} is not found in the config.")
        if not self._logs.is_log_dir_online(path):
            raise KafkaStorageError(f"Log directory {directory} is offline")
        if tp in self._replicas.offline_partitions:
            raise KafkaStorageError(f"Partition {tp} is offline")
        future = self._future(tp)
        if future is not None and future.parent_dir != path:
            self._logs.async_delete(tp, is_future=True)
        self._logs.maybe_update_preferred_log_dir(tp, path)
        self._begin(self._replicas.partition_or_error(tp), path)

    def resume(self) -> None:
        """Go on with the moves that a restart interrupted, as soon as their replicas are back."""
        for moving in self._logs.all_logs:
            if moving.is_future and moving.tp in self._replicas.partitions:
                self._enqueue(moving.tp)

    def shutdown(self) -> None:
        """Stop; the next start goes on where this one stopped."""
        self._background.stop()

    def _future(self, tp: TopicPartition) -> Log | None:
        return self._logs.get_log(tp, is_future=True)

    def _begin(self, partition: Partition, path: Path) -> None:
        tp, current = partition.tp, partition.local_log
        if current.parent_dir == path:
            return
        if self._future(tp) is None:
            log.info("moving {tp} to {path}", tp=tp, path=path)
            self._logs.get_or_create_log(
                tp,
                current.config,
                topic_id=partition.topic_id,
                is_new=False,
                is_future=True,
                preferred_dir=path,
            )
        self._enqueue(tp)

    def _enqueue(self, tp: TopicPartition) -> None:
        self._waiting[tp] = None
        if not self._is_busy:
            self._is_busy = True
            self._background.start(self._move_all(), "moving replicas between log directories")

    async def _move_all(self) -> None:
        try:
            while self._waiting:
                tp = next(iter(self._waiting))
                del self._waiting[tp]
                await self._move(tp)
        finally:
            self._is_busy = False

    async def _move(self, tp: TopicPartition) -> None:
        try:
            while not await self._step(tp):
                pass
        except CancelledError:
            raise
        except (KafkaError, OSError) as error:
            log.error("{tp} is not moved: {error}", tp=tp, error=error)
        except Exception:  # noqa: BLE001 (the other partitions must still be moved)
            log.failure("{tp} is not moved", tp=tp)

    async def _step(self, tp: TopicPartition) -> bool:
        """Copy some batches; True if there is no more to do."""
        partition, future = self._replicas.partitions.get(tp), self._future(tp)
        if partition is None or partition.log is None or future is None:
            return True
        current = partition.log
        self._align(current, future)
        start = future.log_end_offset
        records = await self._read(current, start, future.config.segment_bytes)
        is_other = self._future(tp) is not future or partition.log is not current
        if records is None or is_other or future.log_end_offset != start:
            return False  # Something else happened meanwhile: look again.
        if records:
            future.append_as_follower(memoryview(records), self._time.now_ms())
        future.update_high_watermark(min(current.high_watermark, future.log_end_offset))
        if current.log_start_offset <= future.high_watermark:
            future.maybe_increment_log_start_offset(current.log_start_offset)
        if future.log_end_offset == current.log_end_offset:
            partition.log = self._logs.replace_current_with_future_log(tp)
            return True
        await self._pause(len(records))
        return False

    async def _read(self, current: Log, offset: int, segment_bytes: int) -> bytes | None:
        """Read some batches, None if the log was truncated meanwhile."""
        # No more than fits into one segment: that is what a log takes in one append.
        found = current.read(
            offset,
            min(_MAX_STEP_BYTES, segment_bytes),
            FetchIsolation.LOG_END,
            min_one_message=True,
        )
        if not isinstance(found.records, FileSlice):
            return found.records
        epoch, end = current.latest_epoch, current.log_end_offset

        def is_truncated() -> bool:
            # A replica truncates only to follow a new leader, whose batches have a new epoch.
            return current.latest_epoch != epoch or current.log_end_offset < end

        try:
            records = await self._run_blocking(found.records.read)
        except OSError:
            if is_truncated():
                return None
            raise
        return None if is_truncated() else records

    def _align(self, current: Log, future: Log) -> None:
        """Let the future log be a prefix of the current one, which may have been truncated."""
        now_ms = self._time.now_ms()
        if future.log_end_offset < current.log_start_offset:
            future.truncate_fully_and_start_at(current.log_start_offset, now_ms)
        common = _common_end(current, future)
        if common < future.log_end_offset:
            future.truncate_to(common, now_ms)

    async def _pause(self, copied_bytes: int) -> None:
        """Give others a turn, a longer one if there is a limit."""
        await self._time.sleep_ms(copied_bytes * 1000 / max(self._max_bytes_per_second(), 1))


def _common_end(current: Log, future: Log) -> int:
    """Return the offset up to which both logs have the same batches, by their leader epochs."""
    end = min(current.log_end_offset, future.log_end_offset)
    epoch = future.latest_epoch
    if epoch is None:
        return end
    ours = current.end_offset_for_epoch(epoch)
    if ours is None:
        return min(end, current.log_start_offset)
    end = min(end, ours.offset)
    if ours.leader_epoch < epoch:
        theirs = future.end_offset_for_epoch(ours.leader_epoch)
        end = min(end, theirs.offset if theirs is not None else end)
    return end
