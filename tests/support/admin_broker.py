"""A broker's admin side without network and disk: real admin objects over a FakeZooKeeper.

broker = AdminBroker({"num.partitions": "3"})
broker.ask(CreateTopicsRequest(...))        # in the latest version, over the real codec
broker.react()                              # what controller and UpdateMetadata would do
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.cluster.metadata_cache import MetadataCache, PartitionMetadata
from kafkalike.cluster.partition import Partition, PartitionState
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.leader_and_isr import LEADER_DURING_DELETE, NO_LEADER
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey, response_class
from kafkalike.protocol.schema import Message
from kafkalike.replication.log_dir_mover import LogDirMover
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import load_apis
from kafkalike.server.auto_topic_creation import AutoTopicCreation
from kafkalike.server.broker_loggers import BrokerLoggers
from kafkalike.server.config_admin import ConfigAdmin
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.services import BrokerServices
from kafkalike.server.topic_admin import TopicAdmin
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes import BrokerInfo
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.log_builder import run_at_once
from tests.support.run import result_of, run, start

PROPERTIES = {"broker.id": "1", "zookeeper.connect": "zk:2181", "listeners": "PLAINTEXT://:9092"}


@dataclass
class FakeController:
    """A controller that is in office, or not, and remembers what was asked of it."""

    is_active: bool = True
    unclean_topics: list[str | None] = field(default_factory=list)
    context: Any = field(
        default_factory=lambda: SimpleNamespace(topic_names={}, topics_to_be_deleted={})
    )

    def enable_topic_unclean_leader_election(self, topic: str) -> None:
        self.unclean_topics.append(topic)

    def enable_default_unclean_leader_election(self) -> None:
        self.unclean_topics.append(None)


def a_broker(broker_id: int, rack: str | None = None) -> Broker:
    """Make a broker with one listener."""
    end_point = EndPoint(f"host{broker_id}", 9092, "PLAINTEXT", "PLAINTEXT")
    return Broker(broker_id, (end_point,), rack)


class AdminBroker:
    """Broker 1 of a cluster of so many brokers (or of these ids); it is the controller."""

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        brokers: int = 1,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.clock = Clock()
        self.zookeeper = FakeZooKeeper(self.clock)
        self.zk = KafkaZkClient(self.zookeeper.connected_client())
        self.time = Time(self.clock)
        self.controller = FakeController()
        self.metadata_cache = MetadataCache()
        self.loggers = BrokerLoggers(lambda: ["kafkalike.log.log", "state.change"])
        run(self.zk.create_top_level_paths())
        self.brokers = {i: a_broker(i) for i in broker_ids or range(1, brokers + 1)}
        for broker in self.brokers.values():
            run(self.zk.register_broker(BrokerInfo(broker, jmx_port=-1, timestamp_ms=0)))
        config = BrokerConfig.from_properties({**PROPERTIES, **(properties or {})})
        self.dynamic_config = DynamicConfig(config, 1, self.zk, self.time)
        run(self.dynamic_config.initialize())
        self.random = Random(7)
        self.topic_admin = TopicAdmin(
            self.dynamic_config, self.metadata_cache, self.zk, self.time, self.random
        )
        self.auto_topic_creation = AutoTopicCreation(self.dynamic_config, self.topic_admin)
        self.config_admin = ConfigAdmin(
            self.dynamic_config, self.metadata_cache, self.zk, self.loggers
        )
        self.replica_manager = ReplicaManager(1, self.time, self.metadata_cache, run_at_once)
        self.cluster_id = "a-cluster-id"
        self.log_manager: LogManager | None = None
        self.log_dir_mover: LogDirMover | None = None
        self.react()

    @property
    def config(self) -> BrokerConfig:
        return self.dynamic_config.current

    def react(self) -> None:
        """Delete what is to be deleted, and show all topics with leaders."""
        for topic in run(self.zk.get_topic_deletions()):
            run(self.zk.delete_path(f"/brokers/topics/{topic}"))
            run(self.zk.delete_path(f"/config/topics/{topic}"))
            run(self.zk.delete_path(f"/admin/delete_topics/{topic}"))
        found = run(
            self.zk.get_replica_assignment_and_topic_ids_for_topics(
                run(self.zk.get_all_topics_in_cluster())
            )
        )
        ids = {one.topic: one.topic_id for one in found if one.topic_id is not None}
        self.controller.context.topic_names = {topic_id: topic for topic, topic_id in ids.items()}
        states = [
            (tp.topic, _metadata(tp, assignment.replicas))
            for one in found
            for tp, assignment in one.assignment.items()
        ]
        states += [
            (topic, _metadata(TopicPartition(topic, partition), (), LEADER_DURING_DELETE))
            for topic, partitions in self.metadata_cache.snapshot.topics.items()
            if topic not in {one.topic for one in found}
            for partition in partitions
        ]
        self.metadata_cache.update(1, self.brokers, states, ids)
        self.topic_admin.metadata_changed({topic for topic, _ in states})

    def create_topic(self, name: str, assignment: Mapping[int, tuple[int, ...]]) -> None:
        """Have a topic without configs."""
        replicas = {TopicPartition(name, p): brokers for p, brokers in assignment.items()}
        run(self.zk.create_topic_assignment(name, name.encode().ljust(16, b"\1")[:16], replicas))
        self.react()

    # Any: the answer's class follows from the request's.
    def begin(self, request: Message, version: int | None = None) -> "Deferred[Any]":
        """Hand a request to its handler, over the codec; take the answer with `result_of`."""
        version = request.max_version if version is None else version
        return start(self._handle(request, version))

    def ask(self, request: Message, version: int | None = None) -> Any:
        """Hand a request to its handler, react to what it writes, and return the answer."""
        answer = self.begin(request, version)
        if not answer.called:
            self.react()
        return result_of(answer)

    async def _handle(self, request: Message, version: int) -> Any:
        api = load_apis()[request.api_key]
        assert version in api.versions
        sent = api.request_class.decode(request.encode(version), version)
        response = await api.handle(self.context(version), sent)
        assert response is not None
        answered = response_class(ApiKey(request.api_key))
        return answered.decode(response.encode(version), version)

    def context(self, version: int) -> RequestContext:
        """Give what a handler knows of a request."""
        return RequestContext(
            cast(BrokerServices, self), version, "a-client", "PLAINTEXT", "127.0.0.1"
        )

    # --- with logs

    def start_logs(self, *directories: Path) -> None:
        """Have a log manager over these directories."""
        properties = {**self.config.originals, "log.dirs": ",".join(map(str, directories))}
        config = BrokerConfig.from_properties(properties)
        self.log_manager = LogManager(config, self.time, run_at_once)
        run(self.log_manager.startup({}))
        self.log_dir_mover = LogDirMover(
            self.replica_manager,
            self.log_manager,
            run_at_once,
            self.time,
            self.dynamic_config.max_log_dir_move_rate,
        )

    def lead(self, topic: str, partition: int = 0, directory: Path | None = None) -> Log:
        """Lead a partition, as a LeaderAndIsr request would have it."""
        assert self.log_manager is not None
        tp = TopicPartition(topic, partition)
        config = run(self.dynamic_config.topic_config(topic))
        log = self.log_manager.get_or_create_log(
            tp, config, topic_id=None, is_new=True, preferred_dir=directory
        )
        one = Partition(tp, 1, None)
        one.log = log
        one.make_leader(PartitionState(1, 0, (1,), 0, (1,)), self.time.now_ms())
        self.replica_manager.partitions[tp] = one
        return log

    def stop(self) -> None:
        """End what was started."""
        if self.log_manager is not None:
            run(self.log_manager.shutdown())


def _metadata(
    tp: TopicPartition, replicas: tuple[int, ...], leader: int | None = None
) -> PartitionMetadata:
    if leader is None:
        leader = replicas[0] if replicas else NO_LEADER
    return PartitionMetadata(
        partition=tp.partition, leader=leader, leader_epoch=0, isr=replicas, replicas=replicas
    )
