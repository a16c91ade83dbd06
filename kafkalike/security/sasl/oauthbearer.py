"""OAUTHBEARER (RFC 7628, KIP-255): the bearer of a JSON Web Token is who the token says."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kafkalike.protocol.errors import SaslAuthenticationError
from kafkalike.security.sasl.jwt import IllegalTokenError
from kafkalike.security.sasl.mechanism import SaslError

OAUTHBEARER_LOGIN_MODULE: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
)
_SEPARATOR: Final = "\x01"
_FIRST: Final = re.compile(
    r"n,(?:a=((?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,\x01"
    r"((?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH: Final = re.compile(r"(\w+) +([-_.a-zA-Z0-9]+)")


class ValidToken(NamedTuple):
    """What a token proves."""

    principal: str
    expires_at_ms: int


ValidateToken = Callable[[str], ValidToken]
"""Raises `IllegalTokenError` for a token that proves nothing."""


class OAuthBearerServer:
    """Takes one token; a bad one is answered with JSON first, and refused when that was heard."""

    is_token_authenticated = False

    def __init__(self, validate: ValidateToken) -> None:
        self._validate = validate
        self._error = ""
        self._valid: ValidToken | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the token was good."""
        return self._valid is not None

    @property
    def authorization_id(self) -> str:
        """The principal of the token."""
        return self._valid.principal if self._valid else ""

    @property
    def claimed_id(self) -> str:
        """The same: before that nobody has looked into the token."""
        return self.authorization_id

    @property
    def expires_at_ms(self) -> int | None:
        """When the token ends, and with it the session (KIP-368)."""
        return self._valid.expires_at_ms if self._valid else None

    def evaluate(self, token: bytes) -> bytes:
        """Take the client's first message, or its word that it has read the error."""
        if token == b"\x01" and self._error:
            raise SaslAuthenticationError(self._error)
        authorization_id, bearer = _parse_first(token)
        try:
            valid = self._validate(bearer)
        except IllegalTokenError as error:
            self._error = _error_json(error)
            return self._error.encode()
        if authorization_id and authorization_id != valid.principal:
            raise SaslAuthenticationError(
                f"Authentication failed: Client requested an authorization id ({authorization_id})"
                f" that is different from the token's principal name ({valid.principal})"
            )
        self._valid = valid
        return b""


class OAuthBearerClient:
    """Shows one token, asked for when it is needed."""

    def __init__(self, token: Callable[[], str], extensions: Mapping[str, str]) -> None:
        self._token = token
        self._extensions = extensions
        self._is_sent = False
        self.is_complete = False

    def evaluate(self, challenge: bytes) -> bytes:
        """Send the token; a second challenge is the server's reason to refuse it."""
        if self._is_sent:
            self.is_complete = not challenge
            return b"\x01" if challenge else b""
        self._is_sent = True
        pairs = {"auth": f"Bearer {self._token()}", **self._extensions}
        text = _SEPARATOR.join(f"{name}={value}" for name, value in pairs.items())
        return f"n,,{_SEPARATOR}{text}{_SEPARATOR}{_SEPARATOR}".encode()


def _parse_first(message: bytes) -> tuple[str, str]:
    match = _FIRST.fullmatch(message.decode(errors="replace"))
    if match is None:
        raise SaslError("Invalid OAUTHBEARER client first message")
    pairs = dict(part.partition("=")[::2] for part in match[2].split(_SEPARATOR) if part)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None or auth[1].lower() != "bearer":
        raise SaslError("Invalid OAUTHBEARER client first message: no bearer token in 'auth'")
    return match[1] or "", auth[2]


def _error_json(error: IllegalTokenError) -> str:
    if error.scope is None:
        return '{"status":"invalid_token"}'
    return f'{{"status":"insufficient_scope", "scope":{json.dumps(error.scope)}}}'
