"""`/consumers/<group>/offsets/<topic>/<partition>`: where the oldest clients commit offsets."""

from kafkalike.model.topic_partition import TopicPartition


class ConsumerOffsetZNode:
    """One committed offset, as plain digits."""

    ROOT = "/consumers"

    @classmethod
    def path(cls, group_id: str, tp: TopicPartition) -> str:
        """Return where a group's offset of a partition is."""
        return f"{cls.ROOT}/{group_id}/offsets/{tp.topic}/{tp.partition}"

    @staticmethod
    def encode(offset: int) -> bytes:
        """Return the data of the znode."""
        return str(offset).encode()

    @staticmethod
    def decode(data: bytes | None) -> int | None:
        """Read the offset."""
        return int(data) if data else None
