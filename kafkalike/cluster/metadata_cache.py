"""What this broker tells clients about the cluster: an immutable snapshot, replaced whole."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from kafkalike.model.broker import Broker, Node
from kafkalike.model.leader_and_isr import LEADER_DURING_DELETE
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """One partition as the controller announced it."""

    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    zk_version: int = 0
    controller_epoch: int = 0


@dataclass(frozen=True, slots=True)
class MetadataSnapshot:
    """Brokers, controller and topics at one moment; never changed, so never half new."""

    brokers: Mapping[int, Broker] = field(default_factory=dict)
    controller_id: int = -1
    topics: Mapping[str, Mapping[int, PartitionMetadata]] = field(default_factory=dict)
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    topic_names: Mapping[bytes, str] = field(default_factory=dict)

    def nodes(self, listener_name: str) -> list[Node]:
        """All live brokers that have this listener."""
        found = (broker.node(listener_name) for broker in self.brokers.values())
        return [node for node in found if node is not None]

    def partition(self, tp: TopicPartition) -> PartitionMetadata | None:
        """Return what is known of one partition."""
        return self.topics.get(tp.topic, {}).get(tp.partition)

    def topic_id(self, topic: str) -> bytes:
        """Return the topic's id, or zeroes."""
        return self.topic_ids.get(topic, ZERO_UUID)


class MetadataCache:
    """Holds the newest snapshot; UpdateMetadata is its only writer."""

    def __init__(self) -> None:
        self.snapshot = MetadataSnapshot()
        self.on_update: Callable[[MetadataSnapshot], None] | None = None

    def update(
        self,
        controller_id: int,
        brokers: Mapping[int, Broker],
        partitions: Iterable[tuple[str, PartitionMetadata]],
        topic_ids: Mapping[str, bytes],
    ) -> list[TopicPartition]:
        """Swap in a snapshot with these changes; return the partitions that were deleted."""
        old = self.snapshot
        topics = dict(old.topics)
        ids = {**old.topic_ids, **topic_ids}
        copied: dict[str, dict[int, PartitionMetadata]] = {}
        deleted = []
        for topic, state in partitions:
            if topic not in copied:
                copied[topic] = dict(topics.get(topic, {}))
                topics[topic] = copied[topic]
            if state.leader == LEADER_DURING_DELETE:
                if copied[topic].pop(state.partition, None) is not None:
                    deleted.append(TopicPartition(topic, state.partition))
            else:
                copied[topic][state.partition] = state
        for topic, states in copied.items():
            if not states:
                topics.pop(topic)
                ids.pop(topic, None)
        self.snapshot = replace(
            old,
            brokers=dict(brokers),
            controller_id=controller_id,
            topics=topics,
            topic_ids=ids,
            topic_names={topic_id: name for name, topic_id in ids.items()},
        )
        if self.on_update is not None:
            self.on_update(self.snapshot)
        return deleted
