"""The cluster as a blocking reader sees it: who leads what, and which offsets there are.

Every question is asked again while its errors may pass and there is time, so that a change of
leaders goes unnoticed but for the delay.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.model.broker import Node
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.errors import (
    KafkaError,
    LeaderNotAvailableError,
    NetworkError,
    UnknownTopicOrPartitionError,
    error_for,
)
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from spark_pipeline.datasource.connection import BrokerConnection
from spark_pipeline.datasource.errors import DataSourceError
from spark_pipeline.datasource.offset_spec import Offsets

T = TypeVar("T")

_CONSUMER: Final = -1
_NO_LEADER: Final = -1
_GROUP: Final = 0


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What one Metadata answer said; a leader of -1 is none."""

    brokers: Mapping[int, Node] = field(default_factory=dict)
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)


class Cluster:
    """Connections to the brokers of a cluster, made when needed; close it in the end."""

    def __init__(
        self,
        config: ConsumerConfig,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._config = config
        self._clock = clock
        self._sleep = sleep
        self._view = ClusterView()
        self._connections: dict[Node, BrokerConnection] = {}

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def partitions(self, topics: Iterable[str] | None) -> set[TopicPartition]:
        """Return the partitions of topics (None: of all); what does not exist has none."""
        self.retrying(lambda: self._refresh(topics), "metadata")
        return set(self._view.leaders)

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]:
        """Return the offset for a time (or -1, -2) of each partition; None if none is so late."""
        found: dict[TopicPartition, int | None] = {}

        def ask() -> None:
            left = {tp: wanted[tp] for tp in wanted if tp not in found}
            for connection, tps in self._by_leader(left).items():
                self._list_offsets(connection, {tp: wanted[tp] for tp in tps}, found)

        self.retrying(ask, "offsets")
        return found

    def offsets_at(self, partitions: Iterable[TopicPartition], sentinel: int) -> Offsets:
        """Return the first (-2) or last (-1) offsets; the last stable ones if so isolated."""
        found = self.list_offsets(dict.fromkeys(partitions, sentinel))
        return {tp: offset or 0 for tp, offset in found.items()}

    def leader_connection(self, tp: TopicPartition) -> BrokerConnection:
        """Return the connection to the leader of a partition; raises what may pass."""
        if self._view.leaders.get(tp, _NO_LEADER) == _NO_LEADER:
            self._refresh({tp.topic} | {known.topic for known in self._view.leaders})
        leader = self._view.leaders.get(tp)
        if leader is None:
            raise UnknownTopicOrPartitionError(f"{tp} does not exist")
        node = self._view.brokers.get(leader)
        if node is None:
            raise LeaderNotAvailableError(f"{tp} has no leader at the moment")
        return self._connection(node)

    def coordinator_connection(self, group_id: str) -> BrokerConnection:
        """Return the connection to the coordinator of a group; raises what may pass."""
        answer = self._any_connection().send(FindCoordinatorRequest(key=group_id, key_type=_GROUP))
        if answer.error_code:
            problem = error_for(answer.error_code)
            raise problem(f"coordinator of group {group_id}: {problem()}")
        return self._connection(Node(answer.node_id, answer.host, answer.port))

    def forget(self) -> None:
        """Drop all connections and what is known: something has changed."""
        self.close()
        self._view = ClusterView()

    def retrying(self, work: Callable[[], T], what: str, timeout_ms: int | None = None) -> T:
        """Do something again while its errors may pass and there is time."""
        patience_ms = timeout_ms or self._config.default_api_timeout_ms
        deadline = self._clock() + patience_ms / 1000
        while True:
            try:
                return work()
            except (KafkaError, OSError) as error:
                pause_s = self._config.retry_backoff_ms / 1000
                if not getattr(error, "retriable", True):
                    raise
                if self._clock() + pause_s >= deadline:
                    raise DataSourceError(
                        f"{what}: no success within {patience_ms} ms from "
                        f"{self._config.bootstrap_servers} ({type(error).__name__}: {error})"
                    ) from error
            self.forget()
            self._sleep(pause_s)

    def _connection(self, node: Node) -> BrokerConnection:
        found = self._connections.get(node)
        if found is None:
            found = self._connections[node] = BrokerConnection(node, self._config)
        return found

    def _any_connection(self) -> BrokerConnection:
        if self._connections:
            return next(iter(self._connections.values()))
        problem = NetworkError("no broker is known")
        for number, (host, port) in enumerate(self._config.bootstrap_addresses):
            try:
                return self._connection(Node(-1 - number, host, port))
            except NetworkError as error:
                problem = error
        raise problem

    def _refresh(self, topics: Iterable[str] | None) -> None:
        asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer = self._any_connection().send(
            MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        )
        leaders: dict[TopicPartition, int] = {}
        for topic in answer.topics:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            if topic.error_code:
                raise error_for(topic.error_code)(
                    f"topic {topic.name}: {error_for(topic.error_code)()}"
                )
            for part in topic.partitions:
                leaders[TopicPartition(topic.name, part.partition_index)] = part.leader_id
        brokers = {
            node.node_id: Node(node.node_id, node.host, node.port) for node in answer.brokers
        }
        self._view = ClusterView(brokers, leaders)

    def _by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[BrokerConnection, list[TopicPartition]]:
        found: dict[BrokerConnection, list[TopicPartition]] = {}
        if not set(partitions) <= set(self._view.leaders):
            self._refresh({tp.topic for tp in partitions})
        for tp in partitions:
            found.setdefault(self.leader_connection(tp), []).append(tp)
        return found

    def _list_offsets(
        self,
        connection: BrokerConnection,
        wanted: Mapping[TopicPartition, int],
        found: dict[TopicPartition, int | None],
    ) -> None:
        answer = connection.send(_list_offsets_request(wanted, self._config.isolation))
        for topic in answer.topics:
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                if part.error_code:
                    problem = error_for(part.error_code)
                    raise problem(f"offsets of {tp}: {problem()}")
                found[tp] = part.offset if part.offset >= 0 else None


def _list_offsets_request(
    wanted: Mapping[TopicPartition, int], isolation: int
) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for tp, timestamp in wanted.items():
        topic = topics.setdefault(tp.topic, ListOffsetsTopic(name=tp.topic, partitions=[]))
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=tp.partition, current_leader_epoch=-1, timestamp=timestamp
            )
        )
    return ListOffsetsRequest(
        replica_id=_CONSUMER, isolation_level=isolation, topics=list(topics.values())
    )
