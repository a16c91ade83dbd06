"""How this broker proves itself to the others: TLS and SASL of the inter-broker listener."""

from collections.abc import Callable
from typing import Any

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.network.broker_channel import BrokerChannel
from kafkalike.network.channel_builder import ChannelBuilder
from kafkalike.network.tls_client import TlsClient
from kafkalike.network.tls_failure import AUTHENTICATION_ERRORS
from kafkalike.protocol.errors import NetworkError, UnsupportedVersionError
from kafkalike.security.principal_builder import instance_of
from kafkalike.security.sasl.client_factory import login_from_jaas, provider_of
from kafkalike.security.sasl.mechanism import SaslLogin
from kafkalike.security.tls import read_tls_settings
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

log = Logger()


class InterBrokerChannels:
    """Opens connections to other brokers by the inter-broker listener."""

    def __init__(
        self,
        reactor: Any,  # no one reactor interface has it all
        time: Time,
        run_blocking: RunBlocking,
        config: Callable[[], BrokerConfig],
    ) -> None:
        self._time = time
        self._config = config
        self._builder = ChannelBuilder(reactor, time, run_blocking=run_blocking)
        self.reconfigure()

    def reconfigure(self, _: BrokerConfig | None = None) -> None:
        """Take other certificates and logins for new connections."""
        listener, protocol = self._config().inter_broker_listener
        if protocol in ("SSL", "SASL_SSL"):
            self._builder.tls = TlsClient(read_tls_settings(self._config().for_listener(listener)))
        if protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
            self._builder.login = _login(self._config(), listener, self._time.now_ms)

    async def connect(
        self, host: str, port: int, client_id: str | None, timeout_ms: int
    ) -> BrokerChannel:
        """Connect to a broker; that it does not believe us may pass, so it is a `NetworkError`."""
        try:
            return await self._builder.connect(host, port, client_id, timeout_ms)
        except (*AUTHENTICATION_ERRORS, UnsupportedVersionError) as error:
            log.error(
                "broker at {host}:{port} and this one do not trust each other: {error}",
                host=host,
                port=port,
                error=error,
            )
            raise NetworkError(f"{host}:{port}: {error}") from error


def _login(config: BrokerConfig, listener: str, now_ms: Callable[[], int]) -> SaslLogin:
    mechanism = config.sasl_mechanism_inter_broker_protocol
    own = config.for_mechanism(listener, mechanism)
    class_name = own.sasl_login_callback_handler_class
    provider = None
    if class_name and not class_name.startswith("org.apache.kafka."):
        provider = instance_of(class_name, "sasl.login.callback.handler.class")
    jaas = own.sasl_jaas_config
    if jaas is None:
        raise ConfigError(
            f"brokers log in with {mechanism}: listener.name.{listener.lower()}."
            f"{mechanism.lower()}.sasl.jaas.config must be set, with username and password"
        )
    return login_from_jaas(mechanism, jaas.value, now_ms, provider_of(provider))
