"""TopicPartition: the name of one partition, used as a key everywhere."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic; prints as Kafka does: `orders-3`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
