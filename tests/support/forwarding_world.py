"""Broker 1 of three on a clock of the test: real handlers, logs, routes; fake other brokers.

world = World(tmp_path)
world.partition(0, leader=1); world.partition(1, leader=2)
answer = world.ask(ProduceRequest(...))         # begun; take its end with `result_of`
world.channels[2].answer(ProduceResponse(...))
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from twisted.internet import error
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.cluster.metadata_cache import MetadataCache, PartitionMetadata
from kafkalike.cluster.partition import Partition, PartitionState
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_loader import load_log
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.network.connection import Connection
from kafkalike.protocol.errors import NetworkError
from kafkalike.protocol.schema import Message
from kafkalike.replication.fetch_session import FetchSessionCache
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api, load_apis
from kafkalike.server.forwarding.forwarding import Forwarding
from kafkalike.server.forwarding.routes import ROUTES
from kafkalike.server.services import BrokerServices
from kafkalike.utils.time import Time
from tests.support.run import start

TOPIC = "t"
ME = 1
PROPERTIES = {
    "broker.id": "1",
    "zookeeper.connect": "zk:2181",
    "listeners": "PLAINTEXT://h1:9092,REFUSING://h1:9093,GATEWAY://h1:9094",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,REFUSING:PLAINTEXT,GATEWAY:PLAINTEXT",
    "listener.name.refusing.forwarding.enable": "false",
    "listener.name.gateway.gateway": "true",
}


def refused() -> Exception:
    """Return what Twisted raises where nobody listens."""
    kind: Any = error.ConnectionRefusedError  # it has no types
    return cast(Exception, kind())


class FakeConnection:
    """A client's connection."""

    def __init__(self, listener_name: str, opened_ms: int) -> None:
        self.listener_name = listener_name
        self.opened_ms = opened_ms
        self.peer_host = "client"
        self.is_open = True
        self.state: Any = None
        self._told: list[Callable[[], None]] = []

    def when_lost(self, tell: Callable[[], None]) -> None:
        self._told.append(tell)

    def close(self) -> None:
        self.is_open = False
        for tell in self._told:
            tell()


@dataclass
class FakeChannel:
    """A connection to another broker, in the hand of the test."""

    client_id: str = ""
    setup_ms: int = 0
    is_open: bool = True
    on_lost: Callable[[], None] | None = None
    sent: list[Any] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    timeouts_ms: list[int] = field(default_factory=list)
    waiting: list["Deferred[Any]"] = field(default_factory=list)
    why_closed: str = ""

    def begin(self, request: Message, version: int, timeout_ms: int) -> "Deferred[Any]":
        self.send_unanswered(request, version)
        self.timeouts_ms.append(timeout_ms)
        answered: Deferred[Any] = Deferred()
        self.waiting.append(answered)
        return answered

    def send_unanswered(self, request: Message, version: int) -> None:
        if not self.is_open:
            raise NetworkError("closed")
        # Over the codec, as it would go: what a test sees is what the other broker sees.
        self.sent.append(type(request).decode(request.encode(version), version))
        self.versions.append(version)

    def answer(self, response: Message) -> None:
        """Answer the oldest request that waits."""
        self.waiting.pop(0).callback(response)

    def close(self, why: str = "lost") -> None:
        """Lose the connection."""
        if self.is_open:
            self.is_open = False
            self.why_closed = why
            waiting, self.waiting = self.waiting, []
            for one in waiting:
                one.errback(NetworkError(why))
            if self.on_lost is not None:
                self.on_lost()


class World:
    """Broker 1, with what a test may want to look at."""

    def __init__(
        self,
        tmp_path: Path,
        properties: Mapping[str, str] | None = None,
        authorize: Any = None,
    ) -> None:
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.time = Time(self.clock)
        self.config = BrokerConfig.from_properties({**PROPERTIES, **(properties or {})})
        self.metadata = MetadataCache()
        self.replicas = ReplicaManager(ME, self.time, self.metadata, self._flush)
        self.channels: dict[int, FakeChannel] = {}
        self.opened: list[tuple[int, FakeChannel]] = []
        self.unreachable: set[int] = set()
        self.connecting: dict[int, Deferred[None]] = {}
        self.controller = SimpleNamespace(is_active=False)
        extra = {} if authorize is None else {"authorize": authorize}
        self.forwarding = Forwarding(
            ME,
            lambda: self.config,
            self.metadata,
            self.replicas,
            self._open_channel,
            self.time,
            **extra,
        )
        self.services = SimpleNamespace(
            broker_id=ME,
            cluster_id="cluster",
            config=self.config,
            time=self.time,
            metadata_cache=self.metadata,
            replica_manager=self.replicas,
            fetch_sessions=FetchSessionCache(10, Random(1)),
            forwarding=self.forwarding,
            controller=self.controller,
        )
        self._directory = tmp_path
        self._states: dict[tuple[str, int], PartitionMetadata] = {}
        self.live(1, 2, 3)

    async def _flush(self, log: Log) -> None:
        log.flush(self.time.now_ms())

    async def _open_channel(self, broker_id: int, client_id: str, setup_ms: int) -> FakeChannel:
        if broker_id in self.connecting:
            await self.connecting[broker_id]
        if broker_id in self.unreachable:
            raise refused()
        channel = FakeChannel(client_id, setup_ms)
        self.channels[broker_id] = channel
        self.opened.append((broker_id, channel))
        return channel

    # --- the cluster

    def live(self, *broker_ids: int, controller_id: int = 2) -> None:
        """Let these brokers be alive, as UpdateMetadata says it."""
        brokers = {
            i: Broker(
                i,
                tuple(
                    EndPoint(f"h{i}", 9090 + n, name, "PLAINTEXT")
                    for n, name in enumerate(_listeners(i))
                ),
            )
            for i in broker_ids
        }
        self.metadata.update(controller_id, brokers, self._partitions(), {})
        self.forwarding.metadata_changed(self.metadata.snapshot)

    def partition(
        self, number: int, leader: int, *, epoch: int = 0, topic: str = TOPIC, is_told: bool = True
    ) -> None:
        """Let a broker lead a partition that broker 1 has, too; `is_told`: in metadata."""
        tp = TopicPartition(topic, number)
        one = self.replicas.partitions.get(tp)
        if one is None:
            one = Partition(tp, ME, None)
            one.log = load_log(self._directory / str(tp), TopicConfig(), LogEnvironment(), now_ms=0)
            self.replicas.partitions[tp] = one
        if one.is_leader and leader != ME:
            self.replicas.leadership_lost(tp)
        replicas = (ME,) if leader == ME else (leader, ME)
        state = PartitionState(leader, epoch, replicas, 0, replicas)
        if leader == ME:
            one.make_leader(state, self.time.now_ms())
        else:
            one.make_follower(state)
        if is_told:
            self.tell(number, leader, epoch=epoch, topic=topic)

    def tell(self, number: int, leader: int, *, epoch: int = 0, topic: str = TOPIC) -> None:
        """Let the metadata say who leads a partition."""
        self._states[topic, number] = PartitionMetadata(
            partition=number, leader=leader, leader_epoch=epoch, isr=(leader,), replicas=(leader,)
        )
        snapshot = self.metadata.snapshot
        self.metadata.update(snapshot.controller_id, snapshot.brokers, self._partitions(), {})

    def _partitions(self) -> Iterable[tuple[str, PartitionMetadata]]:
        return [(topic, state) for (topic, _), state in self._states.items()]

    # --- clients

    def connect(self, listener_name: str = "PLAINTEXT") -> FakeConnection:
        """Open a client's connection now."""
        return FakeConnection(listener_name, self.time.now_ms())

    def context(
        self,
        connection: FakeConnection | None,
        version: int,
        *,
        client_id: str | None = "app",
    ) -> RequestContext:
        listener = "PLAINTEXT" if connection is None else connection.listener_name
        return RequestContext(
            cast(BrokerServices, self.services),
            version,
            client_id,
            listener,
            "client",
            cast("Connection | None", connection),
        )

    # Any: the answer's class follows from the request's.
    def ask(
        self,
        request: Message,
        connection: FakeConnection | None = None,
        *,
        version: int | None = None,
        client_id: str | None = "app",
    ) -> "Deferred[Any]":
        """Do what the dispatcher does with a request."""
        version = request.max_version if version is None else version
        api = load_apis()[request.api_key]
        decoded = api.request_class.decode(request.encode(version), version)
        connection = connection or self.connect()
        context = self.context(connection, version, client_id=client_id)
        route = ROUTES.get(request.api_key)
        if route is None:
            return start(api.handle(context, decoded))
        return start(route.handle(api, context, decoded))

    def end_offset(self, number: int) -> int:
        """The log end offset of a replica here."""
        log = self.replicas.get_log(TopicPartition(TOPIC, number))
        assert log is not None
        return log.log_end_offset


def _listeners(broker_id: int) -> list[str]:
    """Only broker 1 has a gateway."""
    return ["PLAINTEXT", "REFUSING", "GATEWAY"] if broker_id == ME else ["PLAINTEXT", "REFUSING"]


def an_api(handle: Callable[[Any, Any], Any], like: Api) -> Api:
    """Return an API with another handler."""
    return like._replace(handle=handle)
