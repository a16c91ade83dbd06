"""`/brokers/topics/<topic>`: which topics there are, and which brokers hold their partitions."""

from collections.abc import Callable, Iterable, Mapping

from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import ZkError
from kafkalike.zk.ops import MATCH_ANY_VERSION, SetDataOp
from kafkalike.zk.znodes import (
    TopicIdReplicaAssignment,
    TopicPartitionsZNode,
    TopicsZNode,
    TopicZNode,
)


class TopicsClient(TreeClient):
    """Topics with their ids and assignments."""

    async def get_all_topics_in_cluster(self, *, register_watch: bool = False) -> set[str]:
        """List all topics; a child change handler of `/brokers/topics` hears of the next."""
        return set(await self.get_children(TopicsZNode.PATH, register_watch=register_watch))

    async def topic_exists(self, topic: str) -> bool:
        """Whether there is such a topic."""
        return await self.path_exists(TopicZNode.path(topic))

    async def create_topic_assignment(
        self,
        topic: str,
        topic_id: bytes | None,
        assignment: Mapping[TopicPartition, tuple[int, ...]],
    ) -> None:
        """Create a topic; NodeExistsError if there is one of this name."""
        replicas = {tp: ReplicaAssignment(tuple(ids)) for tp, ids in assignment.items()}
        await self.create_recursive(TopicZNode.path(topic), TopicZNode.encode(topic_id, replicas))

    async def set_topic_assignment(
        self,
        topic: str,
        topic_id: bytes | None,
        assignment: Mapping[TopicPartition, ReplicaAssignment],
        expected_controller_epoch_zk_version: int = MATCH_ANY_VERSION,
    ) -> None:
        """Replace a topic's whole assignment; NoNodeError if there is no such topic."""
        data = TopicZNode.encode(topic_id, assignment)
        await self._write(
            SetDataOp(TopicZNode.path(topic), data), expected_controller_epoch_zk_version
        )

    async def set_topic_ids(
        self,
        assignments: Iterable[TopicIdReplicaAssignment],
        new_topic_id: Callable[[], bytes],
        expected_controller_epoch_zk_version: int,
    ) -> list[TopicIdReplicaAssignment]:
        """Give ids to topics that have none (made before protocol 2.8)."""
        updated = []
        for old in assignments:
            if old.topic_id is not None:
                raise ValueError(f"topic {old.topic} has an id already")
            updated.append(TopicIdReplicaAssignment(old.topic, new_topic_id(), old.assignment))
        ops = [
            SetDataOp(TopicZNode.path(new.topic), TopicZNode.encode(new.topic_id, new.assignment))
            for new in updated
        ]
        for outcome in await self._write_all(ops, expected_controller_epoch_zk_version):
            if isinstance(outcome, ZkError):
                raise outcome
        return updated

    async def get_replica_assignment_and_topic_ids_for_topics(
        self, topics: Iterable[str]
    ) -> list[TopicIdReplicaAssignment]:
        """Read ids and assignments; a topic that is not there has neither."""
        names = list(topics)
        found = await self._get_all(map(TopicZNode.path, names))
        return [
            TopicZNode.decode(topic, result[0])
            if result
            else TopicIdReplicaAssignment(topic, None, {})
            for topic, result in zip(names, found, strict=True)
        ]

    async def get_topic_ids_for_topics(self, topics: Iterable[str]) -> dict[str, bytes]:
        """Read the ids of the topics that have one."""
        found = await self.get_replica_assignment_and_topic_ids_for_topics(topics)
        return {topic.topic: topic.topic_id for topic in found if topic.topic_id is not None}

    async def get_full_replica_assignment_for_topics(
        self, topics: Iterable[str]
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Read the assignments, with the replicas that come and go."""
        found = await self.get_replica_assignment_and_topic_ids_for_topics(topics)
        return {tp: replicas for topic in found for tp, replicas in topic.assignment.items()}

    async def get_replica_assignment_for_topics(
        self, topics: Iterable[str]
    ) -> dict[TopicPartition, tuple[int, ...]]:
        """Read the assignments."""
        full = await self.get_full_replica_assignment_for_topics(topics)
        return {tp: assignment.replicas for tp, assignment in full.items()}

    async def get_partition_assignment_for_topics(
        self, topics: Iterable[str]
    ) -> dict[str, dict[int, ReplicaAssignment]]:
        """Read the assignments of the topics that are there, by topic and partition."""
        found = await self.get_replica_assignment_and_topic_ids_for_topics(topics)
        return {
            topic.topic: {tp.partition: replicas for tp, replicas in topic.assignment.items()}
            for topic in found
            if topic.assignment
        }

    async def get_partitions_for_topics(self, topics: Iterable[str]) -> dict[str, list[int]]:
        """Read the partition numbers of the topics that are there."""
        by_topic = await self.get_partition_assignment_for_topics(topics)
        return {topic: sorted(partitions) for topic, partitions in by_topic.items()}

    async def get_topic_partition_count(self, topic: str) -> int | None:
        """Count a topic's partitions; None if there is no such topic."""
        return len(await self.get_replica_assignment_for_topics([topic])) or None

    async def get_replicas_for_partition(self, tp: TopicPartition) -> tuple[int, ...]:
        """Tell which brokers hold a partition."""
        return (await self.get_replica_assignment_for_topics([tp.topic])).get(tp, ())

    async def get_all_partitions(self) -> set[TopicPartition]:
        """List the partitions that the controller has created."""
        return {
            TopicPartition(topic, int(name))
            for topic in await self.get_all_topics_in_cluster()
            for name in await self.get_children(TopicPartitionsZNode.path(topic))
        }

    async def delete_topic_znode(
        self, topic: str, expected_controller_epoch_zk_version: int
    ) -> None:
        """Delete a topic's znode and those of its partitions."""
        await self.delete_recursive(TopicZNode.path(topic), expected_controller_epoch_zk_version)
