"""The core that producer, consumer and admin share: connections, metadata, who to ask what."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kafkalike.client.broker_connection import BrokerConnection
from kafkalike.client.config import ClientConfig
from kafkalike.client.metadata import Metadata
from kafkalike.client.security import channel_builder
from kafkalike.model.broker import Node
from kafkalike.protocol.errors import (
    CoordinatorNotAvailableError,
    ErrorCode,
    KafkaError,
    NetworkError,
    NotControllerError,
    RequestTimedOutError,
    error_for,
)
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.schema import Message
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

GROUP, TRANSACTION = 0, 1
"""The kinds of coordinators."""

T = TypeVar("T")


class KafkaClient:
    """Connections to the brokers of one cluster, by node id, and what is known of the cluster.

    Brokers are first found through the bootstrap servers; should all known brokers be gone, through
    them again (KIP-899), so that a client survives a cluster that moves.
    """

    def __init__(self, reactor: Any, config: ClientConfig) -> None:  # Any: see BrokerChannel
        self.reactor = reactor
        self.config = config
        self.time = Time(reactor)
        self.background = Background()
        self._channels = channel_builder(reactor, self.time, config)
        self.metadata = Metadata(self.time, config, self.background, self.send_to_any)
        self._bootstrap = [
            Node(-1 - number, host, port)
            for number, (host, port) in enumerate(config.bootstrap_addresses)
        ]
        self._connections: dict[tuple[int, str], BrokerConnection] = {}
        self._turn = 0
        self.is_closed = False

    def connection(self, node_id: int, purpose: str = "") -> BrokerConnection:
        """Return the connection to a broker, open or not; each purpose has its own.

        A broker answers the requests of a connection one by one, so what must not wait behind a
        fetch (heartbeats, say) needs another.
        """
        node = self._node(node_id)
        found = self._connections.get((node_id, purpose))
        if found is not None and found.node[:3] == node[:3]:
            return found
        if found is not None:
            found.close()  # The broker has moved to another address.
        made = BrokerConnection(self._channels, self.time, node, self.config, self.background)
        self._connections[node_id, purpose] = made
        return made

    async def send(
        self, node_id: int, request: Message, *, timeout_ms: int | None = None, purpose: str = ""
    ) -> Any:
        """Send a request to one broker and return its answer."""
        if self.is_closed:
            raise NetworkError("the client is closed")
        return await self.connection(node_id, purpose).send(request, timeout_ms=timeout_ms)

    async def send_to_any(self, request: Message, *, timeout_ms: int | None = None) -> Any:
        """Send a request to a broker that answers: the least busy first, each once."""
        problem = NetworkError("no broker is known")
        for connection in self._candidates():
            if self.is_closed:
                break
            try:
                return await connection.send(request, timeout_ms=timeout_ms)
            except (NetworkError, RequestTimedOutError) as error:
                problem = NetworkError(f"no broker can be reached: {error}")
        raise problem

    async def send_to_controller(self, request: Message, *, timeout_ms: int | None = None) -> Any:
        """Send a request to the controller of the cluster."""
        snapshot = self.metadata.snapshot
        if snapshot.controller_id not in snapshot.brokers:
            snapshot = await self.metadata.refresh()
        if snapshot.controller_id not in snapshot.brokers:
            raise NotControllerError("the cluster has no controller at the moment")
        return await self.send(snapshot.controller_id, request, timeout_ms=timeout_ms)

    async def find_coordinator(self, key: str, kind: int) -> Node:
        """Return the broker that coordinates a group or a transactional id."""
        answer = await self.send_to_any(FindCoordinatorRequest(key=key, key_type=kind))
        if answer.error_code != ErrorCode.NONE:
            raise error_for(answer.error_code)(answer.error_message or "")
        node = Node(answer.node_id, answer.host, answer.port)
        if node.id not in self.metadata.snapshot.brokers:
            await self.metadata.refresh()
        if node.id not in self.metadata.snapshot.brokers:
            raise CoordinatorNotAvailableError(f"coordinator {node.id} of {key} is not there")
        return node

    async def retrying(self, work: Callable[[], Awaitable[T]], timeout_ms: int | None = None) -> T:
        """Do something again while its errors may pass and there is time; refresh in between."""
        timeout_ms = timeout_ms or self.config.default_api_timeout_ms
        deadline_ms = self.time.now_ms() + timeout_ms
        while True:
            try:
                return await work()
            except KafkaError as error:
                pause_ms = self.config.retry_backoff_ms
                is_late = self.time.now_ms() + pause_ms >= deadline_ms
                if not error.retriable or is_late or self.is_closed:
                    raise
            await self.time.sleep_ms(pause_ms)
            await self._refresh_quietly()

    async def close(self) -> None:
        """Close all connections and stop what runs in the background."""
        self.is_closed = True
        self.metadata.close()
        for connection in self._connections.values():
            connection.close()
        self.background.stop()

    async def _refresh_quietly(self) -> None:
        try:
            await self.metadata.refresh()
        except KafkaError:
            return  # The work itself is about to meet the same problem, and has the deadline.

    def _node(self, node_id: int) -> Node:
        if node_id < 0:
            return self._bootstrap[-1 - node_id]
        node = self.metadata.snapshot.brokers.get(node_id)
        if node is None:
            self.metadata.request_refresh()
            raise BrokerGoneError(f"broker {node_id} is not known to the cluster")
        return node

    def _candidates(self) -> list[BrokerConnection]:
        """Return all brokers in the order to be asked; bootstrap servers last."""
        known = [self.connection(node_id) for node_id in self.metadata.snapshot.brokers]
        self._turn += 1
        turned = [known[(number + self._turn) % len(known)] for number in range(len(known))]
        turned.sort(key=_reluctance)
        first = [self.connection(node.id) for node in self._bootstrap]
        return turned + sorted(first, key=_reluctance)


class BrokerGoneError(NetworkError):
    """A broker that the metadata does not have (any more)."""


def _reluctance(connection: BrokerConnection) -> tuple[bool, bool, int]:
    return connection.is_backing_off, not connection.is_ready, connection.in_flight_count
