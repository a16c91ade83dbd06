"""Loads the groups of a partition of `__consumer_offsets` when this broker becomes its leader.

One partition after the other; how one is read is in `partition_reading`.
"""

from collections import deque
from collections.abc import Callable

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.group.group_loading import GroupLoading
from kafkalike.coordinator.group.group_metadata import GroupMetadata
from kafkalike.coordinator.group.group_store import Replicas
from kafkalike.coordinator.partition_reading import read_partition
from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

log = Logger()


class Load:
    """A partition that is being loaded; who gives it up sets `is_abandoned`."""

    __slots__ = ("is_abandoned", "partition")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.is_abandoned = False


class GroupLoader:
    """Carries out loads in order; `on_loaded(load, groups)` takes the result."""

    def __init__(
        self,
        config: BrokerConfig,
        replicas: Replicas,
        time: Time,
        run_blocking: RunBlocking,
        background: Background,
        on_loaded: Callable[[Load, list[GroupMetadata]], None],
    ) -> None:
        self._config = config
        self._replicas = replicas
        self._time = time
        self._run_blocking = run_blocking
        self._background = background
        self._on_loaded = on_loaded
        self._waiting: deque[Load] = deque()
        self._is_busy = False

    def start(self, partition: int) -> Load:
        """Load a partition as soon as those before it are loaded."""
        load = Load(partition)
        self._waiting.append(load)
        if not self._is_busy:
            self._is_busy = True
            self._background.start(self._work(), "loading groups")
        return load

    async def _work(self) -> None:
        try:
            while self._waiting:
                load = self._waiting.popleft()
                if not load.is_abandoned:
                    groups = await self._load_or_nothing(load)
                    if not load.is_abandoned:
                        self._on_loaded(load, groups)
        finally:
            self._is_busy = False

    async def _load_or_nothing(self, load: Load) -> list[GroupMetadata]:
        tp = TopicPartition(GROUP_METADATA_TOPIC, load.partition)
        started_ms = self._time.now_ms()
        loading = GroupLoading(started_ms)
        try:
            await self._read(load, tp, loading)
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001 (as in Kafka: the groups of others must still be loaded)
            log.failure("loading groups from {tp} failed", tp=tp)
            return []
        groups = list(loading.groups())
        # Most partitions are empty, and nobody wants to know.
        tell = log.info if loading.record_count else log.debug
        tell(
            "{tp}: loaded {groups} groups from {records} records in {ms} ms",
            tp=tp,
            groups=len(groups),
            records=loading.record_count,
            ms=self._time.now_ms() - started_ms,
        )
        return groups

    async def _read(self, load: Load, tp: TopicPartition, loading: GroupLoading) -> None:
        if self._replicas.get_log(tp) is None:
            log.warn("{tp}: there is no log to load groups from", tp=tp)
        await read_partition(
            lambda: self._replicas.get_log(tp),
            loading.add_batch,
            lambda: not load.is_abandoned,
            buffer_bytes=self._config.offsets_load_buffer_size,
            time=self._time,
            run_blocking=self._run_blocking,
        )
