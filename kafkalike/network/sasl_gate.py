"""Stands before the requests of a SASL connection: nothing passes before it is authenticated.

The I/O around `authenticator.py`: sends its answers, delays its refusals, watches over the end of
sessions. Afterwards a request costs one look at its API key.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from twisted.logger import Logger

from kafkalike.network.authenticator import (
    Authenticated,
    GoOn,
    PreviousSession,
    Refused,
    SaslServerAuthenticator,
)
from kafkalike.network.connection import Connection, RequestHandler
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.utils.time import Time

log = Logger()

_API_KEY: Final = Struct(">h")
_MIN_REAUTH_INTERVAL_MS: Final = 1000
"""A client may not authenticate again more often, as in Kafka."""

NewAuthenticator = Callable[[Connection, PreviousSession | None], SaslServerAuthenticator]


class SaslGate:
    """The requests of one connection."""

    def __init__(
        self,
        new_authenticator: NewAuthenticator,
        handle: RequestHandler,
        time: Time,
        *,
        failure_delay_ms: int,
        max_request_bytes: int,
    ) -> None:
        self._new_authenticator = new_authenticator
        self._handle = handle
        self._time = time
        self._failure_delay_ms = failure_delay_ms
        self._max_request_bytes = max_request_bytes
        self._authenticator: SaslServerAuthenticator | None = None
        self._session: PreviousSession | None = None
        self._session_expires_ms: int | None = None
        self._reauthenticated_ms = 0

    def handle(self, connection: Connection, buffer: bytes, start: int, end: int) -> None:
        """Take a frame: a step of the exchange, or a request to pass on."""
        authenticator = self._authenticator
        if authenticator is None:
            if self._session is None or self._begins_reauthentication(buffer, start, end):
                authenticator = self._new_authenticator(connection, self._session)
                self._authenticator = authenticator
            else:
                self._pass_on(connection, buffer, start, end)
                return
        self._feed(connection, authenticator, buffer[start:end])

    def _pass_on(self, connection: Connection, buffer: bytes, start: int, end: int) -> None:
        expires_ms = self._session_expires_ms
        if expires_ms is not None and self._time.now_ms() > expires_ms:
            connection.refuse(f"the session of {connection.principal} has expired")
        else:
            self._handle(connection, buffer, start, end)

    def _begins_reauthentication(self, buffer: bytes, start: int, end: int) -> bool:
        """Whether a request begins another exchange; without sessions it is an ordinary one."""
        if end - start < 2 or _API_KEY.unpack_from(buffer, start)[0] != ApiKey.SASL_HANDSHAKE:
            return False
        now_ms = self._time.now_ms()
        since_ms = now_ms - self._reauthenticated_ms
        if self._session_expires_ms is None or since_ms < _MIN_REAUTH_INTERVAL_MS:
            return False
        self._reauthenticated_ms = now_ms
        return True

    def _feed(
        self, connection: Connection, authenticator: SaslServerAuthenticator, frame: bytes
    ) -> None:
        match authenticator.feed(frame, self._time.now_ms()):
            case GoOn(answer):
                connection.respond(None if answer is None else [answer])
            case Authenticated(answer, principal, session_expires_ms):
                self._session = PreviousSession(authenticator.mechanism, principal)
                self._session_expires_ms = session_expires_ms
                self._authenticator = None
                connection.principal = principal
                connection.max_frame_bytes = self._max_request_bytes
                connection.respond(None if answer is None else [answer])
            case Refused(answer, why):
                log.info(
                    "Failed {kind}authentication with {peer} on {listener}: {who} ({why})",
                    kind="" if self._session is None else "re-",
                    peer=connection.peer_host,
                    listener=connection.listener_name,
                    who=authenticator.who,
                    why=why,
                )
                self._time.call_later_ms(self._failure_delay_ms, connection.finish, answer)
