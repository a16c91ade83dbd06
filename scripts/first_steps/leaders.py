"""Connections to the brokers that lead a topic's partitions, as any client keeps them."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from kafkalike.client.simple_client import SimpleClient
from kafkalike.launcher.cluster_view import ClusterView, view_from_any
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import LeaderNotAvailableError

_HOST = "127.0.0.1"


class Leaders:
    """Knows who leads what; a context manager that closes its connections."""

    def __init__(self, topic: str, ports: Sequence[int]) -> None:
        self._topic = topic
        self._ports = ports
        self._view: ClusterView | None = None
        self._clients: dict[int, SimpleClient] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.forget()

    def controller(self) -> SimpleClient:
        """Connect to the broker that makes topics."""
        return self._client(self._current().controller_id)

    def of(self, partition: int) -> SimpleClient:
        """Connect to the leader of a partition; LeaderNotAvailableError while there is none."""
        found = self._current().partitions.get(TopicPartition(self._topic, partition))
        if found is None or found.leader < 0:
            self.forget()
            raise LeaderNotAvailableError(f"{self._topic}-{partition} has no leader yet")
        return self._client(found.leader)

    def forget(self) -> None:
        """Look again next time: somebody else leads now, or a broker is gone."""
        self._view = None
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _current(self) -> ClusterView:
        if self._view is None:
            self._view = view_from_any((_HOST, port) for port in self._ports)
        return self._view

    def _client(self, broker_id: int) -> SimpleClient:
        if broker_id not in self._clients:
            broker = self._current().brokers[broker_id]
            self._clients[broker_id] = SimpleClient(
                broker.host, broker.port, client_id="quickstart"
            )
        return self._clients[broker_id]
