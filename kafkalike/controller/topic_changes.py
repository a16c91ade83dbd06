"""Topics come, grow and go: what the controller does when their znodes change.

Part of Kafka's `KafkaController`.
"""

from collections.abc import Callable, Iterable, Mapping

from twisted.logger import Logger

from kafkalike.controller.election import ElectionStrategy
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.reassignment import PartitionReassignments
from kafkalike.controller.states import PartitionState, ReplicaState
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.znodes import TopicIdReplicaAssignment, TopicPartitionsZNode

log = Logger()


class TopicChanges:
    """Reacts to TopicChange, PartitionModifications and TopicDeletion."""

    def __init__(
        self,
        parts: ControllerParts,
        reassignments: PartitionReassignments,
        new_topic_id: Callable[[], bytes],
    ) -> None:
        self._parts = parts
        self._context = parts.context
        self._zk = parts.zk
        self._watches = parts.watches
        self._reassignments = reassignments
        self._new_topic_id = new_topic_id

    async def load(self) -> None:
        """Read all topics, for a controller that has just been elected."""
        topics = sorted(await self._zk.get_all_topics_in_cluster(register_watch=True))
        self._context.set_all_topics(topics)
        await self._read_topics(topics)
        for tp in self._context.all_partitions:
            if self._context.assignment(tp).is_being_reassigned:
                self._context.partitions_being_reassigned[tp] = None

    async def process_topic_change(self) -> None:
        """Bring the partitions of new topics online, and forget topics that are gone."""
        topics = await self._zk.get_all_topics_in_cluster(register_watch=True)
        new = sorted(topic for topic in topics if topic not in self._context.all_topics)
        gone = [topic for topic in self._context.all_topics if topic not in topics]
        self._context.set_all_topics(sorted(topics))
        self._watches.unwatch_topics(gone)
        for topic in gone:
            self._context.remove_topic(topic)
        assignment = await self._read_topics(new)
        log.info("new topics: {new}, topics that are gone: {gone}", new=new, gone=gone)
        await self._on_new_partition_creation(assignment)

    async def process_partition_modifications(self, topic: str) -> None:
        """Bring the new partitions of a topic online."""
        found = await self._zk.get_full_replica_assignment_for_topics([topic])
        added = {tp: a for tp, a in found.items() if not self._context.replicas(tp)}
        if not added:
            return
        if self._parts.topic_deletion.is_queued(topic):
            log.warn("{topic} gets no more partitions: it is being deleted", topic=topic)
            await self._restore_assignment(topic)
            return
        for tp, assignment in added.items():
            self._context.update_assignment(tp, assignment)
        await self._on_new_partition_creation(added)

    async def process_topic_deletion(self) -> None:
        """Begin to delete the topics that somebody wants deleted."""
        deletion = self._parts.topic_deletion
        wanted = sorted(await self._zk.get_topic_deletions())
        unknown = [topic for topic in wanted if topic not in self._context.all_topics]
        known = [topic for topic in wanted if topic in self._context.all_topics]
        if unknown:
            log.warn("{topics} cannot be deleted: there are no such topics", topics=unknown)
            await self._zk.delete_topic_deletions(unknown, self._context.epoch_zk_version)
        if not deletion.is_delete_topic_enabled:
            await deletion.refuse(known)
        elif known:
            await self._reassignments.abandon(known)
            await deletion.enqueue_topics_for_deletion(known)

    async def _read_topics(self, topics: Iterable[str]) -> dict[TopicPartition, ReplicaAssignment]:
        """Read ids and assignments, with a watch on each."""
        names = list(topics)
        self._watches.watch_topics(names)
        found = await self._zk.get_replica_assignment_and_topic_ids_for_topics(names)
        await self._process_topic_ids(found)
        assignment = {tp: a for topic in found for tp, a in topic.assignment.items()}
        for tp, replicas in assignment.items():
            self._context.update_assignment(tp, replicas)
        return assignment

    async def _process_topic_ids(self, found: Iterable[TopicIdReplicaAssignment]) -> None:
        """Note the topics' ids; those made before protocol 2.8 are given one."""
        topics = list(found)
        if self._parts.uses_topic_id:
            without = [t for t in topics if t.topic_id is None and t.assignment]
            topics += await self._zk.set_topic_ids(
                without, self._new_topic_id, self._context.epoch_zk_version
            )
        for topic in topics:
            if topic.topic_id is not None:
                self._context.add_topic_id(topic.topic, topic.topic_id)

    async def _on_new_partition_creation(
        self, partitions: Mapping[TopicPartition, ReplicaAssignment]
    ) -> None:
        machines = self._parts
        replicas = self._context.replicas_of(partitions)
        await machines.partition_state_machine.handle_state_changes(partitions, PartitionState.NEW)
        await machines.replica_state_machine.handle_state_changes(replicas, ReplicaState.NEW)
        await machines.partition_state_machine.handle_state_changes(
            partitions, PartitionState.ONLINE, ElectionStrategy.OFFLINE
        )
        await machines.replica_state_machine.handle_state_changes(replicas, ReplicaState.ONLINE)

    async def _restore_assignment(self, topic: str) -> None:
        """Write the assignment back as it was, without partitions that shall not be."""
        existing = set(await self._zk.get_children(TopicPartitionsZNode.path(topic)))
        assignment = {
            tp: replicas
            for tp, replicas in self._context.assignment_of_topic(topic).items()
            if str(tp.partition) in existing
        }
        await self._zk.set_topic_assignment(
            topic,
            self._context.topic_ids.get(topic),
            assignment,
            self._context.epoch_zk_version,
        )
