"""Deletes topics, replica by replica, and waits for brokers that are away (TopicDeletionManager).

A topic is *queued* once somebody asked for its deletion. It is *ineligible* while a replica is away
or could not be deleted; when that changes, `resume_deletion_for_topics` goes on. Only when every
replica said that its data is gone are the topic's znodes deleted. A reassignment of the topic is
abandoned: all replicas, old and new, are deleted.
"""

from collections.abc import Collection, Iterable

from twisted.logger import Logger

from kafkalike.controller.context import ControllerContext
from kafkalike.controller.partition_state_machine import PartitionStateMachine
from kafkalike.controller.replica_state_machine import ReplicaStateMachine
from kafkalike.controller.request_batch import ControllerBrokerRequestBatch
from kafkalike.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkalike.controller.watches import ControllerWatches
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

log = Logger()


class TopicDeletionManager:
    """Owned by the controller; its state is in the context."""

    def __init__(
        self,
        context: ControllerContext,
        zk: KafkaZkClient,
        watches: ControllerWatches,
        replica_state_machine: ReplicaStateMachine,
        partition_state_machine: PartitionStateMachine,
        batch: ControllerBrokerRequestBatch,
        *,
        is_enabled: bool,
    ) -> None:
        self._context = context
        self._zk = zk
        self._watches = watches
        self._replicas = replica_state_machine
        self._partitions = partition_state_machine
        self._batch = batch
        self.is_delete_topic_enabled = is_enabled

    async def init(self, topics: Collection[str], ineligible: Collection[str]) -> None:
        """Take over the deletions that a new controller finds."""
        if self.is_delete_topic_enabled:
            self._context.topics_to_be_deleted.update(dict.fromkeys(topics))
            self._context.topics_ineligible_for_deletion.update(set(ineligible) & set(topics))
        else:
            await self.refuse(topics)

    async def refuse(self, topics: Iterable[str]) -> None:
        """Take wishes back: `delete.topic.enable` is false."""
        refused = list(topics)
        if refused:
            log.info("{topics} are not deleted: delete.topic.enable is false", topics=refused)
            await self._zk.delete_topic_deletions(refused, self._context.epoch_zk_version)

    async def try_topic_deletion(self) -> None:
        """Go on with what can go on."""
        if self.is_delete_topic_enabled:
            await self._resume_deletions()

    async def enqueue_topics_for_deletion(self, topics: Iterable[str]) -> None:
        """Begin to delete topics."""
        if self.is_delete_topic_enabled:
            self._context.topics_to_be_deleted.update(dict.fromkeys(topics))
            await self._resume_deletions()

    async def resume_deletion_for_topics(self, topics: Iterable[str]) -> None:
        """Try again with topics whose obstacle may be gone."""
        resumed = [topic for topic in topics if self.is_queued(topic)]
        if resumed:
            self._context.topics_ineligible_for_deletion.difference_update(resumed)
            await self._resume_deletions()

    async def fail_replica_deletion(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """Halt the deletion of topics of which a replica could not be deleted."""
        failed = [replica for replica in replicas if self.is_queued(replica.topic)]
        if failed:
            await self._make_ineligible(failed)
            self.mark_ineligible({replica.topic for replica in failed}, "replica deletion failure")
            await self._resume_deletions()

    async def complete_replica_deletion(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """Note that replicas are deleted; the last one completes its topic's deletion."""
        deleted = [replica for replica in replicas if self.is_queued(replica.topic)]
        await self._replicas.handle_state_changes(deleted, ReplicaState.DELETION_SUCCESSFUL)
        await self._resume_deletions()

    async def _make_ineligible(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """Note that replicas cannot be deleted now; those that were not stopped yet stay online."""
        states = ReplicaState.DELETION_INELIGIBLE.predecessors
        stopped = [r for r in replicas if self._context.replica_state(r) in states]
        await self._replicas.handle_state_changes(stopped, ReplicaState.DELETION_INELIGIBLE)

    def mark_ineligible(self, topics: Iterable[str], reason: str) -> None:
        """Halt the deletion of those of the topics that are queued."""
        halted = sorted(topic for topic in topics if self.is_queued(topic))
        if halted:
            self._context.topics_ineligible_for_deletion.update(halted)
            log.info("deletion of {topics} halted: {reason}", topics=halted, reason=reason)

    def is_queued(self, topic: str) -> bool:
        """Whether a topic is to be deleted."""
        return self.is_delete_topic_enabled and self._context.is_topic_queued_for_deletion(topic)

    async def _resume_deletions(self) -> None:
        context = self._context
        to_retry, to_delete = [], []
        for topic in list(context.topics_to_be_deleted):
            is_started = bool(context.replicas_in(topic, ReplicaState.DELETION_STARTED))
            if context.are_all_replicas_in(topic, ReplicaState.DELETION_SUCCESSFUL):
                await self._complete_delete_topic(topic)
                continue
            if is_started:
                continue
            if context.replicas_in(topic, ReplicaState.DELETION_INELIGIBLE):
                to_retry.append(topic)
            if topic not in context.topics_ineligible_for_deletion:
                to_delete.append(topic)
        await self._retry_ineligible_replicas(to_retry)
        if to_delete:
            await self._delete_topics(to_delete)

    async def _retry_ineligible_replicas(self, topics: Iterable[str]) -> None:
        failed = [
            replica
            for topic in topics
            for replica in self._context.replicas_in(topic, ReplicaState.DELETION_INELIGIBLE)
        ]
        await self._replicas.handle_state_changes(failed, ReplicaState.OFFLINE)

    async def _complete_delete_topic(self, topic: str) -> None:
        # Before the znode goes: it may come back (auto creation) and must then be seen as new.
        self._watches.unwatch_topics([topic])
        deleted = self._context.replicas_in(topic, ReplicaState.DELETION_SUCCESSFUL)
        await self._replicas.handle_state_changes(deleted, ReplicaState.NON_EXISTENT)
        epoch_zk_version = self._context.epoch_zk_version
        await self._zk.delete_topic_znode(topic, epoch_zk_version)
        await self._zk.delete_topic_configs([topic], epoch_zk_version)
        await self._zk.delete_topic_deletions([topic], epoch_zk_version)
        self._context.remove_topic(topic)
        log.info("topic {topic} is deleted", topic=topic)

    async def _delete_topics(self, topics: list[str]) -> None:
        """Take partitions away, tell all brokers that they are going, and delete live replicas."""
        context = self._context
        unseen = [t for t in topics if t not in context.topics_with_deletion_started]
        partitions = [tp for topic in unseen for tp in context.partitions_of_topic(topic)]
        await self._partitions.handle_state_changes(partitions, PartitionState.OFFLINE)
        await self._partitions.handle_state_changes(partitions, PartitionState.NON_EXISTENT)
        context.topics_with_deletion_started.update(unseen)
        self._batch.send_update_metadata(
            context.live_or_shutting_down_broker_ids,
            [tp for topic in topics for tp in context.partitions_of_topic(topic)],
        )
        await self._delete_replicas(topics)

    async def _delete_replicas(self, topics: list[str]) -> None:
        """Stop and delete live replicas; those that are away make their topic ineligible."""
        context = self._context
        dead, live = [], []
        for replica in [r for topic in topics for r in context.replicas_of_topic(topic)]:
            if context.replica_state(replica) is ReplicaState.DELETION_SUCCESSFUL:
                continue
            if context.is_replica_online(replica.replica, replica.tp):
                live.append(replica)
            else:
                dead.append(replica)
        await self._make_ineligible(dead)
        await self._replicas.handle_state_changes(live, ReplicaState.OFFLINE)
        await self._replicas.handle_state_changes(live, ReplicaState.DELETION_STARTED)
        self.mark_ineligible({replica.topic for replica in dead}, "offline replicas")
