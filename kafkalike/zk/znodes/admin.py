"""`/admin/...`: what is asked of the controller through ZooKeeper (the old tools' way)."""

from collections.abc import Iterable, Mapping

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.znodes.json_data import encode_json, reading


class DeleteTopicsZNode:
    """The parent of the topics to delete."""

    PATH = "/admin/delete_topics"


class DeleteTopicsTopicZNode:
    """One topic to delete; no data."""

    @staticmethod
    def path(topic: str) -> str:
        """Where the wish is."""
        return f"{DeleteTopicsZNode.PATH}/{topic}"


class ReassignPartitionsZNode:
    """Partitions to move, and where to."""

    PATH = "/admin/reassign_partitions"

    @staticmethod
    def encode(reassignment: Mapping[TopicPartition, tuple[int, ...]]) -> bytes:
        """Write the new replicas of each partition."""
        partitions = [
            {"topic": tp.topic, "partition": tp.partition, "replicas": replicas}
            for tp, replicas in reassignment.items()
        ]
        return encode_json({"version": 1, "partitions": partitions})

    @staticmethod
    def decode(data: bytes | None) -> dict[TopicPartition, tuple[int, ...]]:
        """Read the new replicas of each partition."""
        with reading(data, ReassignPartitionsZNode.PATH) as value:
            return {
                TopicPartition(p["topic"], int(p["partition"])): tuple(map(int, p["replicas"]))
                for p in value["partitions"]
            }


class PreferredReplicaElectionZNode:
    """Partitions whose preferred replica shall lead again."""

    PATH = "/admin/preferred_replica_election"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        """Write the partitions."""
        return encode_partitions(partitions)

    @staticmethod
    def decode(data: bytes | None) -> tuple[TopicPartition, ...]:
        """Read the partitions."""
        return decode_partitions(data, PreferredReplicaElectionZNode.PATH)


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Write a list of partitions, as several znodes hold it."""
    entries = [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]
    return encode_json({"version": 1, "partitions": entries})


def decode_partitions(data: bytes | None, path: str) -> tuple[TopicPartition, ...]:
    """Read a list of partitions."""
    with reading(data, path) as value:
        return tuple(TopicPartition(p["topic"], int(p["partition"])) for p in value["partitions"])
