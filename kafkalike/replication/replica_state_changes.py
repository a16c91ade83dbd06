"""What the controller tells this broker about its replicas: LeaderAndIsr and StopReplica.

Part of Kafka's ReplicaManager. Requests of one controller come one at a time; between them stands
only the controller epoch, and the leader epoch of each partition decides whether news is news.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from twisted.logger import Logger

from kafkalike.cluster.partition import Partition, PartitionState
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.leader_and_isr import NO_LEADER
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.errors import ErrorCode, KafkaError, KafkaStorageError
from kafkalike.replication.fetch_state import initial_state
from kafkalike.replication.fetcher_manager import FetcherManager
from kafkalike.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafkalike.replication.isr_manager import IsrManager
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.utils.time import Time

log = Logger(namespace="state.change")

NO_EPOCH = -1
EPOCH_DURING_DELETE = -2
_LOGS_PER_TURN = 32
"""After so many new logs other requests get a turn: each costs about a millisecond of files."""

Errors = dict[TopicPartition, ErrorCode]


class StopReplica(NamedTuple):
    """One partition of a StopReplica request."""

    leader_epoch: int
    is_deleted: bool


class LeadershipChange(Protocol):
    """Hears that this broker leads a partition, or does not (any more)."""

    def __call__(self, tp: TopicPartition, epoch: int | None, *, is_leader: bool) -> None:
        """Act on it; there is no epoch if the partition is gone."""


def _nobody_listens(tp: TopicPartition, epoch: int | None, *, is_leader: bool) -> None:
    """Do nothing."""


class ReplicaStateChanges:
    """Carries out the controller's decisions on the partitions of the replica manager."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        high_watermarks: HighWatermarkCheckpoints,
        fetch_topic_config: Callable[[str], Awaitable[TopicConfig]],
        fetchers: FetcherManager,
        isr_manager: IsrManager,
        time: Time,
        max_lag_ms: int,
        on_leadership_change: LeadershipChange = _nobody_listens,
    ) -> None:
        self._replicas = replica_manager
        self._log_manager = log_manager
        self._high_watermarks = high_watermarks
        self._fetch_topic_config = fetch_topic_config
        self._fetchers = fetchers
        self._isr_manager = isr_manager
        self._time = time
        self._max_lag_ms = max_lag_ms
        self._on_leadership_change = on_leadership_change
        self.controller_epoch = 0

    def accept_controller_epoch(self, controller_id: int, epoch: int) -> bool:
        """Whether a controller is the newest one known; its epoch is from now on the least."""
        if epoch < self.controller_epoch:
            log.warn(
                "ignoring controller {controller}: its epoch {epoch} is older than {current}",
                controller=controller_id,
                epoch=epoch,
                current=self.controller_epoch,
            )
            return False
        self.controller_epoch = epoch
        return True

    # --- LeaderAndIsr

    async def become_leader_or_follower(
        self,
        states: Iterable[tuple[TopicPartition, PartitionState]],
        topic_ids: Mapping[str, bytes],
    ) -> Errors:
        """Lead or follow each partition; the answer has an error code for each."""
        errors: Errors = {}
        configs: dict[str, TopicConfig] = {}
        created = 0
        for tp, state in states:
            topic_id = topic_ids.get(tp.topic, ZERO_UUID)
            code = self._refusal(tp, state, topic_id)
            if code is not ErrorCode.NONE:
                errors[tp] = code
                continue
            if tp not in self._replicas.partitions:
                if tp.topic not in configs:
                    configs[tp.topic] = await self._fetch_topic_config(tp.topic)
                created += 1
                if created % _LOGS_PER_TURN == 0:
                    await self._time.sleep_ms(0)
            errors[tp] = self._change(tp, state, topic_id, configs.get(tp.topic))
        self._follow([tp for tp, code in errors.items() if code is ErrorCode.NONE])
        return errors

    def _follow(self, changed: Iterable[TopicPartition]) -> None:
        """Fetch from their leaders the partitions that others lead."""
        to_fetch = {}
        for tp in changed:
            partition = self._replicas.partitions.get(tp)
            if partition is None or partition.log is None:
                continue
            if not partition.is_leader and partition.leader != NO_LEADER:
                state = initial_state(partition.log, partition.leader_epoch)
                to_fetch[tp] = (partition.leader, state)
        self._fetchers.add(to_fetch)

    def follow_no_more(self) -> None:
        """Do not follow those to whom leaderships are handed over: the broker is about to stop.

        A new leader would take a follower that has caught up for one that stays.
        """
        self._fetchers.take_no_more()

    def _refusal(self, tp: TopicPartition, state: PartitionState, topic_id: bytes) -> ErrorCode:
        if tp in self._replicas.offline_partitions:
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self._replicas.partitions.get(tp)
        if partition is not None:
            if not _is_same_topic(partition, topic_id):
                return ErrorCode.INCONSISTENT_TOPIC_ID
            if state.leader_epoch <= partition.leader_epoch:
                log.info(
                    "ignoring LeaderAndIsr for {tp}: leader epoch {epoch} is not newer than {ours}",
                    tp=tp,
                    epoch=state.leader_epoch,
                    ours=partition.leader_epoch,
                )
                return ErrorCode.STALE_CONTROLLER_EPOCH
        if self._replicas.broker_id not in state.replicas:
            log.warn("ignoring LeaderAndIsr for {tp}: not assigned to this broker", tp=tp)
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    def _change(
        self, tp: TopicPartition, state: PartitionState, topic_id: bytes, config: TopicConfig | None
    ) -> ErrorCode:
        try:
            partition = self._replicas.partitions.get(tp)
            if partition is None:
                assert config is not None, "fetched for every new partition"
                partition = self._create(tp, state, topic_id, config)
            self._fetchers.remove([tp])
            self._isr_manager.clear(tp)
            if partition.is_leader and state.leader != self._replicas.broker_id:
                self._replicas.leadership_lost(tp)
            if state.leader == self._replicas.broker_id:
                partition.make_leader(state, self._time.now_ms())
                self._replicas.append_flush.isr_changed(partition)
            else:
                partition.make_follower(state)
        except KafkaStorageError as error:
            log.error("{tp}: {error}", tp=tp, error=error)
            self.take_offline(tp)
            return error.code
        except KafkaError as error:
            log.error("{tp}: {error}", tp=tp, error=error)
            return error.code
        log.info(
            "{tp} is led by {leader} at epoch {epoch}",
            tp=tp,
            leader=state.leader,
            epoch=state.leader_epoch,
        )
        self._replicas.complete_delayed(tp)
        is_leader = state.leader == self._replicas.broker_id
        self._on_leadership_change(tp, state.leader_epoch, is_leader=is_leader)
        return ErrorCode.NONE

    def _create(
        self, tp: TopicPartition, state: PartitionState, topic_id: bytes, config: TopicConfig
    ) -> Partition:
        known_id = topic_id if topic_id != ZERO_UUID else None
        partition = Partition(tp, self._replicas.broker_id, known_id, self._max_lag_ms)
        local_log = self._log_manager.get_or_create_log(
            tp, config, topic_id=known_id, is_new=state.is_new
        )
        local_log.update_high_watermark(self._high_watermarks.read(local_log.parent_dir, tp))
        partition.log = local_log
        self._replicas.partitions[tp] = partition
        return partition

    def take_offline(self, tp: TopicPartition) -> None:
        """Take a partition out of service because its log directory failed."""
        self._fetchers.remove([tp])
        self._isr_manager.clear(tp)
        self._replicas.mark_offline(tp)
        self._on_leadership_change(tp, None, is_leader=False)

    # --- StopReplica

    def stop_replicas(self, stops: Iterable[tuple[TopicPartition, StopReplica]]) -> Errors:
        """Stop replicas and delete those that are to go; the answer has an error code for each."""
        errors: Errors = {}
        for tp, stop in stops:
            errors[tp] = self._stop(tp, stop)
        return errors

    def _stop(self, tp: TopicPartition, stop: StopReplica) -> ErrorCode:
        if tp in self._replicas.offline_partitions:
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self._replicas.partitions.get(tp)
        if (
            partition is not None
            # A deletion has no epoch of its own, and older controllers send none.
            and stop.leader_epoch not in (NO_EPOCH, EPOCH_DURING_DELETE)
            and stop.leader_epoch <= partition.leader_epoch
        ):
            return ErrorCode.FENCED_LEADER_EPOCH
        self._fetchers.remove([tp])
        self._isr_manager.clear(tp)
        try:
            if stop.is_deleted:
                self._delete(tp)
        except KafkaError as error:
            log.error("deleting {tp}: {error}", tp=tp, error=error)
            return error.code
        self._replicas.complete_delayed(tp)
        if stop.is_deleted:
            # A replica that was reassigned hears of its end here only.
            epoch = stop.leader_epoch if stop.leader_epoch >= 0 else None
            self._on_leadership_change(tp, epoch, is_leader=False)
        return ErrorCode.NONE

    def _delete(self, tp: TopicPartition) -> None:
        """Forget a replica and its log, also one that only the disk still knows."""
        partition = self._replicas.remove(tp)
        if partition is not None:
            partition.log = None
        for is_future in (False, True):
            if self._log_manager.get_log(tp, is_future=is_future) is not None:
                self._log_manager.async_delete(tp, is_future=is_future)

    async def checkpoint_high_watermarks(self) -> None:
        """Write down all high watermarks, for a restart."""
        await self._high_watermarks.write(self._logs())

    def _logs(self) -> list[Log]:
        found = (partition.log for partition in self._replicas.partitions.values())
        return [local_log for local_log in found if local_log is not None]


def _is_same_topic(partition: Partition, topic_id: bytes) -> bool:
    """Whether an id is the partition's; one that has none yet takes it on."""
    if topic_id == ZERO_UUID:
        return True
    if partition.topic_id is None:
        partition.topic_id = topic_id
    return partition.topic_id == topic_id
