import struct
from collections.abc import Callable
from typing import Any

import pytest

from kafkalike.network.authenticator import (
    Authenticated,
    GoOn,
    PreviousSession,
    Refused,
    SaslServerAuthenticator,
    SaslServerMechanism,
    Step,
)
from kafkalike.network.sasl_state import SaslState
from kafkalike.protocol.api_keys import ApiKey, response_class
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.header import encode_request_header, parse_response_header
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalike.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkalike.protocol.schema import Message
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.sasl.mechanism import SaslError, SaslServer
from kafkalike.security.sasl.plain import PlainServer, password_check

NOW_MS = 1_000_000
ALICE = KafkaPrincipal("User", "alice")
GOOD = b"\0alice\0secret"
CHECK = password_check({"user_alice": "secret", "user_bob": "secret"})


class Weird:
    """A mechanism that takes two tokens, and refuses in words for our log alone."""

    is_token_authenticated = True

    def __init__(self, expires_at_ms: int | None = None) -> None:
        self.expires_at_ms = expires_at_ms
        self.claimed_id = self.authorization_id = "alice"
        self.is_complete = False

    def evaluate(self, token: bytes) -> bytes:
        """Take "more" and then "done"."""
        if token == b"bad":
            raise SaslError("the user exists but the password is wrong")
        self.is_complete = token == b"done"
        return b"challenge" if token == b"more" else b""


def request(message: Message, version: int) -> bytes:
    return encode_request_header(message.api_key, version, 7, "me") + message.encode(version)


API_VERSIONS = request(ApiVersionsRequest(), 0)
UNKNOWN_API_VERSIONS = encode_request_header(18, 99, 7, "me") + b"\0"
HANDSHAKE = request(SaslHandshakeRequest(mechanism="PLAIN"), 1)
HANDSHAKE_V0 = request(SaslHandshakeRequest(mechanism="PLAIN"), 0)
OTHER_HANDSHAKE = request(SaslHandshakeRequest(mechanism="WEIRD"), 1)
UNKNOWN_MECHANISM = request(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
TOKEN = request(SaslAuthenticateRequest(auth_bytes=GOOD), 2)
BAD_TOKEN = request(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 1)
METADATA = request(MetadataRequest(topics=[]), 1)
NO_REQUEST = b"\x60\x82\x02\x6f"


def answer_api_versions(version: int, request: ApiVersionsRequest) -> ApiVersionsResponse:
    known = version in ApiKey.API_VERSIONS.versions
    code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_VERSION
    return ApiVersionsResponse(error_code=code)


def principal_of(server: SaslServer, mechanism: str) -> KafkaPrincipal:
    return KafkaPrincipal("User", server.authorization_id, server.is_token_authenticated)


def authenticator(
    *,
    previous: PreviousSession | None = None,
    max_reauth_ms: int = 0,
    expires_ms: int | None = None,
) -> SaslServerAuthenticator:
    mechanisms = {
        "PLAIN": SaslServerMechanism(lambda: PlainServer(CHECK), max_reauth_ms),
        "WEIRD": SaslServerMechanism(lambda: Weird(expires_ms), max_reauth_ms),
    }
    return SaslServerAuthenticator(mechanisms, answer_api_versions, principal_of, previous)


def answer_of(step: Step, key: ApiKey, version: int) -> Any:
    assert step.answer is not None
    (size,) = struct.unpack_from(">i", step.answer)
    assert size == len(step.answer) - 4
    header = parse_response_header(step.answer, key, version, 4)
    assert header.correlation_id == 7
    return response_class(key).decode(step.answer, version, header.body_start)


def fed(machine: SaslServerAuthenticator, *frames: bytes) -> Step:
    steps = [machine.feed(frame, NOW_MS) for frame in frames]
    return steps[-1]


INITIAL: tuple[bytes, ...] = ()
ASKED = (API_VERSIONS,)
SHOOK = (HANDSHAKE,)
SHOOK_V0 = (HANDSHAKE_V0,)
S = SaslState
# (what was said before, what is said now, the state after it)
TABLE = [
    (INITIAL, API_VERSIONS, S.HANDSHAKE_REQUEST),
    (INITIAL, UNKNOWN_API_VERSIONS, S.INITIAL_REQUEST),
    (INITIAL, HANDSHAKE, S.AUTHENTICATE),
    (INITIAL, HANDSHAKE_V0, S.AUTHENTICATE),
    (INITIAL, UNKNOWN_MECHANISM, S.FAILED),
    (INITIAL, TOKEN, S.FAILED),
    (INITIAL, METADATA, S.FAILED),
    (INITIAL, NO_REQUEST, S.FAILED),
    (INITIAL, b"", S.FAILED),
    (ASKED, API_VERSIONS, S.FAILED),
    (ASKED, UNKNOWN_API_VERSIONS, S.FAILED),
    (ASKED, HANDSHAKE, S.AUTHENTICATE),
    (ASKED, HANDSHAKE_V0, S.AUTHENTICATE),
    (ASKED, UNKNOWN_MECHANISM, S.FAILED),
    (ASKED, TOKEN, S.FAILED),
    (ASKED, METADATA, S.FAILED),
    (ASKED, NO_REQUEST, S.FAILED),
    (SHOOK, TOKEN, S.COMPLETE),
    (SHOOK, BAD_TOKEN, S.FAILED),
    (SHOOK, GOOD, S.FAILED),
    (SHOOK, API_VERSIONS, S.FAILED),
    (SHOOK, HANDSHAKE, S.FAILED),
    (SHOOK, METADATA, S.FAILED),
    (SHOOK, NO_REQUEST, S.FAILED),
    (SHOOK_V0, GOOD, S.COMPLETE),
    (SHOOK_V0, TOKEN, S.FAILED),
    (SHOOK_V0, b"\0alice\0wrong", S.FAILED),
    (SHOOK_V0, METADATA, S.FAILED),
    (SHOOK_V0, b"", S.FAILED),
]


@pytest.mark.parametrize(("before", "frame", "after"), TABLE)
def test_every_frame_in_every_state(
    before: tuple[bytes, ...], frame: bytes, after: SaslState
) -> None:
    machine = authenticator()
    for earlier in before:
        machine.feed(earlier, NOW_MS)
    step = machine.feed(frame, NOW_MS)
    assert machine.state is after
    assert isinstance(step, Refused) == (after is S.FAILED)
    assert isinstance(step, Authenticated) == (after is S.COMPLETE)


def test_nothing_leads_out_of_the_last_states() -> None:
    for last in (S.COMPLETE, S.FAILED):
        assert not any(last in state.valid_previous_states for state in SaslState)


def test_the_handshake_lists_the_mechanisms() -> None:
    answer = answer_of(fed(authenticator(), HANDSHAKE), ApiKey.SASL_HANDSHAKE, 1)
    assert (answer.error_code, answer.mechanisms) == (0, ["PLAIN", "WEIRD"])


def test_an_unknown_mechanism_is_refused_with_the_list_of_the_others() -> None:
    step = fed(authenticator(), UNKNOWN_MECHANISM)
    assert isinstance(step, Refused)
    assert step.why == "Unsupported SASL mechanism GSSAPI"
    answer = answer_of(step, ApiKey.SASL_HANDSHAKE, 1)
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == ["PLAIN", "WEIRD"]


def test_a_version_of_api_versions_that_is_not_known_is_answered_in_version_0() -> None:
    step = fed(authenticator(), UNKNOWN_API_VERSIONS)
    answer = answer_of(step, ApiKey.API_VERSIONS, 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_who_is_authenticated_is_said() -> None:
    step = fed(authenticator(), API_VERSIONS, HANDSHAKE, TOKEN)
    assert isinstance(step, Authenticated)
    assert step.principal == ALICE
    assert step.session_expires_ms is None
    assert answer_of(step, ApiKey.SASL_AUTHENTICATE, 2).session_lifetime_ms == 0


def test_a_wrong_password_is_told_and_the_log_learns_who_it_was() -> None:
    machine = authenticator()
    step = fed(machine, HANDSHAKE, BAD_TOKEN)
    answer = answer_of(step, ApiKey.SASL_AUTHENTICATE, 1)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert machine.who == "alice by PLAIN"


def test_a_reason_for_our_log_alone_is_not_told() -> None:
    bad = request(SaslAuthenticateRequest(auth_bytes=b"bad"), 1)
    step = fed(authenticator(), OTHER_HANDSHAKE, bad)
    assert isinstance(step, Refused)
    assert step.why == "the user exists but the password is wrong"
    assert answer_of(step, ApiKey.SASL_AUTHENTICATE, 1).error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism WEIRD"
    )


def test_a_mechanism_may_need_several_tokens() -> None:
    machine = authenticator()
    more = request(SaslAuthenticateRequest(auth_bytes=b"more"), 0)
    step = fed(machine, OTHER_HANDSHAKE, more)
    assert isinstance(step, GoOn)
    assert answer_of(step, ApiKey.SASL_AUTHENTICATE, 0).auth_bytes == b"challenge"
    done = fed(machine, request(SaslAuthenticateRequest(auth_bytes=b"done"), 0))
    assert isinstance(done, Authenticated)
    assert done.principal.is_token_authenticated


def test_bare_tokens_are_answered_bare() -> None:
    step = fed(authenticator(), HANDSHAKE_V0, GOOD)
    assert step.answer == b"\0\0\0\0"


def test_a_request_among_the_tokens_is_answered_with_illegal_state_where_it_can() -> None:
    step = fed(authenticator(), HANDSHAKE, HANDSHAKE)
    answer = answer_of(step, ApiKey.SASL_HANDSHAKE, 1)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert fed(authenticator(), HANDSHAKE, METADATA).answer is None


@pytest.mark.parametrize(
    ("max_reauth_ms", "expires_ms", "lifetime_ms"),
    [
        (0, None, 0),
        (5000, None, 5000),
        (5000, NOW_MS + 3000, 3000),
        (5000, NOW_MS + 9000, 5000),
        (0, NOW_MS + 3000, 0),
        (5000, NOW_MS - 1, 0),
    ],
)
def test_a_session_ends_with_the_credential_or_the_limit(
    max_reauth_ms: int, expires_ms: int | None, lifetime_ms: int
) -> None:
    """KIP-368: without `connections.max.reauth.ms` there is no end, as in Kafka."""
    machine = authenticator(max_reauth_ms=max_reauth_ms, expires_ms=expires_ms)
    done = request(SaslAuthenticateRequest(auth_bytes=b"done"), 1)
    step = fed(machine, OTHER_HANDSHAKE, done)
    assert isinstance(step, Authenticated)
    assert step.session_expires_ms == (NOW_MS + lifetime_ms if lifetime_ms else None)
    assert answer_of(step, ApiKey.SASL_AUTHENTICATE, 1).session_lifetime_ms == lifetime_ms


def again(make: Callable[..., SaslServerAuthenticator] = authenticator) -> SaslServerAuthenticator:
    return make(previous=PreviousSession("PLAIN", ALICE), max_reauth_ms=5000)


def test_the_same_user_may_authenticate_again() -> None:
    step = fed(again(), HANDSHAKE, TOKEN)
    assert isinstance(step, Authenticated)
    assert step.session_expires_ms == NOW_MS + 5000


def test_another_user_may_not_take_over_a_connection() -> None:
    bob = request(SaslAuthenticateRequest(auth_bytes=b"\0bob\0secret"), 1)
    step = fed(again(), HANDSHAKE, bob)
    assert isinstance(step, Refused)
    message = "Cannot change principals during re-authentication from User.alice: User.bob"
    assert answer_of(step, ApiKey.SASL_AUTHENTICATE, 1).error_message == message


def test_another_mechanism_is_refused_with_the_next_frame() -> None:
    machine = again()
    assert isinstance(fed(machine, OTHER_HANDSHAKE), GoOn)
    assert machine.state is S.REAUTH_BAD_MECHANISM
    step = fed(machine, TOKEN)
    assert isinstance(step, Refused)
    assert "not supported for re-authentication of mechanism 'PLAIN'" in step.why


def test_api_versions_has_no_place_in_a_second_authentication() -> None:
    assert isinstance(fed(again(), API_VERSIONS), Refused)
