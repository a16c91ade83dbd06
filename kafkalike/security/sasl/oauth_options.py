"""The options of the OAUTHBEARER login module: how a broker checks tokens, how a client gets them.

Kafka's are `unsecuredValidator…` and `unsecuredLogin…` (tokens that nobody signed, for tests).
`signedValidator…` are ours: with `signedValidatorKeyFile` (PEM or a JWK set) or
`signedValidatorSecret`, only signed tokens are accepted.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from twisted.logger import Logger

from kafkalike.config.errors import ConfigError
from kafkalike.security.sasl.jwt import (
    UNSECURED,
    ClaimRules,
    IllegalTokenError,
    check_claims,
    parse_jwt,
    unsecured_jwt,
)
from kafkalike.security.sasl.jwt_keys import check_signature, read_keys, secret_key
from kafkalike.security.sasl.oauthbearer import ValidateToken, ValidToken

log = Logger()

_SIGNED: Final = "signedValidator"
_UNSECURED: Final = "unsecuredValidator"
_LOGIN: Final = "unsecuredLogin"
_DEFAULT_LIFETIME_SECONDS: Final = 3600.0


def token_validator(options: Mapping[str, str], now_ms: Callable[[], int]) -> ValidateToken:
    """Make what checks tokens as the options say."""
    keys = []
    if key_file := options.get(f"{_SIGNED}KeyFile"):
        keys += _read_key_file(key_file)
    if secret := options.get(f"{_SIGNED}Secret"):
        keys.append(secret_key(secret.encode()))
    rules = _rules(options, _SIGNED if keys else _UNSECURED)

    def validate(text: str) -> ValidToken:
        try:
            token = parse_jwt(text)
            if keys:
                check_signature(token, keys)
            elif token.algorithm != UNSECURED or token.signature:
                raise IllegalTokenError(f"alg {token.algorithm} cannot be checked: no key is set")
            return ValidToken(*check_claims(token, rules, now_ms()))
        except IllegalTokenError as error:
            log.info("a bearer token is not valid: {error}", error=error)
            raise

    return validate


def unsecured_login(options: Mapping[str, str], now_ms: Callable[[], int]) -> Callable[[], str]:
    """Make what gives a client its unsigned tokens, as Kafka's default login does."""
    strings = _with_prefix(options, f"{_LOGIN}StringClaim_")
    numbers = {k: float(v) for k, v in _with_prefix(options, f"{_LOGIN}NumberClaim_").items()}
    lists = _with_prefix(options, f"{_LOGIN}ListClaim_")
    claims: dict[str, Any] = {**strings, **numbers}
    claims.update((name, text[1:].split(text[0])) for name, text in lists.items() if text)
    principal_claim = options.get(f"{_LOGIN}PrincipalClaimName", "sub")
    if principal_claim not in strings:
        raise ConfigError(
            f"OAUTHBEARER needs {_LOGIN}StringClaim_{principal_claim} in sasl.jaas.config, or "
            "something that gives it tokens"
        )
    lifetime = float(options.get(f"{_LOGIN}LifetimeSeconds", _DEFAULT_LIFETIME_SECONDS))

    def token() -> str:
        now_s = now_ms() / 1000
        return unsecured_jwt({"iat": now_s, "exp": now_s + lifetime, **claims})

    return token


def login_extensions(options: Mapping[str, str]) -> dict[str, str]:
    """Return the extensions that go with the token (KIP-342)."""
    return _with_prefix(options, f"{_LOGIN}Extension_")


def _rules(options: Mapping[str, str], prefix: str) -> ClaimRules:
    return ClaimRules(
        principal_claim=options.get(f"{prefix}PrincipalClaimName", "").strip() or "sub",
        scope_claim=options.get(f"{prefix}ScopeClaimName", "").strip() or "scope",
        required_scope=tuple(options.get(f"{prefix}RequiredScope", "").split()),
        allowable_clock_skew_ms=int(options.get(f"{prefix}AllowableClockSkewMs", "").strip() or 0),
        issuer=options.get(f"{prefix}Issuer"),
        audience=options.get(f"{prefix}Audience"),
    )


def _read_key_file(path: str) -> list[Any]:
    try:
        return read_keys(Path(path).read_bytes())
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{_SIGNED}KeyFile {path} cannot be read: {error}") from error


def _with_prefix(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in options.items()
        if name.startswith(prefix)
    }
