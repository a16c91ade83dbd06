"""One client connection's way to one other broker: a connection of its own, in the client's order.

It is opened by the first request that needs it and closed with the client's connection. Sharing it
with other clients would let them overtake each other; two for one client would let its own
requests do so.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.error import ConnectError, DNSLookupError

from kafkalike.protocol.errors import KafkaError, NetworkError
from kafkalike.protocol.schema import Message
from kafkalike.utils.time import Time

_LEAST_SETUP_MS: Final = 1000
"""A request that waits for nothing (a limit of 0) still has the time to get there."""


class NotSentError(Exception):
    """The request never left this broker, so it had no effect."""


class Channel(Protocol):
    """What of a `BrokerChannel` is used here."""

    on_lost: Callable[[], None] | None

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""

    def begin(self, request: Message, version: int, timeout_ms: int) -> "Deferred[Any]":
        """Send a request now; its answer comes later."""

    def send_unanswered(self, request: Message, version: int) -> None:
        """Send a request that has no answer."""

    def close(self, why: str = ...) -> None:
        """Close at once."""


Connect = Callable[[int], Awaitable[Channel]]
"""Opens a channel, within so many milliseconds."""


class Upstream:
    """Sends requests in the order in which they come; several may be in flight."""

    def __init__(self, connect: Connect, time: Time, on_silent_loss: Callable[[], None]) -> None:
        self._connect = connect
        self._time = time
        self._on_silent_loss = on_silent_loss
        self._channel: Channel | None = None
        self._in_order = DeferredLock()
        self._has_unanswered = False
        self._is_closed = False

    # Any: the class of the answer follows from the request's, which mypy cannot see.
    async def send(self, request: Message, version: int, *, setup_ms: int, patience_ms: int) -> Any:
        """Send a request and wait for its answer.

        The request's own time limit shrinks by what connecting took; `patience_ms` is how much
        longer than that limit the answer may take. Raises `NotSentError`, or a `NetworkError` or
        `RequestTimedOutError` where nobody knows what became of the request.
        """
        started_ms = self._time.now_ms()
        await self._in_order.acquire()
        try:
            channel = await self._open(_setup_limit_ms(request, setup_ms))
            left_ms = _shrink(request, self._time.now_ms() - started_ms)
            answered = _begin(channel, request, version, left_ms + patience_ms)
        finally:
            self._in_order.release()
        return await answered

    async def send_unanswered(self, request: Message, version: int, *, setup_ms: int) -> None:
        """Send a produce with acks=0; raises `NotSentError`."""
        await self._in_order.acquire()
        try:
            channel = await self._open(setup_ms)
            try:
                channel.send_unanswered(request, version)
            except KafkaError as error:
                raise NotSentError(str(error)) from error
            self._has_unanswered = True
        finally:
            self._in_order.release()

    def close(self, why: str) -> None:
        """Close the connection for good; what is in flight fails."""
        self._is_closed = True
        self.disconnect(why)

    def disconnect(self, why: str) -> None:
        """Close the connection that stands, if any; the next request opens another."""
        if self._channel is not None:
            self._channel.close(why)

    async def _open(self, timeout_ms: int) -> Channel:
        if self._channel is None or not self._channel.is_open:
            self._channel = None
            try:
                channel = await self._connect(timeout_ms)
            except (ConnectError, DNSLookupError, KafkaError) as error:
                raise NotSentError(str(error)) from error
            channel.on_lost = self._lost
            self._channel = channel
            self._has_unanswered = False
        if self._is_closed:
            self._channel.close("the client is gone")
            raise NotSentError("the client is gone")
        return self._channel

    def _lost(self) -> None:
        """Pass on what a lost connection tells: with acks=0 that is all that tells of an error."""
        if self._has_unanswered and not self._is_closed:
            self._on_silent_loss()


def _begin(channel: Channel, request: Message, version: int, timeout_ms: int) -> "Deferred[Any]":
    try:
        return channel.begin(request, version, timeout_ms)
    except NetworkError as error:
        raise NotSentError(str(error)) from error


def _setup_limit_ms(request: Message, setup_ms: int) -> int:
    """Return how long connecting may take: no longer than the request itself, if it has a limit."""
    limit_ms: int = getattr(request, "timeout_ms", setup_ms)
    return min(setup_ms, max(limit_ms, _LEAST_SETUP_MS))


def _shrink(request: Message, spent_ms: int) -> int:
    """Take the time already spent off the request's own limit; return what is left of it."""
    limit_ms: int | None = getattr(request, "timeout_ms", None)
    if limit_ms is None:
        return 0
    left_ms = max(0, limit_ms - spent_ms)
    request.timeout_ms = left_ms  # type: ignore[attr-defined]  # it has one, as getattr has shown
    return left_ms
