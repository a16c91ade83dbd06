"""`/admin/...`: topics to delete, partitions to move, preferred replicas to elect."""

from collections.abc import Iterable, Mapping

from twisted.logger import Logger

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import NoNodeError, ZkDataError
from kafkalike.zk.ops import DeleteOp, SetDataOp
from kafkalike.zk.znodes import (
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
)

log = Logger()


class AdminClient(TreeClient):
    """What is asked of the controller through ZooKeeper."""

    async def create_delete_topic_path(self, topic: str) -> None:
        """Ask for a topic's deletion; NodeExistsError if that was done already."""
        await self.create_recursive(DeleteTopicsTopicZNode.path(topic))

    async def is_topic_marked_for_deletion(self, topic: str) -> bool:
        """Whether a topic's deletion was asked for and is not done."""
        return await self.path_exists(DeleteTopicsTopicZNode.path(topic))

    async def get_topic_deletions(self) -> list[str]:
        """List the topics to delete."""
        return await self.get_children(DeleteTopicsZNode.PATH)

    async def delete_topic_deletions(
        self, topics: Iterable[str], expected_controller_epoch_zk_version: int
    ) -> None:
        """Note that topics are deleted (or need not be)."""
        ops = [DeleteOp(DeleteTopicsTopicZNode.path(topic)) for topic in topics]
        await self._write_all(ops, expected_controller_epoch_zk_version)

    async def get_partition_reassignment(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Read which partitions shall move where; what cannot be read is ignored, as in Kafka."""
        found = await self._get(ReassignPartitionsZNode.PATH)
        if found is None:
            return {}
        try:
            return ReassignPartitionsZNode.decode(found[0])
        except ZkDataError as error:
            log.warn("the reassignment of partitions is ignored: {error}", error=error)
            return {}

    async def set_or_create_partition_reassignment(
        self,
        reassignment: Mapping[TopicPartition, tuple[int, ...]],
        expected_controller_epoch_zk_version: int,
    ) -> None:
        """Replace which partitions shall move where."""
        path, data = ReassignPartitionsZNode.PATH, ReassignPartitionsZNode.encode(reassignment)
        try:
            await self._write(SetDataOp(path, data), expected_controller_epoch_zk_version)
        except NoNodeError:
            await self._write(self._create_op(path, data), expected_controller_epoch_zk_version)

    async def create_partition_reassignment(
        self, reassignment: Mapping[TopicPartition, tuple[int, ...]]
    ) -> None:
        """Ask for partitions to be moved; NodeExistsError while others are being moved."""
        data = ReassignPartitionsZNode.encode(reassignment)
        await self.create_recursive(ReassignPartitionsZNode.PATH, data)

    async def delete_partition_reassignment(
        self, expected_controller_epoch_zk_version: int
    ) -> None:
        """Note that all partitions have moved."""
        await self.delete_path(ReassignPartitionsZNode.PATH, expected_controller_epoch_zk_version)

    async def reassign_partitions_in_progress(self) -> bool:
        """Whether partitions are being moved by the znode."""
        return await self.path_exists(ReassignPartitionsZNode.PATH)

    async def create_preferred_replica_election(self, partitions: Iterable[TopicPartition]) -> None:
        """Ask for preferred replicas to lead; NodeExistsError while others are elected."""
        data = PreferredReplicaElectionZNode.encode(partitions)
        await self.create_recursive(PreferredReplicaElectionZNode.PATH, data)

    async def get_preferred_replica_election(self) -> tuple[TopicPartition, ...]:
        """Read whose preferred replica shall lead."""
        found = await self._get(PreferredReplicaElectionZNode.PATH)
        return PreferredReplicaElectionZNode.decode(found[0]) if found else ()

    async def delete_preferred_replica_election(
        self, expected_controller_epoch_zk_version: int
    ) -> None:
        """Note that the election is over."""
        await self.delete_path(
            PreferredReplicaElectionZNode.PATH,
            expected_controller_epoch_zk_version,
            recursive=False,
        )
