"""What every SASL mechanism is to the connection that uses it: tokens in, tokens out, no I/O.

A server refuses with `SaslAuthenticationError`, whose text the client may read, or with
`SaslError`, whose text is for our log alone: it may tell whether a user exists.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
GSSAPI: Final = "GSSAPI"


class SaslError(Exception):
    """The exchange failed for a reason that the peer is not told."""


class SaslServer(Protocol):
    """One exchange, as the broker sees it."""

    @property
    def is_complete(self) -> bool:
        """Whether the client is who it says."""

    @property
    def authorization_id(self) -> str:
        """Who the client is; only once complete."""

    @property
    def claimed_id(self) -> str:
        """Who the client says it is, for the log; empty as long as it has not said so."""

    @property
    def is_token_authenticated(self) -> bool:
        """Whether a delegation token, and not a password, proved it."""

    @property
    def expires_at_ms(self) -> int | None:
        """When the credential ends that proved it, if it ends."""

    def evaluate(self, token: bytes) -> bytes:
        """Take the client's token and give the answer to it."""


class SaslClient(Protocol):
    """One exchange, as the client sees it; it may stretch keys, so it belongs in a thread."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is to be said."""

    def evaluate(self, challenge: bytes) -> bytes:
        """Take the server's token (empty at first) and give the next one."""


class SaslLogin(NamedTuple):
    """A mechanism, and what begins an exchange with the credentials of this side."""

    mechanism: str
    create: Callable[[], SaslClient]
