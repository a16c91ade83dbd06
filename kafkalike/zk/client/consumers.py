"""`/consumers`: offsets of the oldest clients (OffsetCommit and OffsetFetch in version 0)."""

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import NoNodeError
from kafkalike.zk.ops import SetDataOp
from kafkalike.zk.znodes.consumers import ConsumerOffsetZNode


class ConsumersClient(TreeClient):
    """Committed offsets in ZooKeeper."""

    async def get_consumer_offset(self, group_id: str, tp: TopicPartition) -> int | None:
        """Read what a group has committed for a partition."""
        found = await self._get(ConsumerOffsetZNode.path(group_id, tp))
        return ConsumerOffsetZNode.decode(found[0]) if found else None

    async def set_or_create_consumer_offset(
        self, group_id: str, tp: TopicPartition, offset: int
    ) -> None:
        """Commit an offset of a group."""
        path = ConsumerOffsetZNode.path(group_id, tp)
        data = ConsumerOffsetZNode.encode(offset)
        try:
            await self._write(SetDataOp(path, data))
        except NoNodeError:
            await self.create_recursive(path, data)
