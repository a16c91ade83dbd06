"""SCRAM, the client's side."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from hmac import compare_digest

from kafkalike.security.sasl.mechanism import SaslError
from kafkalike.security.sasl.scram import (
    MIN_ITERATIONS,
    ScramMechanism,
    random_text,
    salted_password,
    to_sasl_name,
    xor,
)
from kafkalike.security.sasl.scram_messages import (
    NO_CHANNEL_BINDING,
    TOKEN_AUTH,
    auth_message,
    client_final_without_proof,
    client_first,
    parse_server_final,
    parse_server_first,
)


class ScramLogin:
    """A name and a password, or a delegation token and its HMAC.

    The last stretched password is kept, so that only the first of many connections has to wait.
    """

    def __init__(
        self, mechanism: ScramMechanism, username: str, password: str, *, is_token: bool = False
    ) -> None:
        self.mechanism = mechanism
        self.username = username
        self.extensions: Mapping[str, str] = {TOKEN_AUTH: "true"} if is_token else {}
        self._password = password
        self._stretched: tuple[bytes, int, bytes] = (b"", 0, b"")

    def salted_password(self, salt: bytes, iterations: int) -> bytes:
        """Stretch the password as the server wants it."""
        kept_salt, kept_iterations, salted = self._stretched
        if (kept_salt, kept_iterations) != (salt, iterations):
            salted = salted_password(self.mechanism, self._password, salt, iterations)
            self._stretched = (salt, iterations, salted)
        return salted


class ScramClient:
    """One exchange of four messages; raises `SaslError` where the server does not prove itself."""

    def __init__(self, login: ScramLogin, nonce: Callable[[], str] = random_text) -> None:
        self._login = login
        self._first = client_first(to_sasl_name(login.username), nonce(), login.extensions)
        self._salted = b""
        self._signed = b""
        self._steps = iter((self._say_first, self._say_final, self._check_server))
        self.is_complete = False

    def evaluate(self, challenge: bytes) -> bytes:
        """Take the next step."""
        return next(self._steps)(challenge)

    def _say_first(self, challenge: bytes) -> bytes:
        if challenge:
            raise SaslError("Expected empty challenge")
        return NO_CHANNEL_BINDING + self._first.bare.encode()

    def _say_final(self, challenge: bytes) -> bytes:
        server = parse_server_first(challenge)
        mechanism = self._login.mechanism
        if not server.nonce.startswith(self._first.nonce):
            raise SaslError("Invalid server nonce: does not start with client nonce")
        if server.iterations < MIN_ITERATIONS:
            raise SaslError(
                f"Requested iterations {server.iterations} is less than the minimum "
                f"{MIN_ITERATIONS} for {mechanism.mechanism_name}"
            )
        self._salted = self._login.salted_password(server.salt, server.iterations)
        without_proof = client_final_without_proof(server.nonce)
        self._signed = auth_message(self._first.bare, server.text, without_proof)
        client_key = mechanism.hmac(self._salted, b"Client Key")
        signature = mechanism.hmac(mechanism.hash(client_key), self._signed)
        return f"{without_proof},p={b64encode(xor(client_key, signature)).decode()}".encode()

    def _check_server(self, challenge: bytes) -> bytes:
        mechanism = self._login.mechanism
        server_key = mechanism.hmac(self._salted, b"Server Key")
        expected = mechanism.hmac(server_key, self._signed)
        if not compare_digest(parse_server_final(challenge), expected):
            raise SaslError("Invalid server signature in server final message")
        self.is_complete = True
        return b""
