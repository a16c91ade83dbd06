"""What `kafka-topics --describe` shows of topics and partitions, and which of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A partition on its way to other brokers."""

    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription:
    """One partition; `min_isr` is None where it is not known (through ZooKeeper)."""

    topic: str
    partition: int
    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]
    min_isr: int | None = None
    reassignment: Reassignment | None = None
    is_marked_for_deletion: bool = False

    @property
    def replication_factor(self) -> int:
        """How many replicas there are to be, without those that a reassignment only adds."""
        moving = self.reassignment
        if moving is None or not set(self.replicas) & {*moving.adding, *moving.removing}:
            return len(self.replicas)
        return len([broker for broker in moving.replicas if broker not in moving.adding])

    @property
    def is_under_replicated(self) -> bool:
        """Whether replicas are out of sync."""
        return len(self.isr) < self.replication_factor

    @property
    def is_under_min_isr(self) -> bool:
        """Whether acks=all is refused."""
        return self.leader is None or (self.min_isr is not None and len(self.isr) < self.min_isr)

    @property
    def is_at_min_isr(self) -> bool:
        """Whether one replica less would refuse acks=all."""
        return self.min_isr is not None and len(self.isr) == self.min_isr

    def is_unavailable(self, live_brokers: frozenset[int]) -> bool:
        """Whether nobody leads it who is there."""
        return self.leader is None or self.leader not in live_brokers

    def line(self) -> str:
        """Write it as Kafka does."""
        leader = "none" if self.leader is None else self.leader
        fields = [
            f"\tTopic: {self.topic}",
            f"Partition: {self.partition}",
            f"Leader: {leader}",
            f"Replicas: {_joined(self.replicas)}",
            f"Isr: {_joined(self.isr)}",
        ]
        if self.reassignment is not None:
            fields.append(f"Adding Replicas: {_joined(self.reassignment.adding)}")
            fields.append(f"Removing Replicas: {_joined(self.reassignment.removing)}")
        if self.is_marked_for_deletion:
            fields.append("MarkedForDeletion: true")
        return "\t".join(fields)

    def row(self) -> dict[str, Any]:
        """Return it for JSON and tables."""
        row: dict[str, Any] = {
            "topic": self.topic,
            "partition": self.partition,
            "leader": self.leader,
            "replicas": list(self.replicas),
            "isr": list(self.isr),
        }
        if self.reassignment is not None:
            row["adding"] = list(self.reassignment.adding)
            row["removing"] = list(self.reassignment.removing)
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    """One topic with its partitions, in their order."""

    name: str
    topic_id: str | None
    configs: Mapping[str, str]
    partitions: Sequence[PartitionDescription] = field(default_factory=list)
    is_marked_for_deletion: bool = False

    @property
    def replication_factor(self) -> int:
        """That of the first partition, as Kafka's tool has it."""
        return self.partitions[0].replication_factor

    def line(self) -> str:
        """Write it as Kafka does."""
        configs = ",".join(f"{name}={value}" for name, value in self.configs.items())
        fields = [f"Topic: {self.name}"]
        if self.topic_id is not None:
            fields.append(f"TopicId: {self.topic_id}")
        fields += [
            f"PartitionCount: {len(self.partitions)}",
            f"ReplicationFactor: {self.replication_factor}",
            f"Configs: {configs}",
        ]
        if self.is_marked_for_deletion:
            fields.append("MarkedForDeletion: true")
        return "\t".join(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which topics and partitions are to be shown; none of the reports means all."""

    live_brokers: frozenset[int]
    only_overrides: bool = False
    only_under_replicated: bool = False
    only_unavailable: bool = False
    only_under_min_isr: bool = False
    only_at_min_isr: bool = False

    @property
    def is_report(self) -> bool:
        """Whether only partitions in a certain state are wanted."""
        return (
            self.only_under_replicated
            or self.only_unavailable
            or self.only_under_min_isr
            or self.only_at_min_isr
        )

    def shows_topic(self, topic: TopicDescription) -> bool:
        """Whether the topic has a line of its own."""
        return not self.is_report and (not self.only_overrides or bool(topic.configs))

    def shows_partition(self, partition: PartitionDescription) -> bool:
        """Whether the partition has a line."""
        if not self.is_report:
            return not self.only_overrides
        return (
            (self.only_under_replicated and partition.is_under_replicated)
            or (self.only_unavailable and partition.is_unavailable(self.live_brokers))
            or (self.only_under_min_isr and partition.is_under_min_isr)
            or (self.only_at_min_isr and partition.is_at_min_isr)
        )


def lines(topics: Sequence[TopicDescription], wanted: Wanted) -> Iterator[str]:
    """Write what is wanted as Kafka does."""
    for topic in topics:
        if wanted.shows_topic(topic):
            yield topic.line()
        for partition in topic.partitions:
            if wanted.shows_partition(partition):
                yield partition.line()


def documents(topics: Sequence[TopicDescription], wanted: Wanted) -> list[dict[str, Any]]:
    """Return what is wanted for JSON: one document per topic."""
    found = []
    for topic in topics:
        partitions = [p.row() for p in topic.partitions if wanted.shows_partition(p)]
        if wanted.shows_topic(topic) or partitions:
            found.append(
                {
                    "topic": topic.name,
                    "topic_id": topic.topic_id,
                    "partition_count": len(topic.partitions),
                    "replication_factor": topic.replication_factor,
                    "configs": dict(topic.configs),
                    "partitions": partitions,
                }
            )
    return found


def _joined(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
