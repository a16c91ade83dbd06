"""Partitions move to other replicas (KIP-455): the new ones catch up, then the old ones go.

Part of Kafka's `KafkaController`. RS is the assignment, ORS what it was, TRS the target, AR and RR
what is added and removed. The steps (U, A, B) are Kafka's own numbering:

U  the assignment is written to ZooKeeper first, so that a new controller can go on from there
A  while TRS is not in the ISR: a new leader epoch goes to all, AR become new replicas
B  once TRS is in the ISR: the leader moves into TRS, RR are stopped and deleted, RS becomes TRS
"""

from collections.abc import Callable, Collection, Mapping

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.controller.election import ElectionStrategy
from kafkalike.controller.events import ZkPartitionReassignment
from kafkalike.controller.leader_epoch import update_leader_epoch
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.reassignment_plan import check_keeps_in_sync_replica, plan
from kafkalike.controller.states import (
    PartitionAndReplica,
    PartitionState,
    ReplicaState,
    StateChangeFailedError,
)
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ControllerMovedError,
    InvalidReplicaAssignmentError,
    KafkaError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafkalike.zk.errors import ZkError

log = Logger()

Targets = Mapping[TopicPartition, tuple[int, ...] | None]


class PartitionReassignments:
    """Reacts to AlterPartitionReassignments, `/admin/reassign_partitions`, ISRs and brokers."""

    def __init__(self, parts: ControllerParts) -> None:
        self._parts = parts
        self._context = parts.context
        self._zk = parts.zk
        self._watches = parts.watches

    async def load(self) -> None:
        """Go on with what a former controller began, for one that has just been elected."""
        resumed = await self.process_zk_reassignment()
        await self.maybe_resume(lambda tp, _: tp not in resumed)

    async def process_zk_reassignment(self) -> set[TopicPartition]:
        """Begin what is asked for in ZooKeeper; give the partitions for which that went well."""
        if not await self._watches.watch_partition_reassignment():
            return set()
        wanted = await self._zk.get_partition_reassignment()
        outcome = await self._trigger(
            {tp: self._context.assignment(tp).reassign_to(to) for tp, to in wanted.items()}
        )
        failed = {tp: error for tp, error in outcome.items() if error is not None}
        if failed:
            log.warn("reassignments asked for in ZooKeeper failed: {failed}", failed=failed)
            await self._remove_from_zk(lambda tp, _: tp in failed)
        return set(outcome) - set(failed)

    async def process_api_reassignment(
        self, reassignments: Targets
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin, redirect or cancel (None) moves; for each what was wrong, or None."""
        outcome: dict[TopicPartition, KafkaError | None] = {}
        accepted: dict[TopicPartition, ReplicaAssignment] = {}
        for tp, target in reassignments.items():
            try:
                accepted[tp] = plan(self._context, tp, target)
            except KafkaError as error:
                outcome[tp] = error
        # The last word counts, whichever way it came.
        await self._remove_from_zk(lambda tp, _: tp in accepted)
        return {**outcome, **await self._trigger(accepted)}

    def list(
        self, partitions: tuple[TopicPartition, ...] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Give the moves that are going on, all or those of these partitions."""
        asked = self._context.partitions_being_reassigned if partitions is None else partitions
        assignments = {tp: self._context.assignment(tp) for tp in asked}
        return {tp: a for tp, a in assignments.items() if a.is_being_reassigned}

    async def abandon(self, topics: Collection[str]) -> None:
        """Move partitions of topics that are to be deleted no further."""
        partitions = [tp for tp in self._context.partitions_being_reassigned if tp.topic in topics]
        for tp in partitions:
            if not self._parts.is_alter_isr_enabled:
                self._watches.unwatch_isr(tp)
            del self._context.partitions_being_reassigned[tp]
        if partitions:
            await self._remove_from_zk(lambda tp, _: tp.topic in topics)

    async def maybe_resume(
        self, is_to_resume: Callable[[TopicPartition, ReplicaAssignment], bool]
    ) -> None:
        """Go on with moves that may have become possible."""
        for tp in list(self._context.partitions_being_reassigned):
            assignment = self._context.assignment(tp)
            if is_to_resume(tp, assignment):
                await self._try(tp, assignment)

    async def maybe_complete(self, tp: TopicPartition) -> None:
        """Finish a move if all new replicas have caught up."""
        if tp not in self._context.partitions_being_reassigned:
            return
        assignment = self._context.assignment(tp)
        if await self._is_complete(tp, assignment):
            log.info("{tp}: {targets} have caught up", tp=tp, targets=assignment.target_replicas)
            await self._try(tp, assignment)

    async def _trigger(
        self, reassignments: Mapping[TopicPartition, ReplicaAssignment]
    ) -> dict[TopicPartition, KafkaError | None]:
        outcome: dict[TopicPartition, KafkaError | None] = {}
        for tp, new in reassignments.items():
            if self._parts.topic_deletion.is_queued(tp.topic) or not self._context.replicas(tp):
                outcome[tp] = UnknownTopicOrPartitionError("The partition does not exist.")
                continue
            try:
                check_keeps_in_sync_replica(self._context, tp, new)
            except InvalidReplicaAssignmentError as error:
                outcome[tp] = error
                continue
            outcome[tp] = await self._try(tp, new)
        return outcome

    async def _try(self, tp: TopicPartition, new: ReplicaAssignment) -> KafkaError | None:
        try:
            await self._on_reassignment(tp, new)
        except (ControllerMovedError, CancelledError):
            raise
        except (StateChangeFailedError, ZkError) as error:
            log.error("reassigning {tp}: {error}", tp=tp, error=error)
            return UnknownServerError(str(error))
        except Exception:  # noqa: BLE001 (one partition's trouble is not the others')
            log.failure("reassigning {tp} failed", tp=tp)
            return UnknownServerError()
        return None

    async def _on_reassignment(self, tp: TopicPartition, new: ReplicaAssignment) -> None:
        await self._update_current(tp, new)
        if tp not in self._context.leadership:
            # It never had a leader: perhaps a new replica can be the first.
            await self._start_new_replicas(tp, new)
            await self._parts.partition_state_machine.handle_state_changes(
                [tp], PartitionState.ONLINE, ElectionStrategy.OFFLINE
            )
            if tp not in self._context.leadership:
                return
        if await self._is_complete(tp, new):
            await self._complete(tp, new)
        else:
            await self._send_new_epoch(tp, new)  # A1
            await self._start_new_replicas(tp, new)  # A2

    async def _start_new_replicas(self, tp: TopicPartition, new: ReplicaAssignment) -> None:
        adding = [PartitionAndReplica(tp, replica) for replica in new.adding_replicas]
        await self._parts.replica_state_machine.handle_state_changes(
            [
                replica
                for replica in adding
                if self._context.replica_state(replica) is ReplicaState.NON_EXISTENT
            ],
            ReplicaState.NEW,
        )

    async def _complete(self, tp: TopicPartition, new: ReplicaAssignment) -> None:
        adding = [PartitionAndReplica(tp, replica) for replica in new.adding_replicas]
        machine = self._parts.replica_state_machine
        await machine.handle_state_changes(adding, ReplicaState.ONLINE)  # B1
        completed = ReplicaAssignment(new.target_replicas)
        self._context.update_assignment(tp, completed)  # B2
        await self._move_leader_if_required(tp, completed)  # B3
        await self._stop_removed(tp, new.removing_replicas)  # B4, B5
        await self._write_assignment(tp, completed)  # B6
        if not self._parts.is_alter_isr_enabled:
            self._watches.unwatch_isr(tp)
        await self._remove_from_zk(lambda t, replicas: (t, replicas) == (tp, completed.replicas))
        self._context.partitions_being_reassigned.pop(tp, None)  # B7
        self._parts.send_update_metadata_to_all([tp])  # B8

    async def _update_current(self, tp: TopicPartition, new: ReplicaAssignment) -> None:
        """Write the assignment (U1, U2), and stop replicas that a former move was adding (U3)."""
        current = self._context.assignment(tp)
        if current != new:
            await self._write_assignment(tp, new)
            self._context.update_assignment(tp, new)
            unneeded = tuple(r for r in current.replicas if r not in new.replicas)
            await self._stop_removed(tp, unneeded)
        if not self._parts.is_alter_isr_enabled:
            self._watches.watch_isr(tp)
        self._context.partitions_being_reassigned[tp] = None

    async def _is_complete(self, tp: TopicPartition, assignment: ReplicaAssignment) -> bool:
        if not assignment.is_being_reassigned:
            return True
        state = await self._zk.get_topic_partition_state(tp)
        return state is not None and set(assignment.target_replicas) <= set(
            state.leader_and_isr.isr
        )

    async def _send_new_epoch(self, tp: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Raise the leader epoch and tell all replicas of the assignment.

        Added replicas are told as new ones: they may be created in any good log directory.
        """
        state = await update_leader_epoch(self._zk, self._context, tp)
        batch = self._parts.batch
        batch.new_batch()
        for replicas, is_new in (
            (assignment.origin_replicas, False),
            (assignment.adding_replicas, True),
        ):
            batch.add_leader_and_isr_request_for_brokers(
                replicas, tp, state, assignment, is_new=is_new
            )
        batch.send_requests_to_brokers(self._context.epoch)

    async def _move_leader_if_required(
        self, tp: TopicPartition, assignment: ReplicaAssignment
    ) -> None:
        leader = self._context.leader(tp)
        if (
            leader is not None
            and leader in assignment.replicas
            and self._context.is_replica_online(leader, tp)
        ):
            await self._send_new_epoch(tp, assignment)
        else:
            await self._parts.partition_state_machine.handle_state_changes(
                [tp], PartitionState.ONLINE, ElectionStrategy.REASSIGN
            )

    async def _stop_removed(self, tp: TopicPartition, removed: tuple[int, ...]) -> None:
        replicas = [PartitionAndReplica(tp, replica) for replica in removed]
        for state in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            await self._parts.replica_state_machine.handle_state_changes(replicas, state)

    async def _write_assignment(self, tp: TopicPartition, new: ReplicaAssignment) -> None:
        topic = tp.topic
        await self._zk.set_topic_assignment(
            topic,
            self._context.topic_ids.get(topic),
            {**self._context.assignment_of_topic(topic), tp: new},
            self._context.epoch_zk_version,
        )

    async def _remove_from_zk(
        self, is_to_remove: Callable[[TopicPartition, tuple[int, ...]], bool]
    ) -> None:
        """Take partitions out of the wish in ZooKeeper, and the wish away with the last."""
        if not await self._zk.reassign_partitions_in_progress():
            return
        wanted = await self._zk.get_partition_reassignment()
        left = {tp: target for tp, target in wanted.items() if not is_to_remove(tp, target)}
        if left:
            await self._zk.set_or_create_partition_reassignment(
                left, self._context.epoch_zk_version
            )
            return
        await self._zk.delete_partition_reassignment(self._context.epoch_zk_version)
        # Its handler is told of creations only: look once more to set the watch again.
        self._parts.put_event(ZkPartitionReassignment())
