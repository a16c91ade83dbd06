"""The SASL mechanisms of a listener, from its configuration.

`listener.name.<listener>.<mechanism>.sasl.jaas.config` has what a mechanism needs; SCRAM needs
nothing but credentials in ZooKeeper. The check of passwords (PLAIN) and tokens can be a site's own:
`listener.name.<listener>.<mechanism>.sasl.server.callback.handler.class` names a Python class with
`authenticate(username, password)`, or `validate(token)` that returns (principal, expiry in ms).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkalike.config.errors import ConfigError
from kafkalike.security.principal_builder import instance_of
from kafkalike.security.sasl.jaas import parse_jaas
from kafkalike.security.sasl.jwt import IllegalTokenError
from kafkalike.security.sasl.mechanism import GSSAPI, OAUTHBEARER, PLAIN, SaslServer
from kafkalike.security.sasl.oauth_options import token_validator
from kafkalike.security.sasl.oauthbearer import OAuthBearerServer, ValidateToken, ValidToken
from kafkalike.security.sasl.plain import PlainServer, password_check
from kafkalike.security.sasl.scram import MECHANISMS
from kafkalike.security.sasl.scram_server import ScramCredentials, ScramServer

SUPPORTED: Final = (PLAIN, *MECHANISMS, OAUTHBEARER)
_HANDLER_KEY: Final = "sasl.server.callback.handler.class"
_KAFKA_PREFIX: Final = "org.apache.kafka."


def sasl_server_factory(
    mechanism: str,
    jaas_config: str | None,
    handler_class: str | None,
    credentials: ScramCredentials,
    now_ms: Callable[[], int],
) -> Callable[[], SaslServer]:
    """Make what begins an exchange with a mechanism, or raise a `ConfigError`."""
    if mechanism in MECHANISMS:
        scram = MECHANISMS[mechanism]
        return lambda: ScramServer(scram, credentials)
    if mechanism not in SUPPORTED:
        hint = "set sasl.enabled.mechanisms: GSSAPI is its default" if mechanism == GSSAPI else ""
        raise ConfigError(
            f"SASL mechanism {mechanism} is not supported, {', '.join(SUPPORTED)} are. {hint}"
        )
    own = _own_handler(handler_class)
    options = {} if own is not None and jaas_config is None else _options(jaas_config, mechanism)
    if mechanism == PLAIN:
        check = password_check(options) if own is None else own.authenticate
        return lambda: PlainServer(check)
    validate = token_validator(options, now_ms) if own is None else _own_validator(own)
    return lambda: OAuthBearerServer(validate)


def _own_handler(class_name: str | None) -> Any:  # Any: the class is the site's own
    if not class_name or class_name.startswith(_KAFKA_PREFIX):
        return None
    return instance_of(class_name, _HANDLER_KEY)


def _own_validator(handler: Any) -> ValidateToken:
    def validate(token: str) -> ValidToken:
        try:
            return ValidToken(*handler.validate(token))
        except Exception as error:  # whatever it raises means "no"
            raise IllegalTokenError(str(error)) from error

    return validate


def _options(jaas_config: str | None, mechanism: str) -> Mapping[str, str]:
    if jaas_config is None:
        raise ConfigError(
            f"SASL mechanism {mechanism} needs listener.name.<listener>.{mechanism.lower()}."
            "sasl.jaas.config"
        )
    entries = parse_jaas(jaas_config)
    if len(entries) != 1:
        raise ConfigError(
            f"JAAS config property contains {len(entries)} login modules, should be 1 module"
        )
    return entries[0].options
