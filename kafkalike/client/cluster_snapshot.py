"""What a client knows of the cluster: an immutable snapshot, replaced whole (Kafka's `Cluster`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkalike.model.broker import Node
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic

NO_LEADER = -1


class PartitionMetadata(NamedTuple):
    """One partition: who leads it since which epoch, and who has copies."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    error_code: int


class TopicMetadata(NamedTuple):
    """One topic; `error_code` says why there are no partitions if there are none."""

    name: str
    error_code: int
    topic_id: bytes
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]

    @property
    def available(self) -> list[int]:
        """The partitions that have a leader."""
        return [p.partition for p in self.partitions.values() if p.leader != NO_LEADER]


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Brokers and topics at one moment; safe to read from any thread."""

    brokers: Mapping[int, Node] = field(default_factory=dict)
    controller_id: int = -1
    cluster_id: str | None = None
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)

    def partition(self, tp: TopicPartition) -> PartitionMetadata | None:
        """Return what is known of one partition."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def leader(self, tp: TopicPartition) -> Node | None:
        """Return the broker that leads a partition, if it is known and there is one."""
        found = self.partition(tp)
        return None if found is None else self.brokers.get(found.leader)


def updated(
    known: ClusterSnapshot, answer: MetadataResponse, *, keep: Iterable[str] = ()
) -> ClusterSnapshot:
    """Return the snapshot after an answer; topics in `keep` stay although it does not name them."""
    topics = {name: known.topics[name] for name in keep if name in known.topics}
    for topic in answer.topics:
        topics[topic.name] = _topic(topic, known.topics.get(topic.name))
    return ClusterSnapshot(
        brokers={b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in answer.brokers},
        controller_id=answer.controller_id,
        cluster_id=answer.cluster_id,
        topics=topics,
    )


def _topic(answer: MetadataResponseTopic, known: TopicMetadata | None) -> TopicMetadata:
    same = known if known is not None and known.topic_id == answer.topic_id else None
    partitions: dict[int, PartitionMetadata] = {}
    for p in sorted(answer.partitions, key=lambda p: p.partition_index):
        # LEADER_NOT_AVAILABLE with a leader in it is a leader on another listener: unreachable.
        leader = NO_LEADER if p.error_code == ErrorCode.LEADER_NOT_AVAILABLE else p.leader_id
        found = PartitionMetadata(
            p.partition_index,
            leader,
            p.leader_epoch,
            tuple(p.replica_nodes),
            tuple(p.isr_nodes),
            tuple(p.offline_replicas),
            p.error_code,
        )
        before = same.partitions.get(p.partition_index) if same is not None else None
        # A broker that lags behind tells of an older epoch: what is known already is newer.
        is_stale = before is not None and -1 < found.leader_epoch < before.leader_epoch
        partitions[p.partition_index] = before if before is not None and is_stale else found
    return TopicMetadata(
        answer.name, answer.error_code, answer.topic_id, answer.is_internal, partitions
    )
