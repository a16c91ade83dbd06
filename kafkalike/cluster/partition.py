"""One partition on this broker: its role, its ISR, its high watermark (Kafka's Partition).

Decisions only. What a change must wake, or ask of the controller, is returned to the caller.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from twisted.logger import Logger

from kafkalike.cluster.isr_state import IsrState
from kafkalike.cluster.partition_log import NO_EPOCH as NO_EPOCH
from kafkalike.cluster.partition_log import PartitionLog
from kafkalike.cluster.partition_log import ReadResult as ReadResult
from kafkalike.cluster.replica import Replica
from kafkalike.cluster.replica_selector import ReplicaView
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.log import Log
from kafkalike.log.log_append_info import LogAppendInfo
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
)

log = Logger()

ACKS_ALL = -1
DEFAULT_MAX_LAG_MS = 30_000
REFUSED_FOR_MS = 1000
"""So long after a refusal the controller is not asked again to let a replica into the ISR."""


class PartitionState(NamedTuple):
    """What the controller says about a partition (LeaderAndIsr)."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    is_new: bool = False


class AppendResult(NamedTuple):
    """What an append did."""

    info: LogAppendInfo
    high_watermark_moved: bool


class Partition(PartitionLog):
    """A replica held by this broker; owned by the replica manager."""

    def __init__(
        self,
        tp: TopicPartition,
        local_broker_id: int,
        topic_id: bytes | None,
        max_lag_ms: int = DEFAULT_MAX_LAG_MS,
    ) -> None:
        super().__init__(tp, local_broker_id)
        self.topic_id = topic_id
        self.zk_version = -1
        self.assignment: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.isr_state = IsrState(())
        self._max_lag_ms = max_lag_ms
        self._remote: dict[int, Replica] = {}

    @property
    def isr(self) -> tuple[int, ...]:
        """The committed in-sync replicas."""
        return self.isr_state.isr

    @property
    def is_last_standing(self) -> bool:
        """Whether replicas have fallen out of the ISR and no more may."""
        in_sync = len(self.isr_state.isr)
        return in_sync < len(self.assignment) and (
            in_sync <= self.local_log.config.min_insync_replicas
        )

    # --- leader or follower

    def make_leader(self, state: PartitionState, now_ms: int) -> bool:
        """Become (or stay) leader in a newer epoch; True if the high watermark moved."""
        local_log = self.local_log
        start_offset = local_log.log_end_offset
        was_leader = self.is_leader
        self._take_over(state)
        self.leader_epoch_start_offset = start_offset
        # A leader writes its epoch down before it appends, so that followers can truncate by it.
        local_log.maybe_assign_epoch_start_offset(state.leader_epoch, start_offset)
        for replica in self._remote.values():
            caught_up_ms = now_ms if replica.broker_id in state.isr else 0
            replica.reset(caught_up_ms, start_offset, keeps_position=was_leader)
        return self._maybe_increment_high_watermark(local_log, now_ms)

    def make_follower(self, state: PartitionState) -> None:
        """Become (or stay) follower in a newer epoch."""
        self._take_over(state)
        self.leader_epoch_start_offset = -1

    def _take_over(self, state: PartitionState) -> None:
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.zk_version = state.zk_version
        self.isr_state = IsrState(state.isr)
        self.assignment = state.replicas
        self.adding_replicas = state.adding_replicas
        others = [b for b in state.replicas if b != self._local_broker_id]
        self._remote = {b: self._remote.get(b) or Replica(b) for b in others}

    # --- leader: append, and who has it

    def append_as_leader(
        self, records: memoryview, required_acks: int, now_ms: int, origin: AppendOrigin
    ) -> AppendResult:
        """Append a producer's batches."""
        if not self.is_leader:
            raise NotLeaderOrFollowerError(f"{self.tp}: led by {self.leader}")
        local_log = self.local_log
        if required_acks == ACKS_ALL and len(self.isr) < local_log.config.min_insync_replicas:
            raise NotEnoughReplicasError(
                f"The size of the current ISR {list(self.isr)} is insufficient to satisfy the "
                f"min.isr requirement of {local_log.config.min_insync_replicas} for partition "
                f"{self.tp}"
            )
        info = local_log.append_as_leader(
            records, leader_epoch=self.leader_epoch, now_ms=now_ms, origin=origin
        )
        return AppendResult(info, self._maybe_increment_high_watermark(local_log, now_ms))

    def update_follower_fetch_state(
        self, follower_id: int, fetch_offset: int, log_start_offset: int, now_ms: int
    ) -> bool:
        """Take note of what a follower has; True if the high watermark moved."""
        replica = self._remote.get(follower_id)
        if replica is None or self.log is None or not self.is_leader:
            return False
        replica.update_fetch_state(fetch_offset, log_start_offset, self.log.log_end_offset, now_ms)
        return self._maybe_increment_high_watermark(self.log, now_ms)

    def has_reached(self, required_offset: int) -> bool:
        """Whether all of the ISR has everything below an offset, for acks=all.

        Raises NotEnoughReplicasAfterAppend where they do, but have become too few.
        """
        if not self.is_leader:
            raise NotLeaderOrFollowerError(f"{self.tp}: led by {self.leader}")
        local_log = self.local_log
        if local_log.high_watermark < required_offset:
            return False
        in_sync = len(self.isr_state.maximal_isr)
        if in_sync < local_log.config.min_insync_replicas:
            raise NotEnoughReplicasAfterAppendError(
                f"{self.tp}: the records are written, but only {in_sync} replicas are in sync"
            )
        return True

    def _maybe_increment_high_watermark(self, local_log: Log, now_ms: int) -> bool:
        """The high watermark is the smallest log end offset of all that may be in sync.

        A replica that is caught up but not in the ISR yet counts too: otherwise the high watermark
        could run ahead of it for ever, and it would never get in.
        """
        new = local_log.log_end_offset
        maximal_isr = self.isr_state.maximal_isr
        for replica in self._remote.values():
            if replica.log_end_offset < new and (
                replica.broker_id in maximal_isr
                or now_ms - replica.last_caught_up_time_ms <= self._max_lag_ms
            ):
                new = replica.log_end_offset
        return local_log.maybe_increment_high_watermark(new)

    # --- leader: the ISR

    def maybe_expand_isr(self, follower_id: int) -> LeaderAndIsr | None:
        """Return the state to ask for if a follower has caught up and may join the ISR."""
        replica = self._remote.get(follower_id)
        state = self.isr_state
        if replica is None or state.is_inflight or follower_id in state.isr or self.log is None:
            return None
        if replica.is_unwanted:
            return None
        # Not before it has what was written in this epoch: it may have to truncate yet.
        wanted = max(self.log.high_watermark, self.leader_epoch_start_offset)
        if not self.is_leader or replica.log_end_offset < wanted:
            return None
        return self._ask_for(state.expand(follower_id))

    def maybe_shrink_isr(self, now_ms: int) -> LeaderAndIsr | None:
        """Return the state to ask for if followers have fallen behind."""
        if not self.is_leader or self.isr_state.is_inflight or self.log is None:
            return None
        end_offset = self.log.log_end_offset
        lagging = frozenset(
            replica.broker_id
            for replica in self._remote.values()
            if replica.broker_id in self.isr
            and not replica.is_caught_up(end_offset, now_ms, self._max_lag_ms)
        )
        return self._ask_for(self.isr_state.shrink(lagging)) if lagging else None

    def _ask_for(self, state: IsrState) -> LeaderAndIsr:
        assert state.asked_for is not None
        log.info(
            "{tp}: asking for ISR {new} instead of {old}",
            tp=self.tp,
            new=list(state.asked_for),
            old=list(state.isr),
        )
        self.isr_state = state
        return LeaderAndIsr(
            self._local_broker_id, self.leader_epoch, state.asked_for, self.zk_version
        )

    def isr_altered(self, answer: LeaderAndIsr, now_ms: int) -> bool:
        """Take over what the controller has written; True if the high watermark moved."""
        if answer.leader_epoch != self.leader_epoch or answer.zk_version < self.zk_version:
            return False
        log.info("{tp}: the ISR is now {isr}", tp=self.tp, isr=list(answer.isr))
        for broker_id in set(self.isr_state.asked_for or ()) - set(answer.isr):
            if broker_id in self._remote:
                self._remote[broker_id].refuse(now_ms + REFUSED_FOR_MS)
        self.isr_state = IsrState(answer.isr)
        self.zk_version = answer.zk_version
        return self.log is not None and self._maybe_increment_high_watermark(self.log, now_ms)

    # --- consumers

    def replicas_with(
        self, fetch_offset: int, now_ms: int, rack: Callable[[int], str | None]
    ) -> tuple[ReplicaView, list[ReplicaView]]:
        """Return this leader, and all replicas that have an offset, for a consumer to choose."""
        leader = ReplicaView(
            self._local_broker_id, rack(self._local_broker_id), self.local_log.log_end_offset, 0
        )
        followers = [
            ReplicaView(
                replica.broker_id,
                rack(replica.broker_id),
                replica.log_end_offset,
                now_ms - replica.last_caught_up_time_ms,
            )
            for replica in self._remote.values()
            if replica.log_start_offset <= fetch_offset <= replica.log_end_offset
        ]
        return leader, [leader, *followers]

    # --- delete records

    def delete_records_on_leader(self, offset: int) -> int:
        """Raise the log start offset (-1: to the high watermark); return what it was raised to."""
        if not self.is_leader:
            raise NotLeaderOrFollowerError(f"{self.tp}: led by {self.leader}")
        local_log = self.local_log
        if "delete" not in local_log.config.cleanup_policy:
            raise PolicyViolationError(
                f"Records of partition {self.tp} can not be deleted due to the configured policy"
            )
        wanted = local_log.high_watermark if offset == -1 else offset
        if not 0 <= wanted <= local_log.high_watermark:
            raise OffsetOutOfRangeError(
                f"{self.tp}: offset {wanted} is not between 0 and the high watermark "
                f"{local_log.high_watermark}"
            )
        local_log.maybe_increment_log_start_offset(wanted)
        return wanted

    def low_watermark(self, live_brokers: Sequence[int]) -> int:
        """The log start offset that all live replicas have reached."""
        if not self.is_leader:
            raise NotLeaderOrFollowerError(f"{self.tp}: led by {self.leader}")
        starts = [self.local_log.log_start_offset]
        starts += [r.log_start_offset for r in self._remote.values() if r.broker_id in live_brokers]
        return min(starts)
