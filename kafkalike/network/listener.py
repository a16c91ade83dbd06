"""One listener: what its connections are wrapped in, and how they come to their principal.

PLAINTEXT: nothing. SSL: TLS, and the name in the client's certificate. SASL_PLAINTEXT and SASL_SSL:
a gate that only lets authenticated clients' requests through.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twisted.internet.protocol import Factory
from twisted.logger import Logger

from kafkalike.network.authenticator import (
    ApiVersionsAnswer,
    PreviousSession,
    SaslServerAuthenticator,
    SaslServerMechanism,
)
from kafkalike.network.connection import Connection, RequestHandler
from kafkalike.network.sasl_gate import SaslGate
from kafkalike.network.tls_server import TlsServer
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.principal_builder import AuthenticationContext, PrincipalBuilder
from kafkalike.security.sasl.mechanism import SaslServer
from kafkalike.utils.time import Time

log = Logger()

OnConnection = Callable[[Connection], None]


@dataclass(slots=True, kw_only=True)
class SaslListenerSettings:
    """What SASL needs; `mechanisms` are replaced when logins change at run time."""

    mechanisms: Mapping[str, SaslServerMechanism]
    answer_api_versions: ApiVersionsAnswer
    failure_delay_ms: int
    max_receive_bytes: int


class Listener:
    """A plain listener; what secures it is added by its two kin."""

    def __init__(self, name: str) -> None:
        self.name = name

    def connection(
        self,
        handle: RequestHandler,
        max_request_bytes: int,
        on_opened: OnConnection,
        on_lost: OnConnection,
    ) -> Connection:
        """Make the protocol of a new connection."""
        return Connection(self.name, handle, max_request_bytes, on_opened, on_lost)

    def factory(self, connections: Factory) -> Factory:
        """Wrap the factory of connections, if bytes are to be encrypted."""
        return connections


class SecureListener(Listener):
    """A listener with TLS, SASL or both."""

    def __init__(
        self,
        name: str,
        security_protocol: str,
        principal_builder: PrincipalBuilder,
        time: Time,
        *,
        tls: TlsServer | None = None,
        sasl: SaslListenerSettings | None = None,
    ) -> None:
        super().__init__(name)
        self.tls = tls
        self.sasl = sasl
        self.security_protocol = security_protocol
        self._principal_builder = principal_builder
        self._time = time

    def connection(
        self,
        handle: RequestHandler,
        max_request_bytes: int,
        on_opened: OnConnection,
        on_lost: OnConnection,
    ) -> Connection:
        """Make the protocol of a new connection."""
        limit = max_request_bytes
        if self.sasl is not None:
            handle, limit = self._gate(handle, max_request_bytes), self.sasl.max_receive_bytes
        if self.tls is None:
            return Connection(self.name, handle, limit, on_opened, on_lost)
        made = self.tls.connection(self.name, handle, limit, on_opened, on_lost)
        if self.sasl is None:
            made.on_secured = self._identify_by_certificate
        return made

    def factory(self, connections: Factory) -> Factory:
        """Wrap the factory of connections in TLS, if it has any."""
        if self.tls is None:
            return connections
        return self.tls.factory(connections)

    def _gate(self, handle: RequestHandler, max_request_bytes: int) -> RequestHandler:
        assert self.sasl is not None
        gate = SaslGate(
            self._authenticator,
            handle,
            self._time,
            failure_delay_ms=self.sasl.failure_delay_ms,
            max_request_bytes=max_request_bytes,
        )
        return gate.handle

    def _authenticator(
        self, connection: Connection, previous: PreviousSession | None
    ) -> SaslServerAuthenticator:
        assert self.sasl is not None

        def principal_of(server: SaslServer, mechanism: str) -> KafkaPrincipal:
            return self._principal_builder.build(
                AuthenticationContext(
                    security_protocol=self.security_protocol,
                    listener_name=self.name,
                    client_host=connection.peer_host,
                    peer_certificate_name=connection.peer_certificate_name,
                    sasl_mechanism=mechanism,
                    authorization_id=server.authorization_id,
                    is_token_authenticated=server.is_token_authenticated,
                )
            )

        return SaslServerAuthenticator(
            self.sasl.mechanisms, self.sasl.answer_api_versions, principal_of, previous
        )

    def _identify_by_certificate(self, connection: Connection) -> None:
        context = AuthenticationContext(
            security_protocol=self.security_protocol,
            listener_name=self.name,
            client_host=connection.peer_host,
            peer_certificate_name=connection.peer_certificate_name,
        )
        try:
            connection.principal = self._principal_builder.build(context)
        except Exception as error:  # noqa: BLE001 (a plug-in may raise anything; it means "no")
            connection.refuse(f"it has no principal: {error}")
