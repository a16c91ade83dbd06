"""The client side of a connection to a broker: correlation ids, an in-flight bound, time-outs.

Used between brokers (controller requests, follower fetches, forwarding) and by the client library.
Answers come in the order of the requests; a peer that breaks that order, or is silent for too long,
loses the connection, and with it all that is in flight (Kafka's NetworkClient does the same).
"""

from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, cast
from typing import Protocol as Interface

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IAddress, IHandshakeListener, IPushProducer
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.tcp import Connection
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkalike.network.framing import Framer
from kafkalike.network.tls_failure import SslAuthenticationError, tls_failure
from kafkalike.protocol.api_keys import ApiKey, response_class
from kafkalike.protocol.errors import (
    KafkaError,
    NetworkError,
    ProtocolError,
    RequestTimedOutError,
)
from kafkalike.protocol.header import encode_request_header, parse_response_header
from kafkalike.protocol.schema import Message
from kafkalike.utils.time import Time, Timer

MAX_RESPONSE_BYTES: Final = 2**31 - 1
MAX_IN_FLIGHT: Final = 1000
"""More than that unanswered means that somebody sends without looking at the answers."""

_RECEIVE_BUFFER_BYTES: Final = 256 * 1024
_SIZE: Final = Struct(">i")


class _InFlight:
    __slots__ = ("answered", "api_key", "correlation_id", "timer", "version")

    def __init__(self, api_key: ApiKey, version: int, correlation_id: int) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.answered: Deferred[Any] = Deferred()
        self.timer: Timer | None = None


class WaitingRoom(Interface):
    """Where requests wait while a connection proves anew who it is (`sasl_session.py`)."""

    def must_wait(self) -> bool:
        """Whether a request cannot go out now."""

    def begin_later(self, request: Message, version: int, timeout_ms: int) -> "Deferred[Any]":
        """Send a request when it can go out."""

    def send_unanswered_later(self, request: Message, version: int) -> None:
        """Send a request that has no answer when it can go out."""


@implementer(IHandshakeListener, IPushProducer)
class BrokerChannel(Protocol):
    """One connection; several requests may be in flight, and the first fault ends it."""

    def __init__(self, time: Time, client_id: str | None) -> None:
        self._time = time
        self._client_id = client_id
        self._framer = Framer(MAX_RESPONSE_BYTES)
        self._in_flight: deque[_InFlight] = deque()
        self._next_correlation_id = 0
        self._why_closed = ""
        self._secured: Deferred[None] | None = None
        self._is_secured = False
        self._tls_failure: str | None = None
        self._on_drained: Callable[[], None] | None = None
        self.is_open = False
        self.is_clogged = False
        self.waiting_room: WaitingRoom | None = None
        self.on_lost: Callable[[], None] | None = None

    @classmethod
    async def connect(
        cls,
        reactor: Any,  # Any: no one reactor interface has it all
        time: Time,
        host: str,
        port: int,
        client_id: str | None,
        timeout_ms: int,
        wrap: Callable[[Any], Any] | None = None,
    ) -> "BrokerChannel":
        """Connect to a broker; raises Twisted's ConnectError where there is none.

        `wrap` puts TLS around the factory; its handshake is still to be waited for.
        """
        endpoint = HostnameEndpoint(reactor, host, port, timeout=timeout_ms / 1000)
        factory: Any = _ChannelFactory(time, client_id)
        if wrap is None:
            channel: Any = await endpoint.connect(factory)
        else:
            channel = cast(Any, await endpoint.connect(wrap(factory))).inner
        return cast(BrokerChannel, channel)

    @property
    def in_flight_count(self) -> int:
        """How many requests have no answer yet."""
        return len(self._in_flight)

    def connectionMade(self) -> None:  # noqa: D102, N802, RUF100
        transport = cast(Any, self.transport)
        transport.setTcpNoDelay(True)
        transport.bufferSize = _RECEIVE_BUFFER_BYTES
        self.is_open = True

    def until_secured(self) -> "Deferred[None]":
        """Wait for the end of the TLS handshake; `SslAuthenticationError` if it fails."""
        self._secured = Deferred()
        if self._is_secured:
            self.handshakeCompleted()
        elif not self.is_open:
            self._not_secured(self._tls_failure)
        return self._secured

    def handshakeCompleted(self) -> None:  # noqa: D102, N802, RUF100
        self._is_secured = True
        if self._secured is not None and not self._secured.called:
            self._secured.callback(None)

    def _not_secured(self, why: str | None) -> None:
        if self._secured is None or self._secured.called:
            return
        if why is None:
            self._secured.errback(NetworkError(f"during the TLS handshake: {self._why_closed}"))
        else:
            self._secured.errback(SslAuthenticationError(f"SSL handshake failed: {why}"))

    # Any: the class of the answer follows from the request's, which mypy cannot see.
    async def send(self, request: Message, version: int, timeout_ms: int) -> Any:
        """Send a request and wait for its answer.

        A request that times out ends the connection. One whose wait is cancelled keeps its place:
        its answer is dropped when it comes.
        """
        return await self.begin(request, version, timeout_ms)

    def begin(self, request: Message, version: int, timeout_ms: int) -> "Deferred[Any]":
        """Send a request now; its answer comes later. Raises if nothing was sent."""
        if self.waiting_room is not None and self.waiting_room.must_wait():
            return self.waiting_room.begin_later(request, version, timeout_ms)
        return self.begin_now(request, version, timeout_ms)

    def begin_now(self, request: Message, version: int, timeout_ms: int) -> "Deferred[Any]":
        """Send a request, also while others have to wait."""
        if len(self._in_flight) >= MAX_IN_FLIGHT:
            raise NetworkError(f"{MAX_IN_FLIGHT} requests are in flight: wait for their answers")
        sent, frame = self._number(request, version)
        self._in_flight.append(sent)
        sent.timer = self._time.call_later_ms(timeout_ms, self._timed_out, sent, timeout_ms)
        self._write(frame)
        return sent.answered

    def send_unanswered(self, request: Message, version: int) -> None:
        """Send a request that has no answer: a produce with acks=0. Raises if it was not sent."""
        if self.waiting_room is not None and self.waiting_room.must_wait():
            self.waiting_room.send_unanswered_later(request, version)
            return
        self.send_unanswered_now(request, version)

    def send_unanswered_now(self, request: Message, version: int) -> None:
        """Send a request without answer, also while others have to wait."""
        _, frame = self._number(request, version)
        self._write(frame)

    def watch_buffer(self, on_drained: Callable[[], None]) -> None:
        """Keep `is_clogged` true while much waits for the socket; tell when that is over.

        For who sends without being answered: others wait for answers, and that is bound enough.
        """
        if self._on_drained is None:
            self._on_drained = on_drained
            cast(Any, self.transport).registerProducer(self, True)

    def pauseProducing(self) -> None:  # noqa: D102, N802, RUF100
        self.is_clogged = True

    def resumeProducing(self) -> None:  # noqa: D102, N802, RUF100
        self.is_clogged = False
        if self._on_drained is not None:
            self._on_drained()

    def stopProducing(self) -> None:  # noqa: D102, N802, RUF100
        self.is_clogged = False

    def _write(self, frame: bytes) -> None:
        """Send at once what the socket takes: Twisted would wait for the reactor's next turn."""
        transport = cast(Any, self.transport)
        if isinstance(transport, Connection) and not (
            transport.TLS or transport.dataBuffer or transport._tempDataBuffer
        ):
            try:
                sent = transport.socket.send(frame)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self.close(str(error))
                return
            if sent == len(frame):
                return
            frame = frame[sent:]
        transport.write(frame)

    def _number(self, request: Message, version: int) -> tuple[_InFlight, bytes]:
        """Give a request its correlation id, and return it with its frame."""
        if not self.is_open:
            raise NetworkError(self._why_closed or "the connection is not open")
        sent = _InFlight(ApiKey(request.api_key), version, self._next_correlation_id)
        frame = self._frame(request, sent)
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        return sent, frame

    def close(self, why: str = "closed by this side") -> None:
        """Close at once; what is in flight fails with a `NetworkError` that says why."""
        if self.is_open:
            self._why_closed = self._why_closed or why
            cast(Any, self.transport).abortConnection()

    def dataReceived(self, data: bytes) -> None:  # noqa: D102, N802, RUF100
        try:
            for buffer, start, end in self._framer.feed(data):
                self._answer(buffer, start, end)
        except ProtocolError as error:
            self.close(str(error))

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        self.is_open = False
        self._tls_failure = tls_failure(reason)
        self._why_closed = self._why_closed or self._tls_failure or reason.getErrorMessage()
        self._not_secured(self._tls_failure)
        lost, self._in_flight = self._in_flight, deque()
        for waiting in lost:
            self._settle(waiting, self._loss(f"{waiting.api_key.api_name}: {self._why_closed}"))
        if self.on_lost is not None:
            self.on_lost()

    def _loss(self, why: str) -> KafkaError:
        return NetworkError(why) if self._tls_failure is None else SslAuthenticationError(why)

    def _frame(self, request: Message, sent: _InFlight) -> bytes:
        header = encode_request_header(
            sent.api_key, sent.version, sent.correlation_id, self._client_id
        )
        frame: list[Any] = [header]
        request.encode_into(sent.version, frame)
        frame.insert(0, _SIZE.pack(sum(map(len, frame))))
        return b"".join(frame)  # records may be memoryviews, which Twisted does not take

    def _answer(self, buffer: bytes, start: int, end: int) -> None:
        if not self._in_flight:
            raise ProtocolError("an answer to nothing")
        asked = self._in_flight[0]
        header = parse_response_header(buffer, asked.api_key, asked.version, start, end)
        if header.correlation_id != asked.correlation_id:
            raise ProtocolError(
                f"answer {header.correlation_id} where {asked.correlation_id} is due"
            )
        response = response_class(asked.api_key).decode(
            buffer, asked.version, header.body_start, end
        )
        self._in_flight.popleft()
        self._settle(asked, response)

    def _timed_out(self, waiting: _InFlight, timeout_ms: int) -> None:
        why = f"no answer to {waiting.api_key.api_name} in {timeout_ms} ms"
        self._in_flight.remove(waiting)
        self._settle(waiting, RequestTimedOutError(why))
        self.close(why)

    @staticmethod
    def _settle(waiting: _InFlight, result: Message | Exception) -> None:
        if waiting.timer is not None and waiting.timer.active():
            waiting.timer.cancel()
        # A wait that was cancelled has its result already; Deferred drops this one.
        if isinstance(result, Exception):
            waiting.answered.errback(result)
        else:
            waiting.answered.callback(result)


class _ChannelFactory(Factory):
    noisy = False

    def __init__(self, time: Time, client_id: str | None) -> None:
        self._time = time
        self._client_id = client_id

    def buildProtocol(self, addr: IAddress | None) -> BrokerChannel:  # noqa: N802, RUF100
        return BrokerChannel(self._time, self._client_id)
