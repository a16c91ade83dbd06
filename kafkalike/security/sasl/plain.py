"""PLAIN: name and password as they are; only for connections under TLS (RFC 4616)."""

from collections.abc import Callable, Mapping
from hmac import compare_digest
from typing import Final

from kafkalike.protocol.errors import SaslAuthenticationError

PLAIN_LOGIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_USER_PREFIX: Final = "user_"

CheckPassword = Callable[[str, str], bool]
"""Whether this is the user's password."""


def password_check(options: Mapping[str, str]) -> CheckPassword:
    """Check against the `user_<name>="<password>"` options of the login module, as Kafka does."""
    users = {
        name.removeprefix(_USER_PREFIX): password.encode()
        for name, password in options.items()
        if name.startswith(_USER_PREFIX)
    }

    def check(username: str, password: str) -> bool:
        expected = users.get(username)
        return expected is not None and compare_digest(expected, password.encode())

    return check


class PlainServer:
    """Checks one name and password."""

    is_token_authenticated = False
    expires_at_ms = None

    def __init__(self, check: CheckPassword) -> None:
        self._check = check
        self.authorization_id = ""
        self.claimed_id = ""

    @property
    def is_complete(self) -> bool:
        """Whether the password was right."""
        return bool(self.authorization_id)

    def evaluate(self, token: bytes) -> bytes:
        """Take authorization id, user name and password, separated by NUL."""
        parts = token.decode(errors="replace").split("\0", 3)
        if len(parts) != 3:
            raise SaslAuthenticationError(
                f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            )
        wanted, username, password = parts
        self.claimed_id = username
        if not username:
            raise SaslAuthenticationError("Authentication failed: username not specified")
        if not password:
            raise SaslAuthenticationError("Authentication failed: password not specified")
        if not self._check(username, password):
            raise SaslAuthenticationError("Authentication failed: Invalid username or password")
        if wanted and wanted != username:
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        self.authorization_id = username
        return b""


class PlainClient:
    """Says one name and password."""

    def __init__(self, username: str, password: str) -> None:
        self._message = f"\0{username}\0{password}".encode()
        self.is_complete = False

    def evaluate(self, challenge: bytes) -> bytes:
        """Send all there is to send."""
        self.is_complete = True
        return self._message
