"""What belongs to the whole cluster: its id, its features, the blocks of producer ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from kafkalike.zk.znodes.json_data import encode_json, reading


class ClusterIdZNode:
    """`/cluster/id`: the name the first broker drew for the cluster."""

    PATH = "/cluster/id"

    @staticmethod
    def encode(cluster_id: str) -> bytes:
        """Write the id; its version is a string, alone among the znodes."""
        return encode_json({"version": "1", "id": cluster_id})

    @staticmethod
    def decode(data: bytes | None) -> str:
        """Read the id."""
        with reading(data, ClusterIdZNode.PATH) as value:
            return str(value["id"])


class FeatureStatus(IntEnum):
    """Whether the feature versions (KIP-584) are in force: from protocol 2.7 on they are."""

    DISABLED = 0
    ENABLED = 1


@dataclass(frozen=True, slots=True)
class FinalizedFeatures:
    """The lowest and highest level of each feature that the whole cluster agreed on."""

    status: FeatureStatus
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict, hash=False)


class FeatureZNode:
    """`/feature`: written by the controller; its version is the epoch of the features."""

    PATH = "/feature"

    @staticmethod
    def encode(features: FinalizedFeatures) -> bytes:
        """Write status and levels."""
        levels = {
            name: {"min_version_level": low, "max_version_level": high}
            for name, (low, high) in features.features.items()
        }
        return encode_json({"features": levels, "version": 1, "status": int(features.status)})

    @staticmethod
    def decode(data: bytes | None) -> FinalizedFeatures:
        """Read status and levels."""
        with reading(data, FeatureZNode.PATH) as value:
            if int(value["version"]) < 1:
                raise ValueError("unsupported version")
            levels = {
                name: (int(levels["min_version_level"]), int(levels["max_version_level"]))
                for name, levels in value["features"].items()
            }
            return FinalizedFeatures(FeatureStatus(value["status"]), levels)


class ProducerIdBlock(NamedTuple):
    """The producer ids that one broker may hand out, ends included."""

    broker_id: int
    block_start: int
    block_end: int


class ProducerIdBlockZNode:
    """`/latest_producer_id_block`: the last block taken; conditional writes keep blocks apart."""

    PATH = "/latest_producer_id_block"

    @staticmethod
    def encode(block: ProducerIdBlock) -> bytes:
        """Write the block; its ends are strings."""
        return encode_json(
            {
                "version": 1,
                "broker": block.broker_id,
                "block_start": str(block.block_start),
                "block_end": str(block.block_end),
            }
        )

    @staticmethod
    def decode(data: bytes | None) -> ProducerIdBlock:
        """Read the block."""
        with reading(data, ProducerIdBlockZNode.PATH) as value:
            return ProducerIdBlock(
                int(value["broker"]), int(value["block_start"]), int(value["block_end"])
            )
