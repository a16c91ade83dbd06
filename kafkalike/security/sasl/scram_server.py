"""SCRAM, the broker's side: users by password, delegation tokens by their HMAC (KIP-84, KIP-48)."""

from base64 import b64encode
from collections.abc import Callable
from enum import Enum
from hmac import compare_digest
from typing import NamedTuple, Protocol

from kafkalike.protocol.errors import IllegalSaslStateError, SaslAuthenticationError
from kafkalike.security.sasl.mechanism import SaslError
from kafkalike.security.sasl.scram import (
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
    from_sasl_name,
    random_text,
    xor,
)
from kafkalike.security.sasl.scram_messages import (
    ClientFirst,
    ServerFirst,
    auth_message,
    parse_client_final,
    parse_client_first,
    server_first,
)


class TokenCredential(NamedTuple):
    """A delegation token as SCRAM needs it: whose it is, until when, and its credential."""

    owner: str
    expires_at_ms: int
    credential: ScramCredential


class ScramCredentials(Protocol):
    """Where credentials are looked up."""

    def user(self, mechanism: ScramMechanism, name: str) -> ScramCredential | None:
        """Find a user's credential."""

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        """Find a delegation token's."""


class _State(Enum):
    RECEIVE_CLIENT_FIRST = "client first message"
    RECEIVE_CLIENT_FINAL = "client final message"
    COMPLETE = "complete"
    FAILED = "failed"


class ScramServer:
    """One exchange of four messages."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credentials: ScramCredentials,
        nonce: Callable[[], str] = random_text,
    ) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._nonce = nonce
        self._state = _State.RECEIVE_CLIENT_FIRST
        self._client_first: ClientFirst
        self._server_first: ServerFirst
        self._credential: ScramCredential
        self.authorization_id = ""
        self.claimed_id = ""
        self.is_token_authenticated = False
        self.expires_at_ms: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the proof was right."""
        return self._state is _State.COMPLETE

    def evaluate(self, token: bytes) -> bytes:
        """Answer the client's first or last message."""
        try:
            if self._state is _State.RECEIVE_CLIENT_FIRST:
                return self._first(token)
            if self._state is _State.RECEIVE_CLIENT_FINAL:
                return self._final(token)
        except Exception:
            self._state = _State.FAILED
            raise
        raise IllegalSaslStateError(f"Unexpected challenge in Sasl server state {self._state.name}")

    def _first(self, token: bytes) -> bytes:
        self._client_first = first = parse_client_first(token)
        try:
            username = from_sasl_name(first.sasl_name)
        except ValueError as error:
            raise SaslError(str(error)) from error
        self.claimed_id = username
        self._credential = self._look_up(username, first.is_token)
        if first.authorization_id and first.authorization_id != username:
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        iterations = self._credential.iterations
        if iterations < MIN_ITERATIONS:
            raise SaslError(f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS}")
        nonce = first.nonce + self._nonce()
        self._server_first = server_first(nonce, self._credential.salt, iterations)
        self._state = _State.RECEIVE_CLIENT_FINAL
        return self._server_first.text.encode()

    def _look_up(self, username: str, is_token: bool) -> ScramCredential:
        if is_token:
            token = self._credentials.token(self._mechanism, username)
            if token is None:
                raise SaslError(f"Token Authentication failed: Invalid tokenId : {username}")
            self.authorization_id, self.expires_at_ms, credential = token
            self.is_token_authenticated = True
            return credential
        found = self._credentials.user(self._mechanism, username)
        if found is None:
            raise SaslError(f"Authentication failed: Invalid user credentials: {username}")
        self.authorization_id = username
        return found

    def _final(self, token: bytes) -> bytes:
        final = parse_client_final(token)
        # RFC 5802 wants the nonce checked; the proof covers it too, for it signs both messages.
        if final.nonce != self._server_first.nonce:
            raise SaslError("Invalid client nonce in the final client message")
        signed = auth_message(self._client_first.bare, self._server_first.text, final.without_proof)
        mechanism, credential = self._mechanism, self._credential
        signature = mechanism.hmac(credential.stored_key, signed)
        if len(final.proof) != len(signature):
            raise SaslError("Invalid client credentials")
        stored_key = mechanism.hash(xor(signature, final.proof))
        if not compare_digest(stored_key, credential.stored_key):
            raise SaslError(f"Invalid client credentials: {self.authorization_id}")
        self._state = _State.COMPLETE
        return b"v=" + b64encode(mechanism.hmac(credential.server_key, signed))
