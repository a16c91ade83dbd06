"""From a client's security settings to what opens its connections."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kafkalike.client.config import ClientConfig, ConfigError
from kafkalike.config import errors
from kafkalike.config.listeners import SASL_PROTOCOLS
from kafkalike.network.channel_builder import ChannelBuilder
from kafkalike.network.tls_client import TlsClient
from kafkalike.security.principal_builder import instance_of
from kafkalike.security.sasl.client_factory import (
    TokenProvider,
    login_from_jaas,
    login_from_options,
    provider_of,
)
from kafkalike.security.sasl.mechanism import GSSAPI, SaslLogin
from kafkalike.security.tls import read_tls_settings, tls_config
from kafkalike.utils.time import Time

_TLS_PROTOCOLS: Final = frozenset({"SSL", "SASL_SSL"})
_KAFKA_PREFIX: Final = "org.apache.kafka."
_JAVA_KEYS: Final = (
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "ssl.truststore.certificates",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
)


def channel_builder(reactor: Any, time: Time, config: ClientConfig) -> ChannelBuilder:
    """Make what opens the connections of a client, or raise a `ConfigError`."""
    tls, login = tls_and_login(config, time.now_ms)
    return ChannelBuilder(reactor, time, tls=tls, login=login)


def tls_and_login(
    config: ClientConfig, now_ms: Callable[[], int]
) -> tuple[TlsClient | None, SaslLogin | None]:
    """Return what secures a connection, or raise a `ConfigError`; None is not asked for."""
    protocol = config.security_protocol.upper()
    try:
        return (
            _tls(config) if protocol in _TLS_PROTOCOLS else None,
            _login(config, now_ms) if protocol in SASL_PROTOCOLS else None,
        )
    except errors.ConfigError as error:
        raise ConfigError(str(error)) from error


def _tls(config: ClientConfig) -> TlsClient:
    properties = {}
    for key in _JAVA_KEYS:
        value = getattr(config, key.replace(".", "_"))
        if value is not None:
            properties[key] = value
    if config.ssl_cafile is not None:
        properties["ssl.truststore.location"] = config.ssl_cafile
    if config.ssl_certfile is not None:
        properties["ssl.keystore.certificate.chain"] = _text(config.ssl_certfile)
        properties["ssl.keystore.key"] = _text(config.ssl_keyfile or config.ssl_certfile)
    if config.ssl_password is not None:
        properties["ssl.key.password"] = config.ssl_password
    if config.ssl_ciphers is not None:
        properties["ssl.cipher.suites"] = config.ssl_ciphers.replace(":", ",")
    if not config.ssl_check_hostname:
        properties["ssl.endpoint.identification.algorithm"] = ""
    return TlsClient(read_tls_settings(tls_config(properties)))


def _login(config: ClientConfig, now_ms: Callable[[], int]) -> SaslLogin:
    mechanism = config.sasl_mechanism or GSSAPI
    provider = _provider(config)
    if config.sasl_jaas_config is not None:
        return login_from_jaas(mechanism, config.sasl_jaas_config, now_ms, provider)
    options = {}
    if config.sasl_plain_username is not None:
        options["username"] = config.sasl_plain_username
    if config.sasl_plain_password is not None:
        options["password"] = config.sasl_plain_password
    return login_from_options(mechanism, options, now_ms, provider)


def _provider(config: ClientConfig) -> TokenProvider | None:
    name = config.sasl_login_callback_handler_class
    if name and not name.startswith(_KAFKA_PREFIX):
        return provider_of(instance_of(name, "sasl.login.callback.handler.class"))
    return provider_of(config.sasl_oauth_token_provider)


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise errors.ConfigError(f"cannot read {path}: {error.strerror}") from error
