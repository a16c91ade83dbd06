"""The TLS side of a listener: its context, which can be replaced while connections stand."""

from twisted.internet.protocol import Factory

from kafkalike.network.tls_connection import TlsConnection
from kafkalike.network.tls_layer import TlsFactory
from kafkalike.security.tls import TlsSettings, server_context


class TlsServer:
    """New connections get the context that is current; those that stand keep theirs."""

    connection = TlsConnection

    def __init__(self, settings: TlsSettings) -> None:
        self._settings = settings
        self._context = server_context(settings)

    def replace(self, settings: TlsSettings) -> bool:
        """Use another certificate, key or trust store from now on; False if they are the same."""
        if settings == self._settings:
            return False
        self._context = server_context(settings)
        self._settings = settings
        return True

    def factory(self, connections: Factory) -> Factory:
        """Wrap a factory of connections."""
        return TlsFactory(connections, lambda: self._context)
