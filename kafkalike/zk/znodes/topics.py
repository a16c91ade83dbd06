"""`/brokers/topics/...`: which topics there are, who holds their partitions, who leads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import uuid_from_string, uuid_to_string
from kafkalike.zk.znodes.json_data import encode_json, reading


@dataclass(frozen=True, slots=True)
class TopicIdReplicaAssignment:
    """A topic as its znode holds it; topics made before protocol 2.8 have no id."""

    topic: str
    topic_id: bytes | None
    assignment: Mapping[TopicPartition, ReplicaAssignment] = field(hash=False)


class TopicsZNode:
    """The parent of all topics."""

    PATH = "/brokers/topics"


class TopicZNode:
    """One topic: its id and the assignment of replicas (version 3)."""

    @staticmethod
    def path(topic: str) -> str:
        """Where the topic's assignment is."""
        return f"{TopicsZNode.PATH}/{topic}"

    @staticmethod
    def encode(
        topic_id: bytes | None, assignment: Mapping[TopicPartition, ReplicaAssignment]
    ) -> bytes:
        """Write id and assignment."""
        value: dict[str, Any] = {
            "partitions": {str(tp.partition): a.replicas for tp, a in assignment.items()}
        }
        if topic_id is not None:
            value["topic_id"] = uuid_to_string(topic_id)
        value["adding_replicas"] = {
            str(tp.partition): a.adding_replicas
            for tp, a in assignment.items()
            if a.adding_replicas
        }
        value["removing_replicas"] = {
            str(tp.partition): a.removing_replicas
            for tp, a in assignment.items()
            if a.removing_replicas
        }
        value["version"] = 3
        return encode_json(value)

    @staticmethod
    def decode(topic: str, data: bytes | None) -> TopicIdReplicaAssignment:
        """Read id and assignment; the partitions come in the order they are written in."""
        with reading(data, TopicZNode.path(topic)) as value:
            topic_id = value.get("topic_id")
            adding = value.get("adding_replicas", {})
            removing = value.get("removing_replicas", {})
            assignment = {
                TopicPartition(topic, int(partition)): ReplicaAssignment(
                    tuple(map(int, replicas)),
                    tuple(map(int, adding.get(partition, ()))),
                    tuple(map(int, removing.get(partition, ()))),
                )
                for partition, replicas in value.get("partitions", {}).items()
            }
            return TopicIdReplicaAssignment(
                topic, None if topic_id is None else uuid_from_string(topic_id), assignment
            )


class TopicPartitionsZNode:
    """The parent of a topic's partitions, made by the controller; no data."""

    @staticmethod
    def path(topic: str) -> str:
        """Where the partitions are."""
        return f"{TopicZNode.path(topic)}/partitions"


class TopicPartitionZNode:
    """One partition; no data."""

    @staticmethod
    def path(tp: TopicPartition) -> str:
        """Where the partition is."""
        return f"{TopicPartitionsZNode.path(tp.topic)}/{tp.partition}"


class TopicPartitionStateZNode:
    """Leader, leader epoch and ISR of one partition."""

    @staticmethod
    def path(tp: TopicPartition) -> str:
        """Where the partition's state is."""
        return f"{TopicPartitionZNode.path(tp)}/state"

    @staticmethod
    def encode(state: LeaderIsrAndControllerEpoch) -> bytes:
        """Write the state; the znode's version is not part of the data."""
        leader_and_isr = state.leader_and_isr
        return encode_json(
            {
                "controller_epoch": state.controller_epoch,
                "leader": leader_and_isr.leader,
                "version": 1,
                "leader_epoch": leader_and_isr.leader_epoch,
                "isr": leader_and_isr.isr,
            }
        )

    @staticmethod
    def decode(
        data: bytes | None, zk_version: int, path: str = "the state of a partition"
    ) -> LeaderIsrAndControllerEpoch:
        """Read the state; `zk_version` comes from the znode's stat."""
        with reading(data, path) as value:
            leader_and_isr = LeaderAndIsr(
                int(value["leader"]),
                int(value["leader_epoch"]),
                tuple(map(int, value["isr"])),
                zk_version,
            )
            return LeaderIsrAndControllerEpoch(leader_and_isr, int(value["controller_epoch"]))
