"""The session of an authenticated connection: renewed before it ends (KIP-368).

The next request after 85 % of the session's time has to wait until the connection has proved anew
who it is, and so do those behind it: between the tokens a broker takes nothing else.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.network.broker_channel import BrokerChannel
from kafkalike.network.sasl_client_authenticator import SaslClientAuthenticator
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.schema import Message
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

log = Logger()

_RENEWED_AFTER: Final = 0.85


class SaslClientSession:
    """Holds requests back while the session is renewed."""

    def __init__(
        self,
        channel: BrokerChannel,
        authenticator: SaslClientAuthenticator,
        time: Time,
        lifetime_ms: int,
    ) -> None:
        self._channel = channel
        self._authenticator = authenticator
        self._time = time
        self._background = Background()
        self._is_renewing = False
        self._held: deque[Callable[[], None]] = deque()
        self._lasts(lifetime_ms)

    def must_wait(self) -> bool:
        """Whether the session is being renewed; this request may be the one that has it renewed."""
        if self._is_renewing:
            return True
        if self._time.now_ms() < self._renew_at_ms or not self._channel.is_open:
            return False
        self._is_renewing = True
        self._background.start(self._renew(), "renewing a SASL session")
        return True

    def begin_later(self, request: Message, version: int, timeout_ms: int) -> "Deferred[Any]":
        """Send a request when the session is renewed."""
        answered: Deferred[Any] = Deferred()

        def begin() -> None:
            try:
                self._channel.begin_now(request, version, timeout_ms).chainDeferred(answered)
            except KafkaError as error:
                answered.errback(error)

        self._held.append(begin)
        return answered

    def send_unanswered_later(self, request: Message, version: int) -> None:
        """Send a request that has no answer when the session is renewed."""

        def send() -> None:
            if self._channel.is_open:
                self._channel.send_unanswered_now(request, version)

        self._held.append(send)

    async def _renew(self) -> None:
        try:
            self._lasts(await self._authenticator.reauthenticate())
        except KafkaError as error:
            log.warn("authenticating again failed: {error}", error=error)
            self._channel.close(f"authenticating again failed: {error}")
        finally:
            self._is_renewing = False
            while self._held:
                self._held.popleft()()

    def _lasts(self, lifetime_ms: int) -> None:
        pause_ms = int(lifetime_ms * _RENEWED_AFTER) if lifetime_ms else 2**62
        self._renew_at_ms = self._time.now_ms() + pause_ms
