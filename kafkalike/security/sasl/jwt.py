"""JSON Web Tokens: reading them, checking signature and claims (RFC 7515, 7519), making plain ones.

The checks of claims are those of Kafka's `OAuthBearerValidationUtils`. `alg: none` is what Kafka's
default login makes and its default validator wants; it proves nothing and is for tests.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

UNSECURED: Final = "none"


class IllegalTokenError(Exception):
    """The token is not accepted; `scope` is what it would have needed, if that is the reason."""

    def __init__(self, message: str, scope: str | None = None) -> None:
        super().__init__(message)
        self.scope = scope


@dataclass(frozen=True, slots=True, repr=False)
class Jwt:
    """A token that was read, not checked."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signed: bytes
    signature: bytes

    @property
    def algorithm(self) -> str:
        """The `alg` of its header."""
        return str(self.header.get("alg", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRules:
    """What the claims of a token must say."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scope: Sequence[str] = ()
    allowable_clock_skew_ms: int = 0
    issuer: str | None = None
    audience: str | None = None


def parse_jwt(text: str) -> Jwt:
    """Read a token in compact form."""
    parts = text.split(".")
    if len(parts) != 3:
        raise IllegalTokenError("a token has three parts with dots between")
    header, claims = _json(parts[0]), _json(parts[1])
    return Jwt(header, claims, f"{parts[0]}.{parts[1]}".encode(), _base64(parts[2]))


def unsecured_jwt(claims: Mapping[str, Any]) -> str:
    """Make a token that nobody signed."""
    return f"{_encoded({'alg': UNSECURED})}.{_encoded(claims)}."


def check_claims(token: Jwt, rules: ClaimRules, now_ms: int) -> tuple[str, int]:
    """Return principal and expiry (in ms) of a token, or raise `IllegalTokenError`."""
    claims = token.claims
    principal = claims.get(rules.principal_claim)
    if not isinstance(principal, str) or not principal:
        raise IllegalTokenError(f"Required claim missing: {rules.principal_claim}")
    expires_ms = _check_times(claims, now_ms, rules.allowable_clock_skew_ms)
    _check_scope(claims.get(rules.scope_claim), rules.required_scope)
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise IllegalTokenError(f"the issuer is not {rules.issuer}")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if rules.audience is not None and rules.audience not in audiences:
        raise IllegalTokenError(f"the audience is not {rules.audience}")
    return principal, expires_ms


def _check_times(claims: Mapping[str, Any], now_ms: int, skew_ms: int) -> int:
    expires = _seconds(claims, "exp")
    issued, not_before = _seconds(claims, "iat"), _seconds(claims, "nbf")
    if expires is None:
        raise IllegalTokenError("Required claim missing: exp")
    if issued is not None and 1000 * issued > now_ms + skew_ms:
        raise IllegalTokenError(f"issued at {issued} s, which is after now ({now_ms} ms)")
    if not_before is not None and 1000 * not_before > now_ms + skew_ms:
        raise IllegalTokenError(f"not valid before {not_before} s, which is after {now_ms} ms")
    if now_ms - skew_ms >= 1000 * expires:
        raise IllegalTokenError(f"expired at {expires} s, and now it is {now_ms} ms")
    if issued is not None and expires <= issued:
        raise IllegalTokenError(f"expires at {expires} s, but was issued at {issued} s")
    return int(1000 * expires)


def _check_scope(claim: Any, required: Sequence[str]) -> None:
    scope = claim.split() if isinstance(claim, str) else claim or []
    missing = [element for element in required if element not in scope]
    if missing:
        raise IllegalTokenError(f"scope {missing[0]} is missing", f"[{', '.join(required)}]")


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise IllegalTokenError(f"The '{name}' claim is not a number")
    return value


def _json(part: str) -> dict[str, Any]:
    try:
        value = json.loads(_base64(part))
    except ValueError:
        raise IllegalTokenError("malformed JSON") from None
    if not isinstance(value, dict):
        raise IllegalTokenError("malformed JSON")
    return value


def _base64(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise IllegalTokenError("malformed Base64 URL encoded value") from None


def _encoded(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, separators=(",", ":")).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()
