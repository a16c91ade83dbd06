"""One broker as a client sees it: connected when needed, asked first which versions it has.

Part of Kafka's `NetworkClient`: reconnect back-off, ApiVersions, client-side throttling (KIP-219).
"""

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.error import ConnectError, DNSLookupError
from twisted.logger import Logger

from kafkalike.client.config import ClientConfig
from kafkalike.client.single_flight import SingleFlight
from kafkalike.model.broker import Node
from kafkalike.network.broker_channel import BrokerChannel
from kafkalike.network.channel_builder import ChannelBuilder
from kafkalike.network.tls_failure import AUTHENTICATION_ERRORS
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, NetworkError, UnsupportedVersionError, error_for
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from kafkalike.protocol.schema import Message
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

log = Logger()

SOFTWARE_NAME: Final = "kafkalike"
SOFTWARE_VERSION: Final = "0.1.0"

_NEWEST_API_VERSIONS: Final = ApiKey.API_VERSIONS.max_version


class BrokerConnection:
    """A connection that comes back by itself; several requests may be in flight on it."""

    def __init__(
        self,
        channels: ChannelBuilder,
        time: Time,
        node: Node,
        config: ClientConfig,
        background: Background,
    ) -> None:
        self.node = node
        self._channels = channels
        self._time = time
        self._config = config
        self._connecting: SingleFlight[BrokerChannel] = SingleFlight(
            f"connecting to {node.host}:{node.port}", background
        )
        self._channel: BrokerChannel | None = None
        self._versions: dict[int, tuple[int, int]] = {}
        self._api_versions_version = _NEWEST_API_VERSIONS
        self._failures = 0
        self._retry_at_ms = 0
        self._throttled_until_ms = 0

    @property
    def is_ready(self) -> bool:
        """Whether a request would go out at once."""
        return self._open_channel() is not None and not self.throttled_for_ms

    @property
    def is_backing_off(self) -> bool:
        """Whether the last attempt to connect failed a moment ago."""
        return self._open_channel() is None and self._time.now_ms() < self._retry_at_ms

    @property
    def is_connecting(self) -> bool:
        """Whether an attempt to connect is under way."""
        return self._connecting.is_running

    @property
    def throttled_for_ms(self) -> int:
        """How long the broker wants to hear nothing from this client."""
        if not self._throttled_until_ms:
            return 0
        return max(0, self._throttled_until_ms - self._time.now_ms())

    @property
    def in_flight_count(self) -> int:
        """How many requests have no answer yet."""
        return self._channel.in_flight_count if self._channel is not None else 0

    @property
    def versions(self) -> dict[int, tuple[int, int]]:
        """The lowest and highest version of each API that the broker has; empty until connected."""
        return self._versions

    def version_of(self, request: Message) -> int:
        """Return the highest version of a request that both sides have."""
        key = ApiKey(request.api_key)
        low, high = self._versions.get(key, (0, -1))
        version = min(high, request.max_version)
        if version < max(low, request.min_version):
            raise UnsupportedVersionError(
                f"broker {self.node.id} at {self.node.host}:{self.node.port} does not have "
                f"{key.api_name} {request.min_version} to {request.max_version}"
            )
        return version

    async def connect(self) -> BrokerChannel:
        """Return the open connection; make it first if need be. Raises `NetworkError`."""
        channel = self._open_channel()
        return channel if channel is not None else await self._connecting.run(self._connect)

    async def send(
        self, request: Message, *, timeout_ms: int | None = None, version: int | None = None
    ) -> Any:
        """Send a request in the best version and return the answer.

        If the connection is ready the request is written before this first waits, so requests go
        out in the order in which they are sent.
        """
        channel = self._open_channel()
        if channel is None:
            channel = await self.connect()
        if self.throttled_for_ms:
            await self._time.sleep_ms(self.throttled_for_ms)
        if version is None:
            version = self.version_of(request)
        patience_ms = timeout_ms or self._config.request_timeout_ms
        answer = await channel.begin(request, version, patience_ms)
        throttle_ms = getattr(answer, "throttle_time_ms", 0)
        if throttle_ms:
            self._throttled_until_ms = self._time.now_ms() + throttle_ms
        return answer

    @property
    def is_clogged(self) -> bool:
        """Whether much of what was sent unanswered is not out yet."""
        return self._channel is not None and self._channel.is_clogged

    def send_unanswered(self, request: Message, on_drained: Callable[[], None]) -> None:
        """Send a produce request with acks=0 on a connection that is ready.

        While the connection is clogged nothing more should be sent; `on_drained` tells the end.
        """
        channel = self._open_channel()
        if channel is None:
            raise NetworkError(f"broker {self.node.id} is not connected")
        channel.watch_buffer(on_drained)
        channel.send_unanswered(request, self.version_of(request))

    def close(self) -> None:
        """Close the connection; what is in flight fails."""
        if self._channel is not None:
            self._channel.close("the client was closed")
            self._channel = None

    def _open_channel(self) -> BrokerChannel | None:
        channel = self._channel
        return channel if channel is not None and channel.is_open else None

    async def _connect(self) -> BrokerChannel:
        wait_ms = self._retry_at_ms - self._time.now_ms()
        if wait_ms > 0:
            await self._time.sleep_ms(wait_ms)
        try:
            channel = await self._dial()
            await self._negotiate(channel)
        except NetworkError as error:
            self._back_off()
            log.warn(
                "Connection to node {node.id} ({node.host}:{node.port}) could not be established."
                " Broker may not be available: {error}",
                node=self.node,
                error=error,
            )
            raise
        except AUTHENTICATION_ERRORS as error:
            self._back_off()
            log.error(
                "Connection to node {node.id} ({node.host}:{node.port}) failed authentication due "
                "to: {error}",
                node=self.node,
                error=error,
            )
            raise
        self._failures = 0
        self._retry_at_ms = 0
        self._channel = channel
        return channel

    async def _dial(self) -> BrokerChannel:
        node, config = self.node, self._config
        try:
            return await self._channels.connect(
                node.host,
                node.port,
                config.client_id,
                config.socket_connection_setup_timeout_ms,
            )
        except (ConnectError, DNSLookupError) as error:
            raise NetworkError(f"no connection to {node.host}:{node.port}: {error}") from error

    async def _negotiate(self, channel: BrokerChannel) -> None:
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION
        )
        version = self._api_versions_version
        try:
            answer = await channel.send(request, version, self._config.request_timeout_ms)
        except NetworkError:
            # A broker that does not know this version answers in version 0, which cannot be read
            # as this one: ask the next connection in version 0.
            self._api_versions_version = 0 if version else _NEWEST_API_VERSIONS
            raise
        if answer.error_code != ErrorCode.NONE:
            channel.close("ApiVersions was refused")
            raise NetworkError(f"ApiVersions: {error_for(answer.error_code)()}")
        self._versions = {k.api_key: (k.min_version, k.max_version) for k in answer.api_keys}

    def _back_off(self) -> None:
        config = self._config
        pause_ms = config.reconnect_backoff_ms * (1 << min(self._failures, 10))
        self._failures += 1
        self._retry_at_ms = self._time.now_ms() + min(pause_ms, config.reconnect_backoff_max_ms)
