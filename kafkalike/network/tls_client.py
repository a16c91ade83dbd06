"""The TLS side of who connects; the server's certificate and its host name are always checked."""

import socket
import ssl

from twisted.internet.protocol import Factory

from kafkalike.network.tls_layer import TlsFactory
from kafkalike.security.tls import TlsSettings, client_context


class TlsClient:
    """Wraps connections to brokers in TLS."""

    def __init__(self, settings: TlsSettings) -> None:
        self._context = client_context(settings)

    def wrap(self, factory: Factory, host: str) -> Factory:
        """Put TLS around a factory of connections to a host."""
        return TlsFactory(factory, lambda: self._context, server_hostname=host)

    def wrap_socket(self, connected: socket.socket, host: str) -> ssl.SSLSocket:
        """Shake hands on a blocking socket; raises what `ssl` raises."""
        return self._context.wrap_socket(connected, server_hostname=host)
