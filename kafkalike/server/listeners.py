"""The broker's listeners from its configuration, and their changes at run time.

Part of Kafka's `ChannelBuilders`, `SslFactory` and `DynamicListenerConfig`: certificates and logins
are replaced for new connections, those that stand stay.
"""

from collections.abc import Callable

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.model.broker import EndPoint
from kafkalike.network.authenticator import ApiVersionsAnswer, SaslServerMechanism
from kafkalike.network.listener import Listener, SaslListenerSettings, SecureListener
from kafkalike.network.tls_server import TlsServer
from kafkalike.security.credentials import CredentialProvider
from kafkalike.security.principal_builder import principal_builder
from kafkalike.security.sasl.server_factory import sasl_server_factory
from kafkalike.security.tls import TlsSettings, read_tls_settings, server_context
from kafkalike.utils.time import Time

log = Logger()

_WITH_TLS = frozenset({"SSL", "SASL_SSL"})
_WITH_SASL = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})


class Listeners:
    """Makes the listeners at start and keeps them up to date."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        credentials: CredentialProvider,
        answer_api_versions: ApiVersionsAnswer,
        time: Time,
    ) -> None:
        self._config = config
        self._credentials = credentials
        self._answer_api_versions = answer_api_versions
        self._time = time
        self._secure: dict[str, SecureListener] = {}

    def make(self, end_point: EndPoint) -> Listener:
        """Make the listener of an end point, or raise a `ConfigError`."""
        name, protocol = end_point.listener_name, end_point.security_protocol
        config = self._config().for_listener(name)
        if protocol == "PLAINTEXT" and config.principal_builder_class is None:
            return Listener(name)
        builder = principal_builder(
            config.principal_builder_class, config.ssl_principal_mapping_rules, config.originals
        )
        listener = SecureListener(
            name,
            protocol,
            builder,
            self._time,
            tls=self._tls(name, protocol, config) if protocol in _WITH_TLS else None,
            sasl=self._sasl(name, config) if protocol in _WITH_SASL else None,
        )
        self._secure[name] = listener
        return listener

    def reconfigure(self, _: BrokerConfig | None = None) -> None:
        """Take other keys, certificates and logins; what cannot be read leaves the former ones."""
        for name, listener in self._secure.items():
            config = self._config().for_listener(name)
            try:
                if listener.tls is not None:
                    settings = _tls_settings(name, listener.security_protocol, config)
                    if listener.tls.replace(settings):
                        log.info("listener {name} has other keys or certificates", name=name)
                if listener.sasl is not None:
                    listener.sasl.mechanisms = self._mechanisms(name, config)
            except ConfigError as error:
                log.error("listener {name} stays as it was: {error}", name=name, error=error)

    def _tls(self, name: str, protocol: str, config: BrokerConfig) -> TlsServer:
        try:
            return TlsServer(_tls_settings(name, protocol, config))
        except ConfigError as error:
            raise ConfigError(f"listener {name}: {error}") from error

    def _sasl(self, name: str, config: BrokerConfig) -> SaslListenerSettings:
        return SaslListenerSettings(
            mechanisms=self._mechanisms(name, config),
            answer_api_versions=self._answer_api_versions,
            failure_delay_ms=config.connection_failed_authentication_delay_ms,
            max_receive_bytes=config.sasl_server_max_receive_size,
        )

    def _mechanisms(self, name: str, config: BrokerConfig) -> dict[str, SaslServerMechanism]:
        try:
            return {
                mechanism: self._mechanism(name, mechanism)
                for mechanism in config.sasl_enabled_mechanisms
            }
        except ConfigError as error:
            raise ConfigError(f"listener {name}: {error}") from error

    def _mechanism(self, name: str, mechanism: str) -> SaslServerMechanism:
        config = self._config().for_mechanism(name, mechanism)
        jaas = config.sasl_jaas_config
        create = sasl_server_factory(
            mechanism,
            None if jaas is None else jaas.value,
            config.sasl_server_callback_handler_class,
            self._credentials,
            self._time.now_ms,
        )
        return SaslServerMechanism(create, config.connections_max_reauth_ms)


def check_tls(old: BrokerConfig, new: BrokerConfig) -> None:
    """Raise a `ConfigError` if a TLS listener could not take over its new certificates."""
    for end_point in new.listener_end_points:
        name, protocol = end_point.listener_name, end_point.security_protocol
        if protocol in _WITH_TLS and old.for_listener(name) != new.for_listener(name):
            server_context(_tls_settings(name, protocol, new.for_listener(name)))


def _tls_settings(name: str, protocol: str, config: BrokerConfig) -> TlsSettings:
    """Read a listener's settings; under SASL only a key of the listener asks for certificates."""
    if protocol == "SASL_SSL":
        prefixed = f"listener.name.{name.lower()}.ssl.client.auth"
        config = config.replace(ssl_client_auth=config.originals.get(prefixed, "none"))
    return read_tls_settings(config)
