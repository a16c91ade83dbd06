"""How brokers reach each other: this one in-process, the others over the network."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, cast

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.model.broker import Broker
from kafkalike.network.broker_channel import BrokerChannel
from kafkalike.protocol.errors import NetworkError
from kafkalike.protocol.schema import Message
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.services import BrokerServices


class LocalSender:
    """Hands requests to this broker's own handlers: no socket, no encoding."""

    def __init__(self, services: BrokerServices, apis: Mapping[int, Api], listener: str) -> None:
        self._services = services
        self._apis = apis
        self._listener = listener

    async def send(self, request: Message, version: int) -> Message:
        """Let the handler answer."""
        context = RequestContext(self._services, version, None, self._listener, "localhost")
        answer = await self._apis[request.api_key].handle(context, request)
        return cast(Message, answer)

    def close(self) -> None:
        """Nothing is open."""


class Connect(Protocol):
    """Opens an authenticated connection to a broker; see `inter_broker_security.py`."""

    def __call__(
        self, host: str, port: int, client_id: str | None, timeout_ms: int
    ) -> Awaitable[BrokerChannel]:
        """Connect within a time."""


class RemoteSender:
    """A connection to another broker, made at the first request."""

    def __init__(
        self,
        connect: Connect,
        broker: Broker,
        *,
        listener_name: str,
        client_id: str,
        timeout_ms: int,
    ) -> None:
        self._connect = connect
        self._broker = broker
        self._listener_name = listener_name
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._channel: BrokerChannel | None = None

    async def send(self, request: Message, version: int) -> Message:
        """Connect if need be, send, and wait for the answer."""
        if self._channel is None:
            node = self._broker.node(self._listener_name)
            if node is None:
                raise NetworkError(
                    f"broker {self._broker.id} has no listener {self._listener_name}"
                )
            self._channel = await self._connect(
                node.host, node.port, self._client_id, self._timeout_ms
            )
        answer = await self._channel.send(request, version, self._timeout_ms)
        return cast(Message, answer)

    def close(self) -> None:
        """Close the connection; a request in flight fails."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


class BrokerSenders:
    """Makes ways to brokers. `local` is there as soon as this broker can answer."""

    local: LocalSender

    def __init__(
        self,
        connect: Connect,
        broker_id: int,
        config: Callable[[], BrokerConfig],
        metadata_cache: MetadataCache,
    ) -> None:
        self._connect = connect
        self._broker_id = broker_id
        self._config = config
        self._metadata_cache = metadata_cache

    def to_broker(self, broker: Broker) -> LocalSender | RemoteSender:
        """Make the controller's way to a broker."""
        if broker.id == self._broker_id:
            return self.local
        return self._remote(broker, self._config().controller_socket_timeout_ms)

    def to_leader(self, broker_id: int) -> RemoteSender:
        """Make a follower's way to its leader, which must be in the metadata."""
        broker = self._metadata_cache.snapshot.brokers.get(broker_id)
        if broker is None:
            raise NetworkError(f"broker {broker_id} is not alive, as far as the metadata tell")
        config = self._config()
        # The answer may take as long as the leader waits for records.
        return self._remote(broker, config.replica_socket_timeout_ms)

    async def open_channel(self, broker_id: int, client_id: str, timeout_ms: int) -> BrokerChannel:
        """Open a connection of its own to a broker, as forwarded requests need it."""
        broker = self._metadata_cache.snapshot.brokers.get(broker_id)
        listener_name = self._config().inter_broker_listener.listener_name
        node = None if broker is None else broker.node(listener_name)
        if node is None:
            raise NetworkError(f"broker {broker_id} has no listener {listener_name} now")
        return await self._connect(node.host, node.port, client_id, timeout_ms)

    def controller(self) -> Broker | None:
        """The controller that the metadata name, if it is alive."""
        snapshot = self._metadata_cache.snapshot
        return snapshot.brokers.get(snapshot.controller_id)

    def _remote(self, broker: Broker, timeout_ms: int) -> RemoteSender:
        return RemoteSender(
            self._connect,
            broker,
            listener_name=self._config().inter_broker_listener.listener_name,
            client_id=str(self._broker_id),
            timeout_ms=timeout_ms,
        )
