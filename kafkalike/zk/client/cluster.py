"""What belongs to the whole cluster: the tree itself, its id, features, blocks of producer ids."""

from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import NodeExistsError, ZkError
from kafkalike.zk.ops import SetDataOp, Stat
from kafkalike.zk.znodes import (
    PERSISTENT_ZK_PATHS,
    ClusterIdZNode,
    FeatureZNode,
    FinalizedFeatures,
    ProducerIdBlock,
    ProducerIdBlockZNode,
)


class ClusterClient(TreeClient):
    """Made by the first broker, shared by all."""

    async def create_top_level_paths(self) -> None:
        """Make sure of the znodes that every broker relies on, in Kafka's order."""
        for path in PERSISTENT_ZK_PATHS:
            await self.make_sure_persistent_path_exists(path)

    async def get_cluster_id(self) -> str | None:
        """Read the cluster's id."""
        found = await self._get(ClusterIdZNode.PATH)
        return ClusterIdZNode.decode(found[0]) if found else None

    async def create_or_get_cluster_id(self, proposed_cluster_id: str) -> str:
        """Name the cluster, or learn the name that it has."""
        try:
            await self.create_recursive(
                ClusterIdZNode.PATH, ClusterIdZNode.encode(proposed_cluster_id)
            )
        except NodeExistsError:
            if cluster_id := await self.get_cluster_id():
                return cluster_id
            raise ZkError(f"{ClusterIdZNode.PATH} was deleted while it was read") from None
        return proposed_cluster_id

    async def get_features(self) -> tuple[FinalizedFeatures | None, int]:
        """Read the finalized features and their epoch, the znode's version; (None, -2) if none."""
        data, version = await self.get_data_and_version(FeatureZNode.PATH)
        return (FeatureZNode.decode(data) if version >= 0 else None), version

    async def create_feature_znode(self, features: FinalizedFeatures) -> None:
        """Write the first features; NodeExistsError if there are some."""
        await self._write(self._create_op(FeatureZNode.PATH, FeatureZNode.encode(features)))

    async def update_feature_znode(self, features: FinalizedFeatures) -> int:
        """Replace the features and return their epoch."""
        stat = await self._write(SetDataOp(FeatureZNode.PATH, FeatureZNode.encode(features)))
        assert isinstance(stat, Stat)
        return stat.version

    async def delete_feature_znode(self) -> None:
        """Delete the features."""
        await self.delete_path(FeatureZNode.PATH, recursive=False)

    async def get_latest_producer_id_block(self) -> tuple[ProducerIdBlock | None, int]:
        """Read the block taken last, if any, and the znode's version for the next write."""
        data, version = await self.get_data_and_version(ProducerIdBlockZNode.PATH)
        return (ProducerIdBlockZNode.decode(data) if data else None), version

    async def conditional_set_producer_id_block(
        self, block: ProducerIdBlock, expected_version: int
    ) -> bool:
        """Take a block; False if another broker took one since the znode was read."""
        path, data = ProducerIdBlockZNode.PATH, ProducerIdBlockZNode.encode(block)
        if await self.conditional_update_path(path, data, expected_version) is not None:
            return True
        # A first try may have gone through with only its answer lost.
        written, _ = await self.get_data_and_version(path)
        return written == data
