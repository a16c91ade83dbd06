"""What a handler knows beside the request itself: who asked, by which listener, and the broker."""

from kafkalike.model.broker import Node
from kafkalike.network.connection import Connection
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import BrokerNotAvailableError
from kafkalike.security.authorizer import AuthorizableRequestContext
from kafkalike.security.principal import ANONYMOUS, KafkaPrincipal
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.forwarding.mark import is_marked, unmarked
from kafkalike.server.mutation_quota import RecordMutations, no_limit
from kafkalike.server.services import BrokerServices
from kafkalike.server.throttle import Throttle


class RequestContext:
    """One request in hand; made by the dispatcher, gone with the answer."""

    __slots__ = (
        "api_version",
        "authorization",
        "broker",
        "client_host",
        "connection",
        "header_client_id",
        "listener_name",
        "throttle",
        "throttle_time_ms",
    )

    def __init__(
        self,
        broker: BrokerServices,
        api_version: int,
        client_id: str | None,
        listener_name: str,
        client_host: str,
        connection: Connection | None = None,
    ) -> None:
        self.broker = broker
        self.api_version = api_version
        self.header_client_id = client_id
        self.listener_name = listener_name
        self.client_host = client_host
        self.connection = connection
        self.authorization: Authorization | None = None  # None: everything is allowed
        self.throttle: Throttle | None = None  # None: nothing has a limit
        self.throttle_time_ms = 0

    @property
    def client_id(self) -> str | None:
        """The client's own id, also of a client whose request another broker sent on."""
        return unmarked(self.header_client_id)

    @property
    def principal(self) -> KafkaPrincipal:
        """Who the client is, as far as its listener makes it say."""
        return ANONYMOUS if self.connection is None else self.connection.principal

    def asker(self, request_name: str) -> AuthorizableRequestContext:
        """Give what an authorizer may know of the request."""
        return AuthorizableRequestContext(
            self.principal, self.client_host, self.listener_name, self.client_id, request_name
        )

    def mutations_of(self, api_key: ApiKey) -> RecordMutations:
        """Give what is told how many partitions the request creates or deletes."""
        return no_limit if self.throttle is None else self.throttle.mutations_of(api_key, self)

    @property
    def is_forwarded(self) -> bool:
        """Whether another broker sent this request on; then it goes no further."""
        return is_marked(self.header_client_id)

    @property
    def is_gateway(self) -> bool:
        """Whether the client came by a gateway listener, and knows this broker alone."""
        return self.listener_name in self.broker.config.gateway_listeners

    @property
    def gateway(self) -> Node:
        """This broker as the clients of the gateway listener in use see it."""
        broker = self.broker.metadata_cache.snapshot.brokers.get(self.broker.broker_id)
        node = None if broker is None else broker.node(self.listener_name)
        if node is None:
            raise BrokerNotAvailableError(f"{self.listener_name} is not in the metadata yet")
        return node


class CloseConnection(Exception):
    """The client must learn that something failed, but expects no answer."""
