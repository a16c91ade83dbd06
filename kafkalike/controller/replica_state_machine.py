"""Moves replicas from state to state: tells their brokers, and takes those that go out of the ISR.

Kafka's `ReplicaStateMachine`.
"""

from collections.abc import Iterable, Sequence

from twisted.logger import Logger

from kafkalike.controller.context import ControllerContext
from kafkalike.controller.election import without_replica
from kafkalike.controller.request_batch import ControllerBrokerRequestBatch
from kafkalike.controller.states import (
    PartitionAndReplica,
    ReplicaState,
    StateChangeFailedError,
)
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.errors import ZkError

log = Logger(namespace="state.change")


class ReplicaStateMachine:
    """One change at a time; owned by the controller."""

    def __init__(
        self, context: ControllerContext, zk: KafkaZkClient, batch: ControllerBrokerRequestBatch
    ) -> None:
        self._context = context
        self._zk = zk
        self._batch = batch

    async def startup(self) -> None:
        """Find out where all replicas are; tell live brokers of theirs, stop those that are away.

        A replica that is away begins as ineligible for deletion, should its topic be one to delete.
        """
        context = self._context
        online, offline = [], []
        for replica in context.replicas_of(context.all_partitions):
            if context.is_replica_online(replica.replica, replica.tp):
                context.initialize_replica_state(replica, ReplicaState.ONLINE)
                online.append(replica)
            else:
                context.initialize_replica_state(replica, ReplicaState.DELETION_INELIGIBLE)
                offline.append(replica)
        await self.handle_state_changes(online, ReplicaState.ONLINE)
        await self.handle_state_changes(offline, ReplicaState.OFFLINE)

    async def handle_state_changes(
        self, replicas: Iterable[PartitionAndReplica], target: ReplicaState
    ) -> None:
        """Move replicas to a state; those that cannot move are logged and stay.

        ControllerMovedError is raised.
        """
        by_broker: dict[int, list[PartitionAndReplica]] = {}
        for replica in replicas:
            by_broker.setdefault(replica.replica, []).append(replica)
        if not by_broker:
            return
        self._batch.new_batch()
        try:
            for broker_id, moving in sorted(by_broker.items()):
                await self._move_on_broker(broker_id, self._valid(moving, target), target)
        except ZkError as error:
            log.error("moving replicas to {target}: {error}", target=target, error=error)
        except BaseException:
            self._batch.clear()
            raise
        # What was gathered is written in ZooKeeper, so brokers must hear of it in any case.
        self._batch.send_requests_to_brokers(self._context.epoch)

    def _valid(
        self, replicas: Iterable[PartitionAndReplica], target: ReplicaState
    ) -> list[PartitionAndReplica]:
        valid = []
        for replica in replicas:
            if self._context.replica_state(replica) in target.predecessors:
                valid.append(replica)
            else:
                legal = ", ".join(sorted(map(str, target.predecessors)))
                self._log_failed(replica, target, f"only {legal} lead there")
        return valid

    async def _move_on_broker(
        self, broker_id: int, replicas: Sequence[PartitionAndReplica], target: ReplicaState
    ) -> None:
        if target is ReplicaState.OFFLINE:
            await self._take_offline(broker_id, replicas)
            return
        moves = {
            ReplicaState.NEW: self._make_new,
            ReplicaState.ONLINE: self._bring_online,
            ReplicaState.DELETION_STARTED: self._start_deletion,
            ReplicaState.NON_EXISTENT: self._forget,
        }
        move = moves.get(target)
        for replica in replicas:
            if move is not None:
                move(replica)
            else:
                self._context.move_replica(replica, target)

    def _make_new(self, replica: PartitionAndReplica) -> None:
        """Tell the broker to follow the current leader, if there is one."""
        tp, broker_id = replica
        leadership = self._context.leadership.get(tp)
        if leadership is not None:
            if leadership.leader_and_isr.leader == broker_id:
                self._log_failed(replica, ReplicaState.NEW, "it is the leader")
                return
            self._tell([broker_id], tp, leadership, is_new=True)
        self._context.move_replica(replica, ReplicaState.NEW)

    def _bring_online(self, replica: PartitionAndReplica) -> None:
        """Tell the broker again whom to follow; a new replica is told already."""
        tp, broker_id = replica
        leadership = self._context.leadership.get(tp)
        if self._context.replica_state(replica) is ReplicaState.NEW:
            self._make_sure_it_is_assigned(tp, broker_id)
        elif leadership is not None:
            self._tell([broker_id], tp, leadership, is_new=False)
        self._context.move_replica(replica, ReplicaState.ONLINE)

    def _make_sure_it_is_assigned(self, tp: TopicPartition, broker_id: int) -> None:
        assignment = self._context.assignment(tp)
        if broker_id in assignment.replicas:
            return
        log.error("{tp}: replica {replica} was not assigned", tp=tp, replica=broker_id)
        with_it = ReplicaAssignment(
            (*assignment.replicas, broker_id),
            assignment.adding_replicas,
            assignment.removing_replicas,
        )
        self._context.update_assignment(tp, with_it)

    def _start_deletion(self, replica: PartitionAndReplica) -> None:
        self._context.move_replica(replica, ReplicaState.DELETION_STARTED)
        self._batch.add_stop_replica_request_for_brokers(
            [replica.replica], replica.tp, delete_partition=True
        )

    def _forget(self, replica: PartitionAndReplica) -> None:
        tp, broker_id = replica
        old = self._context.assignment(tp)
        new = ReplicaAssignment(
            *(
                tuple(r for r in replicas if r != broker_id)
                for replicas in (old.replicas, old.adding_replicas, old.removing_replicas)
            )
        )
        self._context.update_assignment(tp, new)
        self._context.move_replica(replica, ReplicaState.NON_EXISTENT)

    async def _take_offline(self, broker_id: int, replicas: Sequence[PartitionAndReplica]) -> None:
        """Stop the replicas, take them out of the ISR and tell the other replicas."""
        context = self._context
        for replica in replicas:
            self._batch.add_stop_replica_request_for_brokers(
                [broker_id], replica.tp, delete_partition=False
            )
        led = [replica.tp for replica in replicas if replica.tp in context.leadership]
        removed = await self._remove_replica_from_isrs(broker_id, led)
        for tp, state in removed.items():
            if not context.is_topic_queued_for_deletion(tp.topic):
                others = [r for r in context.replicas(tp) if r != broker_id]
                self._tell(others, tp, state, is_new=False)
            context.move_replica(PartitionAndReplica(tp, broker_id), ReplicaState.OFFLINE)
        for replica in replicas:
            if replica.tp not in context.leadership:
                self._batch.add_update_metadata_request_for_brokers(
                    context.live_or_shutting_down_broker_ids, [replica.tp]
                )
                context.move_replica(replica, ReplicaState.OFFLINE)

    async def _remove_replica_from_isrs(
        self, broker_id: int, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """Take a replica out of ISRs, again where a leader changed the ISR in between."""
        removed = {}
        remaining = partitions
        while remaining:
            outcomes, remaining = await self._do_remove_replica(broker_id, remaining)
            for tp, outcome in outcomes.items():
                if isinstance(outcome, Exception):
                    replica = PartitionAndReplica(tp, broker_id)
                    self._log_failed(replica, ReplicaState.OFFLINE, outcome)
                else:
                    state = LeaderIsrAndControllerEpoch(outcome, self._context.epoch)
                    self._context.leadership[tp] = state
                    removed[tp] = state
        return removed

    async def _do_remove_replica(
        self, broker_id: int, partitions: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, LeaderAndIsr | Exception], Sequence[TopicPartition]]:
        try:
            states = await self._zk.get_topic_partition_states(partitions)
        except ZkError as error:
            return dict.fromkeys(partitions, error), ()
        outcomes: dict[TopicPartition, LeaderAndIsr | Exception] = {}
        adjusted = {}
        for tp in partitions:
            current = self._check_state(tp, states.get(tp))
            if isinstance(current, LeaderAndIsr) and broker_id in current.isr:
                adjusted[tp] = without_replica(current, broker_id)
            elif current is not None:
                outcomes[tp] = current
        written = await self._zk.update_leader_and_isr(
            adjusted, self._context.epoch, self._context.epoch_zk_version
        )
        return {**outcomes, **written.finished}, written.to_retry

    def _check_state(
        self, tp: TopicPartition, state: LeaderIsrAndControllerEpoch | None
    ) -> LeaderAndIsr | StateChangeFailedError | None:
        """Give the state, or why it cannot be changed; None for a topic whose znodes are gone."""
        if state is None:
            if self._context.is_topic_queued_for_deletion(tp.topic):
                return None
            return StateChangeFailedError(f"{tp} has no leader and ISR in ZooKeeper")
        if state.controller_epoch > self._context.epoch:
            return StateChangeFailedError(
                f"the state of {tp} was written by the controller of epoch "
                f"{state.controller_epoch}, ours is {self._context.epoch}"
            )
        return state.leader_and_isr

    def _tell(
        self,
        broker_ids: Iterable[int],
        tp: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        *,
        is_new: bool,
    ) -> None:
        self._batch.add_leader_and_isr_request_for_brokers(
            broker_ids, tp, state, self._context.assignment(tp), is_new=is_new
        )

    def _log_failed(
        self, replica: PartitionAndReplica, target: ReplicaState, error: Exception | str
    ) -> None:
        log.error(
            "controller epoch {epoch}: replica {replica} cannot go from {state} to {target}: "
            "{error}",
            epoch=self._context.epoch,
            replica=replica,
            state=self._context.replica_state(replica),
            target=target,
            error=error,
        )
