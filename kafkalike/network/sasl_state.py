"""The states of a SASL exchange on the broker's side, and from which each may be entered.

INITIAL_REQUEST ──► HANDSHAKE_REQUEST ──► AUTHENTICATE ──► COMPLETE
       └──────────────────────────────────────▲
REAUTH_HANDSHAKE ──────────────────────────────┘              FAILED is entered from all but the end
       └──► REAUTH_BAD_MECHANISM
"""

from enum import Enum


class SaslState(Enum):
    """What the broker waits for."""

    INITIAL_REQUEST = "initial request"
    """Nothing was heard yet.

    Transition: ApiVersions → HANDSHAKE_REQUEST; SaslHandshake → AUTHENTICATE.
    """

    HANDSHAKE_REQUEST = "handshake request"
    """ApiVersions was answered.

    Transition: SaslHandshake → AUTHENTICATE; a second ApiVersions → FAILED.
    """

    REAUTH_HANDSHAKE = "handshake of a re-authentication"
    """An authenticated client begins anew (KIP-368).

    Transition: SaslHandshake with the same mechanism → AUTHENTICATE, with another →
    REAUTH_BAD_MECHANISM.
    """

    REAUTH_BAD_MECHANISM = "refusal of another mechanism"
    """The handshake was answered, but what comes next will be refused (as in Kafka)."""

    AUTHENTICATE = "token"
    """Tokens go to and fro.

    Transition: the mechanism is satisfied → COMPLETE; it is not, or something else than a token
    comes → FAILED.
    """

    COMPLETE = "request"
    """The client is who it says. Transition: none; a re-authentication is another exchange."""

    FAILED = "end of the connection"
    """The client is refused. Transition: none."""

    @property
    def valid_previous_states(self) -> frozenset["SaslState"]:
        """The states from which this one may be entered."""
        return _VALID_PREVIOUS_STATES.get(self, frozenset())


_S = SaslState
_VALID_PREVIOUS_STATES = {
    _S.HANDSHAKE_REQUEST: frozenset({_S.INITIAL_REQUEST}),
    _S.REAUTH_BAD_MECHANISM: frozenset({_S.REAUTH_HANDSHAKE}),
    _S.AUTHENTICATE: frozenset({_S.INITIAL_REQUEST, _S.HANDSHAKE_REQUEST, _S.REAUTH_HANDSHAKE}),
    _S.COMPLETE: frozenset({_S.AUTHENTICATE}),
    _S.FAILED: frozenset(set(_S) - {_S.COMPLETE, _S.FAILED}),
}
