"""TLS and SASL on a blocking connection, with the parts that the client library is made of."""

import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.security import tls_and_login
from kafkalike.network.sasl_client_authenticator import SaslClientAuthenticator
from kafkalike.network.tls_client import TlsClient
from kafkalike.network.tls_failure import SslAuthenticationError
from kafkalike.protocol.schema import Message
from kafkalike.security.sasl.mechanism import SaslLogin

T = TypeVar("T")
Send = Callable[[Message, int], Any]


@dataclass(frozen=True, slots=True)
class Security:
    """How connections of one configuration are secured."""

    tls: TlsClient | None
    login: SaslLogin | None

    def wrap(self, connected: socket.socket, host: str) -> socket.socket:
        """Return the socket to speak through. A certificate that is not trusted is an error."""
        if self.tls is None:
            return connected
        try:
            return self.tls.wrap_socket(connected, host)
        except ssl.SSLCertVerificationError as error:
            raise SslAuthenticationError(
                f"the certificate of {host} is not trusted (kafka.ssl.truststore.location): "
                f"{error.verify_message}"
            ) from error

    def authenticate(self, send: Send) -> None:
        """Log in, if that is asked for."""
        if self.login is not None:
            _run(SaslClientAuthenticator(self.login, _sender(send), _call).authenticate())


def security_of(config: ConsumerConfig) -> Security:
    """Read keys, certificates and names; raises a `ConfigError`."""
    return Security(*tls_and_login(config, lambda: time.time_ns() // 1_000_000))


def _sender(send: Send) -> Callable[[Message, int], Any]:
    async def sent(request: Message, version: int) -> Any:
        return send(request, version)

    return sent


async def _call(call: Callable[..., T], *args: Any) -> T:
    return call(*args)


def _run(coroutine: Any) -> None:
    """Run a coroutine that awaits only what is there at once."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("a blocking exchange cannot wait for anything")
