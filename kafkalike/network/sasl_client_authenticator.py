"""Proving to a broker who we are, before any request (Kafka's SaslClientAuthenticator).

ApiVersions, SaslHandshake, then SaslAuthenticate until the mechanism is satisfied. Brokers older
than Kafka 1.0, which take bare tokens, are not spoken to.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    ErrorCode,
    IllegalSaslStateError,
    SaslAuthenticationError,
    UnsupportedSaslMechanismError,
    UnsupportedVersionError,
    error_for,
)
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from kafkalike.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalike.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkalike.protocol.schema import Message
from kafkalike.security.sasl.mechanism import SaslError, SaslLogin
from kafkalike.utils.blocking import RunBlocking

_HANDSHAKE_VERSION: Final = 1

# Any: the class of the answer follows from the request's.
Send = Callable[[Message, int], Awaitable[Any]]


class SaslClientAuthenticator:
    """Authenticates one connection, and again whenever its session nears the end."""

    def __init__(self, login: SaslLogin, send: Send, run_blocking: RunBlocking) -> None:
        self._login = login
        self._send = send
        self._run_blocking = run_blocking
        self._version = 0

    async def authenticate(self) -> int:
        """Authenticate; return how long the session lasts in ms, 0 for without end."""
        # In version 0: an old broker takes what it cannot read for a token of GSSAPI.
        answer = await self._send(ApiVersionsRequest(), 0)
        versions = {k.api_key: k.max_version for k in answer.api_keys}
        if versions.get(ApiKey.SASL_AUTHENTICATE, -1) < 0:
            raise UnsupportedVersionError(
                "the broker has no SaslAuthenticate: SASL needs Kafka 1.0 or newer here"
            )
        self._version = min(
            versions[ApiKey.SASL_AUTHENTICATE], ApiKey.SASL_AUTHENTICATE.max_version
        )
        return await self.reauthenticate()

    async def reauthenticate(self) -> int:
        """Do so on a connection that is authenticated already."""
        await self._handshake()
        client = self._login.create()
        challenge = b""
        while True:
            try:
                # It may stretch a key, or ask somebody for a token.
                token = await self._run_blocking(client.evaluate, challenge)
            except SaslError as error:
                raise SaslAuthenticationError(str(error)) from error
            if client.is_complete and not token:
                return self._lifetime_ms
            challenge = await self._exchange(token)
            if client.is_complete:
                return self._lifetime_ms

    async def _handshake(self) -> None:
        mechanism = self._login.mechanism
        answer = await self._send(SaslHandshakeRequest(mechanism=mechanism), _HANDSHAKE_VERSION)
        if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            enabled = ", ".join(answer.mechanisms)
            raise UnsupportedSaslMechanismError(
                f"Client SASL mechanism '{mechanism}' not enabled in the server, enabled "
                f"mechanisms are [{enabled}]"
            )
        if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise IllegalSaslStateError(
                f"Unexpected handshake request with client mechanism {mechanism}, enabled "
                f"mechanisms are [{', '.join(answer.mechanisms)}]: does this port want SASL?"
            )
        if answer.error_code != ErrorCode.NONE:
            raise error_for(answer.error_code)(f"SaslHandshake with mechanism {mechanism}")

    async def _exchange(self, token: bytes) -> bytes:
        request = SaslAuthenticateRequest(auth_bytes=token)
        answer = await self._send(request, self._version)
        if answer.error_code != ErrorCode.NONE:
            raise error_for(answer.error_code)(answer.error_message or "")
        self._lifetime_ms = int(answer.session_lifetime_ms)
        return bytes(answer.auth_bytes)
