"""How this side logs in: from `sasl.jaas.config`, or from a name and a password.

Brokers among themselves and clients use the same. `sasl.login.callback.handler.class` (or the
`sasl_oauth_token_provider` of kafka-python) gives tokens: an object with `token()`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from kafkalike.config.errors import ConfigError
from kafkalike.security.sasl.jaas import parse_jaas
from kafkalike.security.sasl.mechanism import OAUTHBEARER, PLAIN, SaslLogin
from kafkalike.security.sasl.oauth_options import login_extensions, unsecured_login
from kafkalike.security.sasl.oauthbearer import OAuthBearerClient
from kafkalike.security.sasl.plain import PlainClient
from kafkalike.security.sasl.scram import MECHANISMS
from kafkalike.security.sasl.scram_client import ScramClient, ScramLogin


class TokenProvider(Protocol):
    """Gives bearer tokens."""

    def token(self) -> str:
        """Return a token that holds now; it may block."""


def login_from_jaas(
    mechanism: str,
    jaas_config: str,
    now_ms: Callable[[], int],
    provider: TokenProvider | None = None,
) -> SaslLogin:
    """Make a login of a JAAS configuration, or raise a `ConfigError`."""
    entries = parse_jaas(jaas_config)
    if len(entries) != 1:
        raise ConfigError(
            f"JAAS config property contains {len(entries)} login modules, should be 1 module"
        )
    return login_from_options(mechanism, entries[0].options, now_ms, provider)


def login_from_options(
    mechanism: str,
    options: Mapping[str, str],
    now_ms: Callable[[], int],
    provider: TokenProvider | None = None,
) -> SaslLogin:
    """Make a login of the options of a login module."""
    if mechanism == OAUTHBEARER:
        token = unsecured_login(options, now_ms) if provider is None else provider.token
        return SaslLogin(mechanism, partial(OAuthBearerClient, token, login_extensions(options)))
    username, password = options.get("username"), options.get("password")
    if username is None or password is None:
        raise ConfigError(f"SASL mechanism {mechanism} needs a username and a password")
    if mechanism == PLAIN:
        return SaslLogin(mechanism, partial(PlainClient, username, password))
    if mechanism in MECHANISMS:
        is_token = options.get("tokenauth", "").lower() == "true"
        login = ScramLogin(MECHANISMS[mechanism], username, password, is_token=is_token)
        return SaslLogin(mechanism, partial(ScramClient, login))
    known = ", ".join((PLAIN, *MECHANISMS, OAUTHBEARER))
    raise ConfigError(f"SASL mechanism {mechanism} is not supported here, {known} are")


def provider_of(given: Any) -> TokenProvider | None:  # Any: the class is the site's own
    """Take what gives tokens, if it can."""
    if given is None or callable(getattr(given, "token", None)):
        return given  # type: ignore[no-any-return]  # it has what is asked of it
    raise ConfigError(f"{type(given).__name__} gives no tokens: it needs a method token()")
