"""Who is asked instead of this broker, and the ways there (design: docs/adr/0007).

The routes (`leader_route`, `owner_route`, `fetch`) say how requests are taken apart and put
together; this is what they share: whether a request may be forwarded at all, to whom, and the
client's connections to other brokers.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from twisted.logger import Logger

from kafkalike.cluster.metadata_cache import MetadataCache, MetadataSnapshot
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.network.connection import Connection
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.forwarding.fetch_ahead import FetchAhead
from kafkalike.server.forwarding.mark import mark
from kafkalike.server.forwarding.upstream import Channel, Upstream
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

log = Logger()

OpenChannel = Callable[[int, str, int], Awaitable[Channel]]
"""Connects to a broker's inter-broker listener: broker id, client id, time-out in ms."""


class Asker(Protocol):
    """What of a `RequestContext` is used here: who asks."""

    @property
    def listener_name(self) -> str:
        """The listener by which the request came."""

    @property
    def client_id(self) -> str | None:
        """The client's own id."""

    @property
    def connection(self) -> Connection | None:
        """The client's connection; None for a request of this broker to itself."""

    @property
    def is_forwarded(self) -> bool:
        """Whether another broker sent the request on."""


Authorize = Callable[[Asker, AclOperation, str], bool]
"""Whether a client may do something to a topic."""


def everything_is_allowed(asker: Asker, operation: AclOperation, topic: str) -> bool:
    """Allow: there is no authorizer."""
    return True


class Forwarding:
    """One per broker. It owns the connections that it opens for clients."""

    def __init__(
        self,
        broker_id: int,
        config: Callable[[], BrokerConfig],
        metadata_cache: MetadataCache,
        replica_manager: ReplicaManager,
        open_channel: OpenChannel,
        time: Time,
        authorize: Authorize = everything_is_allowed,
    ) -> None:
        self.time = time
        self._broker_id = broker_id
        self._config = config
        self._metadata_cache = metadata_cache
        self._replicas = replica_manager
        self._open_channel = open_channel
        self._authorize = authorize
        self._background = Background()
        self._upstreams: dict[Connection, dict[int, tuple[Upstream, FetchAhead]]] = {}

    @property
    def config(self) -> BrokerConfig:
        """The configuration as it is now."""
        return self._config()

    # --- whom to ask

    def may_forward(self, asker: Asker) -> bool:
        """Whether anything of this asker is forwarded: not twice, and not where it is off."""
        return (
            asker.connection is not None
            and asker.connection.is_open
            and not asker.is_forwarded
            and asker.listener_name in self._config().forwarding_listeners
        )

    def leader_elsewhere(
        self, asker: Asker, tp: TopicPartition, operation: AclOperation
    ) -> int | None:
        """Return the broker that is to be asked about a partition; None if it is this one.

        What stays here because it may not be forwarded is refused by the handler of its API: where
        this broker is not the leader, where the client may not use the topic.
        """
        if not self.may_forward(asker) or self._must_learn(asker, tp):
            return None
        leader = self._leader(tp)
        if leader is None or not self._authorize(asker, operation, tp.topic):
            return None
        return leader

    def controller_elsewhere(self, asker: Asker) -> int | None:
        """Return the controller if it is another broker and may be asked."""
        snapshot = self._metadata_cache.snapshot
        if snapshot.controller_id not in snapshot.brokers or not self.may_forward(asker):
            return None
        return None if snapshot.controller_id == self._broker_id else snapshot.controller_id

    def others(self) -> list[int]:
        """Return all other living brokers."""
        return [b for b in self._metadata_cache.snapshot.brokers if b != self._broker_id]

    def _must_learn(self, asker: Asker, tp: TopicPartition) -> bool:
        """Whether the client found this broker leading once, and must refresh its metadata.

        A gateway's client has nothing to learn: to it this broker leads everything, always.
        """
        assert asker.connection is not None
        return (
            asker.listener_name not in self._config().gateway_listeners
            and self._replicas.former_leaderships.is_lost_since(tp, asker.connection.opened_ms)
        )

    def _leader(self, tp: TopicPartition) -> int | None:
        """Return the living leader, if it is another broker."""
        snapshot = self._metadata_cache.snapshot
        here = self._replicas.partitions.get(tp)
        known = snapshot.partition(tp)
        if here is not None and (known is None or here.leader_epoch > known.leader_epoch):
            leader = here.leader  # LeaderAndIsr comes before UpdateMetadata
        elif known is not None:
            leader = known.leader
        else:
            return None
        return leader if leader in snapshot.brokers and leader != self._broker_id else None

    # --- the ways there

    def upstream(self, asker: Asker, broker_id: int) -> Upstream:
        """Return the client's way to a broker."""
        return self._ways(asker, broker_id)[0]

    def fetch_ahead(self, asker: Asker, broker_id: int) -> FetchAhead:
        """Return what the client fetches from a broker."""
        return self._ways(asker, broker_id)[1]

    def _ways(self, asker: Asker, broker_id: int) -> tuple[Upstream, FetchAhead]:
        connection = asker.connection
        assert connection is not None, "only what comes by a connection is forwarded"
        if connection not in self._upstreams:
            self._upstreams[connection] = {}
            connection.when_lost(partial(self._client_lost, connection))
        ways = self._upstreams[connection]
        if broker_id not in ways:
            log.debug(
                "forwarding for {client} at {host} to broker {broker}",
                client=asker.client_id,
                host=connection.peer_host,
                broker=broker_id,
            )
            client_id = mark(asker.client_id, self._broker_id)
            upstream = Upstream(
                partial(self._open_channel, broker_id, client_id), self.time, connection.close
            )
            ways[broker_id] = upstream, FetchAhead(upstream, self._background)
        return ways[broker_id]

    def _client_lost(self, connection: Connection) -> None:
        for upstream, _ in self._upstreams.pop(connection).values():
            upstream.close("the client is gone")

    def metadata_changed(self, snapshot: MetadataSnapshot) -> None:
        """Give up on brokers that are gone: who waits for a silent one would wait for long."""
        for ways in self._upstreams.values():
            for broker_id, (upstream, _) in ways.items():
                if broker_id not in snapshot.brokers:
                    upstream.disconnect(f"broker {broker_id} is gone")

    def shutdown(self) -> None:
        """Close all connections that were opened for clients."""
        self._background.stop()
        for connection in list(self._upstreams):
            self._client_lost(connection)
