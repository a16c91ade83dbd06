"""What a cluster looks like to a client: its brokers, partitions and controller, by Metadata."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kafkalike.client.simple_client import SimpleClient
from kafkalike.launcher.errors import ClusterError
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataResponse

_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """A broker that is registered."""

    id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """A partition: the first of the replicas is the preferred leader, `leader` -1 is none."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """One answer to Metadata."""

    brokers: Mapping[int, BrokerView]
    controller_id: int
    partitions: Mapping[TopicPartition, PartitionView]

    @property
    def controller(self) -> BrokerView:
        """The broker that decides; ClusterError while there is none."""
        try:
            return self.brokers[self.controller_id]
        except KeyError:
            raise ClusterError("the cluster has no controller now: try again") from None

    def led_by(self, broker_id: int) -> int:
        """Return how many partitions the broker leads."""
        return sum(p.leader == broker_id for p in self.partitions.values())

    def replicas_on(self, broker_id: int) -> int:
        """Return how many replicas the broker holds."""
        return sum(broker_id in p.replicas for p in self.partitions.values())

    def under_replicated(self) -> list[TopicPartition]:
        """Return the partitions whose replicas are not all in sync."""
        return [tp for tp, p in self.partitions.items() if set(p.isr) != set(p.replicas)]


def view_from(host: str, port: int, timeout_s: float = _TIMEOUT_S) -> ClusterView:
    """Ask one broker; OSError or EOFError if it does not answer."""
    with SimpleClient(host, port, client_id="kafkalike-cluster", timeout_s=timeout_s) as client:
        return parse_view(client.send(MetadataRequest(topics=None)))


def view_from_any(addresses: Iterable[tuple[str, int]]) -> ClusterView:
    """Ask one after the other until one answers."""
    problem = "no broker runs"
    for host, port in addresses:
        try:
            return view_from(host, port)
        except (OSError, EOFError, ProtocolError) as error:
            problem = f"{host}:{port}: {error or type(error).__name__}"
    raise ClusterError(f"no broker answers ({problem})")


def parse_view(answer: MetadataResponse) -> ClusterView:
    """Read an answer to Metadata."""
    return ClusterView(
        brokers={
            b.node_id: BrokerView(id=b.node_id, host=b.host, port=b.port, rack=b.rack)
            for b in answer.brokers
        },
        controller_id=answer.controller_id,
        partitions={
            TopicPartition(topic.name, partition.partition_index): PartitionView(
                leader=partition.leader_id,
                replicas=tuple(partition.replica_nodes),
                isr=tuple(partition.isr_nodes),
            )
            for topic in answer.topics
            for partition in topic.partitions
        },
    )
