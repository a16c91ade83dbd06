"""The tap: a proxy that passes frames on and tells what they were.

Requests are passed on as they come. Answers are passed on frame by frame, because those that name
brokers are changed: a client that was told the brokers' own addresses would go past the tap. For
each broker it opens one more port. What is no Kafka at all (TLS, say) goes through untouched.
"""

import contextlib
import struct
from collections.abc import Callable
from typing import Any, Final, cast

from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import CannotListenError, ConnectError, DNSLookupError
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from kafkalike.cli.wire.addresses import Address, redirect
from kafkalike.cli.wire.conversation import Conversation, Said
from kafkalike.network.framing import Framer
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import response_header_bytes
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

MAX_FRAME_BYTES: Final = 0x16000000 - 1
"""Larger than any frame of a sane cluster; TLS begins with a byte of 0x16, so it says more."""

_CONNECT_TIMEOUT_S: Final = 10
_PORTS: Final = 65_536
_PORTS_TRIED: Final = 100
_SIZE: Final = struct.Struct(">i")

OnFrame = Callable[[int, Said, Address, bytes], None]
"""Called with the number of the connection, the frame as read, the broker, and its bytes."""


class Tap:
    """All ports of a tap and the connections through them; `tell` hears what is no frame."""

    def __init__(
        self,
        reactor: Any,  # Any: no one reactor interface has it all
        on_frame: OnFrame,
        tell: Callable[[str], None],
        *,
        follow: bool = True,
    ) -> None:
        self.reactor = reactor
        self.time = Time(reactor)
        self.on_frame = on_frame
        self.tell = tell
        self.follow = follow
        self._background = Background()
        self._ports: dict[Address, Any] = {}
        self._host = ""
        self._connections = 0

    def listen(self, host: str, port: int, target: Address) -> int:
        """Open a port for a broker and return its number; CannotListenError if it is taken."""
        self._host = host
        listening = self.reactor.listenTCP(port, _TapFactory(self, target), interface=host)
        self._ports[target] = listening
        return int(listening.getHost().port)

    def through(self, broker: Address) -> int:
        """Return the port that leads to a broker, opened now if there is none yet."""
        if broker in self._ports:
            return int(self._ports[broker].getHost().port)
        highest = max(int(port.getHost().port) for port in self._ports.values())
        opened = self._listen_near(highest + 1, broker)
        self.tell(f"port {opened} leads to {broker[0]}:{broker[1]}")
        return opened

    def _listen_near(self, first: int, broker: Address) -> int:
        """Listen on the next port that is free, or on any if there is none near."""
        for port in range(first, min(first + _PORTS_TRIED, _PORTS)):
            with contextlib.suppress(CannotListenError):
                return self.listen(self._host, port, broker)
        return self.listen(self._host, 0, broker)

    def begin(self, client: "ClientSide") -> int:
        """Take a client's connection: number it, and connect it to its broker."""
        self._connections += 1
        self._background.start(client.connect_to_broker(), "connecting to a broker")
        return self._connections

    def close(self) -> None:
        """Close the ports and give up connecting; connections end with the process."""
        self._background.stop()
        for port in self._ports.values():
            port.stopListening()


class _TapFactory(Factory):
    noisy = False

    def __init__(self, tap: Tap, target: Address) -> None:
        self._tap = tap
        self._target = target

    def buildProtocol(self, addr: IAddress | None) -> Protocol:  # noqa: N802, RUF100
        return ClientSide(self._tap, self._target)


class ClientSide(Protocol):
    """A client's connection; it has the broker's as its other end."""

    def __init__(self, tap: Tap, target: Address) -> None:
        self.tap = tap
        self.target = target
        self.conversation = Conversation()
        self.number = 0
        self.is_kafka = True
        self._framer = Framer(MAX_FRAME_BYTES)
        self._broker: BrokerSide | None = None
        self._is_lost = False

    def connectionMade(self) -> None:  # noqa: D102, N802, RUF100
        cast(Any, self.transport).pauseProducing()  # until the broker is there to be written to
        self.number = self.tap.begin(self)

    async def connect_to_broker(self) -> None:
        """Connect the other end; a broker that is not there closes the client's connection."""
        host, port = self.target
        endpoint = HostnameEndpoint(self.tap.reactor, host, port, timeout=_CONNECT_TIMEOUT_S)
        try:
            broker = await endpoint.connect(cast(Any, _BrokerFactory(self)))
        except (ConnectError, DNSLookupError) as error:
            self.tap.tell(f"#{self.number} cannot connect to {host}:{port}: {error}")
            cast(Any, self.transport).loseConnection()
            return
        self._broker = cast(BrokerSide, broker)
        if self._is_lost:
            self._broker.end()
            return
        # Whoever is slower to read holds the other back.
        self._broker.transport_of().registerProducer(self.transport, True)
        cast(Any, self.transport).registerProducer(self._broker.transport, True)
        cast(Any, self.transport).resumeProducing()

    def dataReceived(self, data: bytes) -> None:  # noqa: D102, N802, RUF100
        assert self._broker is not None
        if self.is_kafka:
            try:
                for buffer, start, end in self._framer.feed(data):
                    self._tell(buffer[start:end])
            except ProtocolError as error:
                self.is_kafka = False
                self.tap.tell(f"#{self.number} is not Kafka, or it is TLS: {error}")
        self._broker.transport_of().write(data)

    def _tell(self, frame: bytes) -> None:
        said = self.conversation.request(frame, self.tap.time.now_ms())
        self.tap.on_frame(self.number, said, self.target, frame)

    def answer(self, data: bytes) -> None:
        """Write what the broker sent."""
        cast(Any, self.transport).write(data)

    def through(self, broker: Address) -> Address:
        """Return the address at which this client reaches a broker through the tap."""
        return str(cast(Any, self.transport).getHost().host), self.tap.through(broker)

    def end(self) -> None:
        """Close, after what was written."""
        cast(Any, self.transport).loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        self._is_lost = True
        if self._broker is not None:
            self._broker.end()


class _BrokerFactory(Factory):
    noisy = False

    def __init__(self, client: ClientSide) -> None:
        self._client = client

    def buildProtocol(self, addr: IAddress | None) -> Protocol:  # noqa: N802, RUF100
        return BrokerSide(self._client)


class BrokerSide(Protocol):
    """The connection to the broker."""

    def __init__(self, client: ClientSide) -> None:
        self._client = client
        self._framer = Framer(MAX_FRAME_BYTES)

    def transport_of(self) -> Any:  # Any: Twisted's transports have no one interface
        """Return the transport."""
        return self.transport

    def dataReceived(self, data: bytes) -> None:  # noqa: D102, N802, RUF100
        if not self._client.is_kafka:
            self._client.answer(data)
            return
        try:
            for buffer, start, end in self._framer.feed(data):
                self._client.answer(self._passed_on(buffer[start:end]))
        except ProtocolError as error:
            self._client.tap.tell(
                f"#{self._client.number} the broker does not speak Kafka: {error}"
            )
            self._client.end()

    def _passed_on(self, frame: bytes) -> bytes:
        client, tap = self._client, self._client.tap
        said = client.conversation.response(frame, tap.time.now_ms())
        tap.on_frame(client.number, said, client.target, frame)
        if tap.follow and said.message is not None and redirect(said.message, client.through):
            assert said.api_key is not None
            header = response_header_bytes(said.api_key, said.version, said.correlation_id)
            frame = header + said.message.encode(said.version)
        return _SIZE.pack(len(frame)) + frame

    def end(self) -> None:
        """Close, after what was written."""
        cast(Any, self.transport).loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        self._client.end()
