"""A record as a consumer gets it, with the fields of kafka-python's `ConsumerRecord`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kafkalike.model.topic_partition import TopicPartition


class ConsumerRecord(NamedTuple):
    """Key and value are bytes, or what the deserialisers made of them."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: Sequence[tuple[str, bytes | None]]
    leader_epoch: int | None = None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition it was read from."""
        return TopicPartition(self.topic, self.partition)

    @property
    def serialized_key_size(self) -> int:
        """How many bytes the key has; -1 for none, or if it was deserialised."""
        return len(self.key) if isinstance(self.key, bytes) else -1

    @property
    def serialized_value_size(self) -> int:
        """How many bytes the value has; -1 for none, or if it was deserialised."""
        return len(self.value) if isinstance(self.value, bytes) else -1

    @property
    def checksum(self) -> None:
        """Records have no checksum of their own since message format v2."""
        return None


Records = dict[TopicPartition, list[ConsumerRecord]]
