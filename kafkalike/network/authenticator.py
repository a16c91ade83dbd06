"""What a client of a SASL listener must say before it may ask for anything: decisions only.

Kafka's `SaslServerAuthenticator` without the network: frames in, steps out. A client may ask for
ApiVersions once, names a mechanism (SaslHandshake), and then exchanges tokens: in SaslAuthenticate
requests after a handshake of version 1, as bare frames after version 0. What comes in any other
order ends the connection.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple

from kafkalike.network.sasl_state import SaslState
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.errors import (
    ErrorCode,
    IllegalSaslStateError,
    KafkaError,
    ProtocolError,
    SaslAuthenticationError,
    UnsupportedSaslMechanismError,
)
from kafkalike.protocol.header import RequestHeader, parse_request_header, response_header_bytes
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalike.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalike.protocol.messages.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafkalike.protocol.schema import Message
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.sasl.mechanism import SaslError, SaslServer

_SIZE: Final = Struct(">i")


class SaslServerMechanism(NamedTuple):
    """A mechanism that a listener has: how an exchange begins, how long a session lasts."""

    create: Callable[[], SaslServer]
    max_reauth_ms: int


@dataclass(frozen=True, slots=True)
class GoOn:
    """Send the answer (with its size before it), if there is one, and wait for the next frame."""

    answer: bytes | None


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Send the answer; from now on the connection speaks for this principal."""

    answer: bytes | None
    principal: KafkaPrincipal
    session_expires_ms: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """Send the answer, if there is one, after the delay for failures, and close."""

    answer: bytes | None
    why: str


Step = GoOn | Authenticated | Refused
ApiVersionsAnswer = Callable[[int, ApiVersionsRequest], ApiVersionsResponse]
"""Answers ApiVersions of some version as the broker does."""
PrincipalOf = Callable[[SaslServer, str], KafkaPrincipal]
"""Makes the principal of a complete exchange with a mechanism."""


class PreviousSession(NamedTuple):
    """What must not change when a client authenticates again."""

    mechanism: str
    principal: KafkaPrincipal


class SaslServerAuthenticator:
    """One authentication of one connection; `feed` it frame by frame until it says the end."""

    def __init__(
        self,
        mechanisms: Mapping[str, SaslServerMechanism],
        answer_api_versions: ApiVersionsAnswer,
        principal_of: PrincipalOf,
        previous: PreviousSession | None = None,
    ) -> None:
        self._mechanisms = mechanisms
        self._answer_api_versions = answer_api_versions
        self._principal_of = principal_of
        self._previous = previous
        self._has_headers = False
        self._server: SaslServer
        self.mechanism = ""
        self.state = SaslState.INITIAL_REQUEST if previous is None else SaslState.REAUTH_HANDSHAKE

    @property
    def who(self) -> str:
        """Who tries to come in, for the log."""
        name = self._server.claimed_id if self.mechanism else ""
        return f"{name or 'unknown user'} by {self.mechanism or 'no mechanism'}"

    def feed(self, frame: bytes, now_ms: int) -> Step:
        """Take one frame and say what is to be done."""
        try:
            return self._step(frame, now_ms)
        except _AnsweredError as error:
            return self._refused(error.answer, str(error))
        except (KafkaError, SaslError, ProtocolError) as error:
            return self._refused(None, str(error))

    def _step(self, frame: bytes, now_ms: int) -> Step:
        if self.state is SaslState.AUTHENTICATE:
            if self._has_headers:
                return self._authenticate(frame, now_ms)
            return self._evaluate_bare(frame, now_ms)
        if self.state is SaslState.REAUTH_BAD_MECHANISM:
            raise SaslAuthenticationError(
                f"SASL mechanism '{self.mechanism}' requested by client is not supported for "
                f"re-authentication of mechanism '{self._previous and self._previous.mechanism}'"
            )
        return self._handshake_or_versions(frame)

    # Before the tokens

    def _handshake_or_versions(self, frame: bytes) -> Step:
        header = self._first_header(frame)
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            return self._handshake(header, _decoded(header, frame))
        if header.api_key != ApiKey.API_VERSIONS:
            name = ApiKey(header.api_key).name
            raise IllegalSaslStateError(
                f"Unexpected Kafka request of type {name} during SASL handshake."
            )
        if self.state is not SaslState.INITIAL_REQUEST:
            raise IllegalSaslStateError(
                "Unexpected ApiVersions request received during SASL authentication state "
                f"{self.state.name}"
            )
        return self._api_versions(header, frame)

    def _first_header(self, frame: bytes) -> RequestHeader:
        try:
            return parse_request_header(frame)
        except ProtocolError as error:
            if self.state is not SaslState.INITIAL_REQUEST:
                raise
            # Clients of Kafka 0.9 begin with a token of GSSAPI, which this broker does not have.
            raise UnsupportedSaslMechanismError(
                f"the first packet is no Kafka request, and GSSAPI is not supported: {error}"
            ) from error

    def _api_versions(self, header: RequestHeader, frame: bytes) -> Step:
        is_known = header.api_version in ApiKey.API_VERSIONS.versions
        request = _decoded(header, frame) if is_known else ApiVersionsRequest()
        assert isinstance(request, ApiVersionsRequest)
        answer = self._answer_api_versions(header.api_version, request)
        if answer.error_code == ErrorCode.NONE:
            self._transition_to(SaslState.HANDSHAKE_REQUEST)
        return GoOn(_framed(header, answer, header.api_version if is_known else 0))

    def _handshake(self, header: RequestHeader, request: Message) -> Step:
        assert isinstance(request, SaslHandshakeRequest)
        self._has_headers = header.api_version >= 1
        names = list(self._mechanisms)
        if request.mechanism not in self._mechanisms:
            answer = SaslHandshakeResponse(
                error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=names
            )
            why = f"Unsupported SASL mechanism {request.mechanism}"
            raise _AnsweredError(why, _framed(header, answer, header.api_version))
        self._server = self._mechanisms[request.mechanism].create()
        self.mechanism = request.mechanism
        if self._previous is not None and self._previous.mechanism != request.mechanism:
            self._transition_to(SaslState.REAUTH_BAD_MECHANISM)
        else:
            self._transition_to(SaslState.AUTHENTICATE)
        answer = SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=names)
        return GoOn(_framed(header, answer, header.api_version))

    # The tokens

    def _evaluate_bare(self, token: bytes, now_ms: int) -> Step:
        answer = self._server.evaluate(token)
        return self._gone_on(_SIZE.pack(len(answer)) + answer, now_ms)

    def _authenticate(self, frame: bytes, now_ms: int) -> Step:
        header = parse_request_header(frame)
        if header.api_key != ApiKey.SASL_AUTHENTICATE:
            name = ApiKey(header.api_key).name
            why = f"Unexpected Kafka request of type {name} during SASL authentication."
            raise _AnsweredError(why, _illegal_state(header))
        request = _decoded(header, frame)
        assert isinstance(request, SaslAuthenticateRequest)
        try:
            token = self._server.evaluate(bytes(request.auth_bytes))
            self._check_principal_is_unchanged()
        except (SaslError, KafkaError) as error:
            raise self._failure(header, error) from error
        answer = SaslAuthenticateResponse(
            error_code=ErrorCode.NONE,
            auth_bytes=token,
            session_lifetime_ms=self._session_lifetime_ms(now_ms),
        )
        return self._gone_on(_framed(header, answer, header.api_version), now_ms)

    def _gone_on(self, answer: bytes, now_ms: int) -> Step:
        if not self._server.is_complete:
            return GoOn(answer)
        self._check_principal_is_unchanged()
        principal = self._principal_of(self._server, self.mechanism)
        lifetime_ms = self._session_lifetime_ms(now_ms)
        self._transition_to(SaslState.COMPLETE)
        return Authenticated(answer, principal, now_ms + lifetime_ms if lifetime_ms else None)

    def _check_principal_is_unchanged(self) -> None:
        if self._previous is None or not self._server.is_complete:
            return
        before, now = self._previous.principal, self._principal_of(self._server, self.mechanism)
        if before != now:
            raise SaslAuthenticationError(
                "Cannot change principals during re-authentication from "
                f"{before.principal_type}.{before.name}: {now.principal_type}.{now.name}"
            )

    def _session_lifetime_ms(self, now_ms: int) -> int:
        """How long the client may go on before it must authenticate again; 0 is without end."""
        if not self._server.is_complete:
            return 0
        lifetime_ms = self._mechanisms[self.mechanism].max_reauth_ms
        if self._server.expires_at_ms is not None:
            lifetime_ms = min(lifetime_ms, self._server.expires_at_ms - now_ms)
        return max(0, lifetime_ms)

    def _failure(self, header: RequestHeader, error: Exception) -> "_AnsweredError":
        if isinstance(error, SaslAuthenticationError):
            told = str(error)
        else:
            # The reason may tell whether a user exists: the client does not read it, our log does.
            kind = "authentication" if self._previous is None else "re-authentication"
            told = (
                f"Authentication failed during {kind} due to invalid credentials with SASL "
                f"mechanism {self.mechanism}"
            )
        answer = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=told
        )
        return _AnsweredError(str(error), _framed(header, answer, header.api_version))

    def _refused(self, answer: bytes | None, why: str) -> Refused:
        self._transition_to(SaslState.FAILED)
        return Refused(answer, why)

    def _transition_to(self, state: SaslState) -> None:
        if self.state not in state.valid_previous_states:
            raise AssertionError(f"{state.name} cannot be entered from {self.state.name}")
        self.state = state


class _AnsweredError(Exception):
    """A refusal that the client is told, after the delay."""

    def __init__(self, why: str, answer: bytes | None) -> None:
        super().__init__(why)
        self.answer = answer


def _decoded(header: RequestHeader, frame: bytes) -> Message:
    key = ApiKey(header.api_key)
    if header.api_version not in key.versions:
        raise ProtocolError(f"Version {header.api_version} is not supported for apiKey {key.name}")
    return request_class(key).decode(frame, header.api_version, header.body_start, len(frame))


def _illegal_state(header: RequestHeader) -> bytes | None:
    """Answer a request that has no place here, if its answer has a place for an error."""
    key = ApiKey(header.api_key)
    answer = response_class(key)
    has_place = any(field.name == "error_code" for field in answer.table.fields)
    if not has_place or header.api_version not in key.versions:
        return None
    return _framed(header, answer(error_code=ErrorCode.ILLEGAL_SASL_STATE), header.api_version)


def _framed(header: RequestHeader, answer: Message, version: int) -> bytes:
    head = response_header_bytes(header.api_key, version, header.correlation_id)
    body = answer.encode(version)
    return _SIZE.pack(len(head) + len(body)) + head + body
