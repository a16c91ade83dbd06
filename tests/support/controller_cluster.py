"""Brokers as the controller sees them: real controllers on a FakeZooKeeper, and brokers that obey.

    cluster = ControllerCluster()
    cluster.start_broker(1); cluster.start_broker(2)
    cluster.create_topic("t", {0: (1, 2)})
    cluster.state("t", 0)                   # leader, epoch and ISR in ZooKeeper
    cluster.brokers[2].partitions           # what broker 2 was last told
    cluster.kill_broker(1)                  # its session ends

A broker refuses stale epochs as a real one does. `cluster.sent` has all requests in order; each
went through bytes of the version it was sent in.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.controller.kafka_controller import KafkaController
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, NetworkError
from kafkalike.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafkalike.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafkalike.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafkalike.protocol.schema import Message
from kafkalike.utils.time import Time
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.errors import ZkError
from kafkalike.zk.znodes import (
    BrokerInfo,
    ConfigEntityZNode,
    ConfigType,
    TopicPartitionStateZNode,
)
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start


class ObedientBroker:
    """What a broker does with the controller's requests."""

    def __init__(self, broker_id: int) -> None:
        self.id = broker_id
        self.epoch = -1
        self.controller_epoch = 0
        self.partitions: dict[TopicPartition, LeaderAndIsrPartitionState] = {}
        self.metadata: dict[TopicPartition, UpdateMetadataPartitionState] = {}
        self.live_brokers: set[int] = set()
        self.deleted: list[TopicPartition] = []
        self.storage_errors: set[TopicPartition] = set()
        self.is_reachable = True
        self.is_answering = True
        self._unanswered: list[Callable[[], None]] = []

    def restart(self) -> None:
        """Forget what only memory held."""
        self.partitions.clear()
        self.metadata.clear()
        self.live_brokers.clear()
        self.controller_epoch = 0

    def answer_all(self) -> None:
        """Answer again, beginning with what waits."""
        self.is_answering = True
        waiting, self._unanswered = self._unanswered, []
        for answer in waiting:
            answer()

    async def handle(self, request: Message) -> Message:
        """Answer a request, or fail as a broker does that cannot be reached."""
        if not self.is_reachable:
            raise NetworkError(f"broker {self.id} is not reachable")
        if not self.is_answering:
            waiting: Deferred[None] = Deferred()
            self._unanswered.append(lambda: waiting.callback(None))
            await waiting
        match request:
            case LeaderAndIsrRequest():
                return self._leader_and_isr(request)
            case UpdateMetadataRequest():
                return self._update_metadata(request)
            case StopReplicaRequest():
                return self._stop_replica(request)
            case _:
                raise AssertionError(f"unexpected {request}")

    def _refusal(self, request: Any) -> ErrorCode:
        # It may be later than the broker knows: the controller can hear of a registration first.
        if request.broker_epoch < self.epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        if request.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = request.controller_epoch
        return ErrorCode.NONE

    def _leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        if refusal := self._refusal(request):
            return LeaderAndIsrResponse(error_code=refusal)
        topics = []
        for topic in request.topic_states:
            errors = []
            for state in topic.partition_states:
                tp = TopicPartition(topic.topic_name, state.partition_index)
                is_failed = tp in self.storage_errors
                if not is_failed:
                    self.partitions[tp] = state
                code = ErrorCode.KAFKA_STORAGE_ERROR if is_failed else ErrorCode.NONE
                errors.append(
                    LeaderAndIsrPartitionError(partition_index=tp.partition, error_code=code)
                )
            topics.append(LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=errors))
        return LeaderAndIsrResponse(topics=topics)

    def _update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        if refusal := self._refusal(request):
            return UpdateMetadataResponse(error_code=refusal)
        self.live_brokers = {broker.id for broker in request.live_brokers}
        for topic in request.topic_states:
            for state in topic.partition_states:
                self.metadata[TopicPartition(topic.topic_name, state.partition_index)] = state
        return UpdateMetadataResponse()

    def _stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        if refusal := self._refusal(request):
            return StopReplicaResponse(error_code=refusal)
        errors = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                tp = TopicPartition(topic.topic_name, state.partition_index)
                is_failed = tp in self.storage_errors
                if not is_failed:
                    self.partitions.pop(tp, None)
                if state.delete_partition and not is_failed:
                    self.deleted.append(tp)
                code = ErrorCode.KAFKA_STORAGE_ERROR if is_failed else ErrorCode.NONE
                errors.append(
                    StopReplicaPartitionError(
                        topic_name=tp.topic, partition_index=tp.partition, error_code=code
                    )
                )
        return StopReplicaResponse(partition_errors=errors)


class Member:
    """One broker of the cluster: its ZooKeeper session, its controller, what it was told."""

    def __init__(self, cluster: "ControllerCluster", broker_id: int) -> None:
        self._cluster = cluster
        self.broker = cluster.brokers[broker_id]
        self.session = cluster.zookeeper.connected_client()
        self.zk = KafkaZkClient(self.session)
        features = cluster.supported_features
        self.info = BrokerInfo(Broker(broker_id, (_end_point(broker_id),), None, dict(features)))
        self.controller = KafkaController(
            broker_id=broker_id,
            zk=self.zk,
            config=lambda: cluster.config,
            time=Time(cluster.clock),
            connect=cluster.connect,
            register_broker=self.register,
            new_topic_id=cluster.new_topic_id,
            supported_features=features,
        )

    async def register(self) -> None:
        """Write the registration; its czxid is the broker epoch."""
        self.broker.epoch = await self.zk.register_broker(self.info)

    async def start(self) -> None:
        """Start as a broker does: znodes, registration, controller."""
        await self.zk.create_top_level_paths()
        await self.register()
        self.controller.startup()


class ControllerCluster:
    """Members by id, and the brokers behind them (which outlive their sessions)."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.clock = Clock()
        self.zookeeper = FakeZooKeeper(self.clock)
        self.members: dict[int, Member] = {}
        self.brokers: dict[int, ObedientBroker] = {}
        self.sent: list[tuple[int, Message]] = []
        self.latency_ms: Callable[[], int] = lambda: 0
        self.supported_features: Mapping[str, tuple[int, int]] = {}  # of brokers started later
        self.set_config(properties or {})
        self._topic_ids = 0

    def set_config(self, properties: Mapping[str, str]) -> None:
        """Change the configuration of all brokers."""
        self.config = BrokerConfig.from_properties(
            {"zookeeper.connect": "127.0.0.1:2181", **properties}
        )

    def start_broker(self, broker_id: int) -> Member:
        """Start (or restart) a broker."""
        self.brokers.setdefault(broker_id, ObedientBroker(broker_id)).restart()
        member = Member(self, broker_id)
        self.members[broker_id] = member
        started = start(member.start())
        if self.zookeeper.is_delayed:
            started.addErrback(lambda failure: failure.trap(ZkError) and None)  # killed meanwhile
        else:
            result_of(started)
        return member

    def start_brokers(self, *broker_ids: int) -> None:
        """Start brokers; the first becomes controller."""
        for broker_id in broker_ids:
            self.start_broker(broker_id)

    def kill_broker(self, broker_id: int) -> Member:
        """End a broker without goodbye: nothing runs any more, its session is over."""
        member = self.members.pop(broker_id)
        member.controller.shutdown()
        run(member.session.close())
        return member

    @property
    def controller(self) -> KafkaController:
        """The one controller that is active."""
        (active,) = [m.controller for m in self.members.values() if m.controller.is_active]
        return active

    @property
    def zk(self) -> KafkaZkClient:
        """Some broker's client."""
        return next(iter(self.members.values())).zk

    def create_topic(
        self, topic: str, replicas: Mapping[int, tuple[int, ...]], *, has_id: bool = True
    ) -> None:
        """Create a topic as an admin client's request does."""
        topic_id = self.new_topic_id() if has_id else None
        assignment = {TopicPartition(topic, p): r for p, r in replicas.items()}
        run(self.zk.set_or_create_entity_configs(ConfigType.TOPIC, topic, {}))
        run(self.zk.create_topic_assignment(topic, topic_id, assignment))

    def set_topic_config(self, topic: str, **config: str) -> None:
        """Replace a topic's configs; underscores stand for dots."""
        own = {key.replace("_", "."): value for key, value in config.items()}
        run(self.zk.set_or_create_entity_configs(ConfigType.TOPIC, topic, own))

    def delete_topic(self, topic: str) -> None:
        """Ask for a topic's deletion."""
        run(self.zk.create_delete_topic_path(topic))

    def state(self, topic: str, partition: int) -> LeaderAndIsr:
        """Leader, epoch and ISR of a partition in ZooKeeper."""
        path = TopicPartitionStateZNode.path(TopicPartition(topic, partition))
        stat = self.zookeeper.tree.stat(path)
        return TopicPartitionStateZNode.decode(
            self.zookeeper.data(path), stat.version
        ).leader_and_isr

    def has_path(self, path: str) -> bool:
        """Whether a znode is there."""
        return path in self.zookeeper.paths()

    def has_topic_config(self, topic: str) -> bool:
        """Whether a topic has a config znode."""
        return self.has_path(ConfigEntityZNode.path(ConfigType.TOPIC, topic))

    def new_topic_id(self) -> bytes:
        """Draw the next id."""
        self._topic_ids += 1
        return self._topic_ids.to_bytes(16)

    def connect(self, broker: Broker) -> "RecordingSender":
        """Make a way to a broker, as the server does."""
        return RecordingSender(self, self.brokers[broker.id])

    def take_sent(self) -> list[tuple[int, Message]]:
        """Give what was sent since the last time."""
        taken, self.sent = self.sent, []
        return taken


class RecordingSender:
    """Sends by bytes, so that a request is what its version can carry."""

    def __init__(self, cluster: ControllerCluster, broker: ObedientBroker) -> None:
        self._cluster = cluster
        self._broker = broker

    async def send(self, request: Message, version: int) -> Message:
        """Let the broker answer."""
        if latency_ms := self._cluster.latency_ms():
            await Time(self._cluster.clock).sleep_ms(latency_ms)
        received = type(request).decode(request.encode(version), version)
        if self._broker.is_reachable:
            self._cluster.sent.append((self._broker.id, received))
        return await self._broker.handle(received)

    def close(self) -> None:
        """Nothing to close."""


def _end_point(broker_id: int) -> EndPoint:
    return EndPoint("127.0.0.1", 9092 + broker_id, "PLAINTEXT", "PLAINTEXT")


def sent_to(sent: list[tuple[int, Message]], broker_id: int, kind: type[Message]) -> list[Any]:
    """Give the requests of one kind to one broker."""
    return [cast(Any, r) for b, r in sent if b == broker_id and isinstance(r, kind)]
