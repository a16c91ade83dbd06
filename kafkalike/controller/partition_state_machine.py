"""Moves partitions from state to state: writes leader and ISR to ZooKeeper and tells the brokers.

Kafka's `PartitionStateMachine`. Who shall lead is decided in `election.py`; a write is conditional
on the partition's znode version and on the controller epoch, so a stale decision is never written.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from twisted.logger import Logger

from kafkalike.controller.context import ControllerContext
from kafkalike.controller.election import (
    ElectionResult,
    ElectionStrategy,
    initial_leader_and_isr,
    leader_for_controlled_shutdown,
    leader_for_offline,
    leader_for_preferred_replica,
    leader_for_reassign,
)
from kafkalike.controller.request_batch import ControllerBrokerRequestBatch
from kafkalike.controller.states import PartitionState, StateChangeFailedError
from kafkalike.controller.unclean_election import UncleanElectionPolicy
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.errors import NodeExistsError, ZkError

log = Logger(namespace="state.change")

# The new state, or why there is none.
Elections: TypeAlias = dict[TopicPartition, LeaderAndIsr | Exception]

_ELECTIONS = {
    ElectionStrategy.REASSIGN: leader_for_reassign,
    ElectionStrategy.PREFERRED: leader_for_preferred_replica,
    ElectionStrategy.CONTROLLED_SHUTDOWN: leader_for_controlled_shutdown,
}


class PartitionStateMachine:
    """One change at a time; owned by the controller."""

    def __init__(
        self,
        context: ControllerContext,
        zk: KafkaZkClient,
        batch: ControllerBrokerRequestBatch,
        unclean_elections: UncleanElectionPolicy,
    ) -> None:
        self._context = context
        self._zk = zk
        self._batch = batch
        self._unclean_elections = unclean_elections

    async def startup(self) -> None:
        """Find out where all partitions are, and try to bring online those that are not."""
        context = self._context
        for tp in context.all_partitions:
            context.initialize_partition_state(tp, self._initial_state(tp))
        await self.trigger_online_partition_state_change()

    def _initial_state(self, tp: TopicPartition) -> PartitionState:
        leader = self._context.leader(tp)
        if leader is None:
            return PartitionState.NEW
        is_online = self._context.is_replica_online(leader, tp)
        return PartitionState.ONLINE if is_online else PartitionState.OFFLINE

    async def trigger_online_partition_state_change(self, topic: str | None = None) -> None:
        """Try to elect leaders for all new and offline partitions (of one topic)."""
        partitions = [
            tp
            for tp in self._context.partitions_in(PartitionState.OFFLINE, PartitionState.NEW)
            if not self._context.is_topic_queued_for_deletion(tp.topic)
            and topic in (None, tp.topic)
        ]
        await self.handle_state_changes(partitions, PartitionState.ONLINE, ElectionStrategy.OFFLINE)

    async def handle_state_changes(
        self,
        partitions: Iterable[TopicPartition],
        target: PartitionState,
        strategy: ElectionStrategy | None = None,
    ) -> Elections:
        """Move partitions to a state; for ONLINE, the outcome of the elections that were held.

        Partitions that cannot move are logged and stay. ControllerMovedError is raised.
        """
        moving = list(partitions)
        if not moving:
            return {}
        self._batch.new_batch()
        try:
            outcome = await self._do_handle_state_changes(moving, target, strategy)
        except ZkError as error:
            log.error("moving partitions to {target}: {error}", target=target, error=error)
            outcome = dict.fromkeys(moving, error)
        except BaseException:
            self._batch.clear()
            raise
        # What was gathered is written in ZooKeeper, so brokers must hear of it in any case.
        self._batch.send_requests_to_brokers(self._context.epoch)
        return outcome

    async def _do_handle_state_changes(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionState,
        strategy: ElectionStrategy | None,
    ) -> Elections:
        valid = []
        for tp in partitions:
            if self._context.partition_state(tp) in target.predecessors:
                valid.append(tp)
            else:
                self._log_invalid(tp, target)
        if target is PartitionState.ONLINE:
            return await self._bring_online(valid, strategy)
        for tp in valid:
            self._context.move_partition(tp, target)
        return {}

    async def _bring_online(
        self, partitions: Sequence[TopicPartition], strategy: ElectionStrategy | None
    ) -> Elections:
        new: list[TopicPartition] = []
        others: list[TopicPartition] = []
        for tp in partitions:
            is_new = self._context.partition_state(tp) is PartitionState.NEW
            (new if is_new else others).append(tp)
        if new:
            others += await self._initialize_leader_and_isr(new)
            strategy = strategy or ElectionStrategy.OFFLINE
        if not others:
            return {}
        if strategy is None:
            raise ValueError("an election strategy is needed to bring partitions online")
        elections = await self._elect_leaders(others, strategy)
        for tp, outcome in elections.items():
            if isinstance(outcome, LeaderAndIsr):
                log.info("{tp} is online: {state}", tp=tp, state=outcome)
                self._context.move_partition(tp, PartitionState.ONLINE)
        return elections

    async def _initialize_leader_and_isr(
        self, partitions: Sequence[TopicPartition]
    ) -> list[TopicPartition]:
        """Write the first state of new partitions: live replicas are in sync, the first leads.

        Return partitions that turned out to have a state already; they are offline now.
        """
        context = self._context
        states = {}
        for tp in partitions:
            initial = initial_leader_and_isr(context.live_replicas(tp))
            if initial is None:
                why = f"none of the replicas {context.replicas(tp)} is alive"
                self._log_failed(tp, PartitionState.ONLINE, why)
            else:
                states[tp] = LeaderIsrAndControllerEpoch(initial, context.epoch)
        created = await self._zk.create_topic_partition_states_raw(states, context.epoch_zk_version)
        existing = await self._zk.get_topic_partition_states(
            tp for tp, error in created.items() if isinstance(error, NodeExistsError)
        )
        for tp, error in created.items():
            # What exists may be our own: its answer was lost, and it was sent again.
            if error is None or existing.get(tp) == states[tp]:
                self._announce(tp, states[tp], states[tp].leader_and_isr.isr, is_new=True)
                context.move_partition(tp, PartitionState.ONLINE)
            elif tp in existing:
                context.leadership[tp] = existing[tp]
                context.move_partition(tp, PartitionState.OFFLINE)
            else:
                self._log_failed(tp, PartitionState.ONLINE, error)
        return [tp for tp in existing if context.partition_state(tp) is PartitionState.OFFLINE]

    async def _elect_leaders(
        self, partitions: Sequence[TopicPartition], strategy: ElectionStrategy
    ) -> Elections:
        """Hold elections again and again where a leader changed the ISR in between."""
        finished: Elections = {}
        remaining = partitions
        while remaining:
            outcomes, remaining = await self._do_elect_leaders(remaining, strategy)
            for tp, outcome in outcomes.items():
                if isinstance(outcome, Exception):
                    self._log_failed(tp, PartitionState.ONLINE, outcome)
            finished.update(outcomes)
        return finished

    async def _do_elect_leaders(
        self, partitions: Sequence[TopicPartition], strategy: ElectionStrategy
    ) -> tuple[Elections, Sequence[TopicPartition]]:
        context = self._context
        try:
            states = await self._zk.get_topic_partition_states(partitions)
        except ZkError as error:
            return dict.fromkeys(partitions, error), ()
        failed, current = self._check_states(partitions, states)
        elected = {}
        for result in await self._hold_elections(current, strategy):
            if result.leader_and_isr is None:
                failed[result.tp] = StateChangeFailedError(
                    f"Failed to elect leader for partition {result.tp} under strategy {strategy}"
                )
            else:
                elected[result.tp] = result
        adjusted = {tp: result.leader_and_isr for tp, result in elected.items()}
        written = await self._zk.update_leader_and_isr(
            {tp: new for tp, new in adjusted.items() if new is not None},
            context.epoch,
            context.epoch_zk_version,
        )
        for tp, outcome in written.finished.items():
            if isinstance(outcome, LeaderAndIsr):
                context.unclean_leader_elections += elected[tp].is_unclean
                state = LeaderIsrAndControllerEpoch(outcome, context.epoch)
                self._announce(tp, state, elected[tp].recipients, is_new=False)
        return {**written.finished, **failed}, written.to_retry

    def _check_states(
        self,
        partitions: Iterable[TopicPartition],
        states: Mapping[TopicPartition, LeaderIsrAndControllerEpoch],
    ) -> tuple[Elections, dict[TopicPartition, LeaderAndIsr]]:
        """Tell apart those that have no state, or one of a later controller."""
        failed: Elections = {}
        current = {}
        for tp in partitions:
            state = states.get(tp)
            if state is None:
                failed[tp] = StateChangeFailedError(
                    f"LeaderAndIsr information doesn't exist for partition {tp} in "
                    f"{self._context.partition_state(tp)} state"
                )
            elif state.controller_epoch > self._context.epoch:
                failed[tp] = StateChangeFailedError(
                    f"the state of {tp} was written by the controller of epoch "
                    f"{state.controller_epoch}, ours is {self._context.epoch}"
                )
            else:
                current[tp] = state.leader_and_isr
        return failed, current

    async def _hold_elections(
        self, current: Mapping[TopicPartition, LeaderAndIsr], strategy: ElectionStrategy
    ) -> list[ElectionResult]:
        election = _ELECTIONS.get(strategy)
        if election is not None:
            return [election(self._context, tp, state) for tp, state in current.items()]
        without_isr = [tp for tp, state in current.items() if not self._has_live_isr(tp, state)]
        if strategy is ElectionStrategy.OFFLINE_ALLOW_UNCLEAN:
            unclean = frozenset(without_isr)
        else:
            unclean = await self._unclean_elections.allowed_for(without_isr)
        elect = partial(leader_for_offline, self._context)
        return [elect(tp, state, is_unclean_allowed=tp in unclean) for tp, state in current.items()]

    def _has_live_isr(self, tp: TopicPartition, state: LeaderAndIsr) -> bool:
        return any(self._context.is_replica_online(r, tp) for r in state.isr)

    def _announce(
        self,
        tp: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        recipients: Iterable[int],
        *,
        is_new: bool,
    ) -> None:
        self._context.leadership[tp] = state
        self._batch.add_leader_and_isr_request_for_brokers(
            recipients, tp, state, self._context.assignment(tp), is_new=is_new
        )

    def _log_invalid(self, tp: TopicPartition, target: PartitionState) -> None:
        legal = ", ".join(sorted(map(str, target.predecessors)))
        self._log_failed(tp, target, f"only {legal} lead there")

    def _log_failed(
        self, tp: TopicPartition, target: PartitionState, error: Exception | str
    ) -> None:
        log.error(
            "controller epoch {epoch}: {tp} cannot go from {state} to {target}: {error}",
            epoch=self._context.epoch,
            tp=tp,
            state=self._context.partition_state(tp),
            target=target,
            error=error,
        )
