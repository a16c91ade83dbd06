"""Transactions across our broker and a real Apache Kafka 2.8.2 broker, one cluster.

Either coordinates, either leads partitions, and either goes on with what the other has begun.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.support import wire
from tests.support.apache_kafka import ApacheKafka, apache_kafka_libs, why_no_apache_kafka
from tests.support.broker import Broker
from tests.support.clients.copying import TransactionalCopier, read_values
from tests.support.clients.transactional import Writer
from tests.support.ensemble import Ensemble
from tests.support.target import unique_topic
from tests.support.waiting import wait_until
from tests.support.wire_transactions import (
    TRANSACTION_KEY,
    WireProducer,
    committed_values,
    log_of,
    wait_for_coordinator,
)

pytestmark = [pytest.mark.kafka, pytest.mark.ensemble]

OURS, APACHE = 1, 2
PROPERTIES = {
    "zookeeper.session.timeout.ms": "6000",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "2",
    "group.initial.rebalance.delay.ms": "0",
}


class Cluster:
    """Broker 1 is ours, broker 2 is Apache's."""

    def __init__(self, directory: Path, ensemble: Ensemble) -> None:
        connect = f"{ensemble.connect_string}/{directory.name}"
        self.ours = Broker(directory / "ours", connect, broker_id=OURS, properties=PROPERTIES)
        self.apache = ApacheKafka(
            directory / "apache",
            first_id=APACHE,
            zookeeper_connect=connect,
            properties=PROPERTIES,
        )

    def start(self) -> None:
        self.ours.start()
        self.apache.start()
        with self.connect(OURS) as client:
            wait_for_coordinator(client, "warm-up", TRANSACTION_KEY)
            self.wait_until_in_sync("__transaction_state")

    def stop(self) -> None:
        self.ours.terminate()
        self.apache.stop()

    @property
    def bootstrap_servers(self) -> str:
        return f"{self.ours.bootstrap_servers},{self.apache.bootstrap_servers}"

    def connect(self, broker_id: int) -> SimpleClient:
        port = self.ours.port if broker_id == OURS else self.apache.ports[APACHE]
        return SimpleClient("127.0.0.1", port, timeout_s=40)

    def create_topic(self, *assignment: list[int]) -> str:
        name = unique_topic("mixed")
        partitions = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in enumerate(assignment)
        ]
        topic = CreatableTopic(
            name=name, num_partitions=-1, replication_factor=-1, assignments=partitions
        )
        with self.connect(OURS) as client:
            (made,) = client.send(CreateTopicsRequest(topics=[topic], timeout_ms=20_000)).topics
        assert made.error_code == ErrorCode.NONE, made.error_message
        self.wait_until_in_sync(name)
        return name

    def wait_until_in_sync(self, topic: str) -> None:
        def is_in_sync() -> bool:
            for broker_id in (OURS, APACHE):
                with self.connect(broker_id) as client:
                    partitions = wire.metadata(client, topic).partitions
                if not partitions or any(
                    set(p.isr_nodes) != set(p.replica_nodes) or p.leader_id < 0 for p in partitions
                ):
                    return False
            return True

        wait_until(is_in_sync, 60, f"{topic} in sync")

    def transactional_id_of(self, coordinator: int) -> str:
        """Return a transactional id that this broker coordinates."""
        with self.connect(OURS) as client:
            return wait_until(lambda: _id_coordinated_by(client, coordinator), 60, "coordinator")


def _id_coordinated_by(client: SimpleClient, coordinator: int) -> str | None:
    name = unique_topic("txn")
    answer = client.send(FindCoordinatorRequest(key=name, key_type=TRANSACTION_KEY))
    is_wanted = answer.error_code == ErrorCode.NONE and answer.node_id == coordinator
    return name if is_wanted else None


@contextmanager
def running(directory: Path, ensemble: Ensemble) -> Iterator[Cluster]:
    if apache_kafka_libs() is None:
        pytest.skip(why_no_apache_kafka())
    cluster = Cluster(directory, ensemble)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, ensemble: Ensemble) -> Iterator[Cluster]:
    with running(tmp_path_factory.mktemp("mixed"), ensemble) as started:
        yield started


@pytest.mark.parametrize("coordinator", [OURS, APACHE])
def test_markers_reach_partitions_of_both(cluster: Cluster, coordinator: int) -> None:
    on_ours, on_apache = cluster.create_topic([OURS]), cluster.create_topic([APACHE])
    name = cluster.transactional_id_of(coordinator)
    with Writer("confluent-kafka", cluster.bootstrap_servers, name) as writer:
        for topic in (on_ours, on_apache):
            writer.run(topic, [b"a"])
            writer.run(topic, [b"aborted"], is_commit=False)
            writer.run(topic, [b"b"])
    for broker_id, topic in ((OURS, on_ours), (APACHE, on_apache)):
        with cluster.connect(broker_id) as client:
            expected = ["a", "COMMIT", "aborted", "ABORT", "b", "COMMIT"]
            wait_until(_is_log(client, topic, expected), 20, "all markers")
            assert committed_values(client, topic) == ["a", "b"]


def _is_log(client: SimpleClient, topic: str, expected: list[str]) -> Callable[[], bool]:
    return lambda: log_of(client, topic) == expected


def test_copy_is_exact_across_both(cluster: Cluster) -> None:
    source = cluster.create_topic([OURS, APACHE], [APACHE, OURS])
    target = cluster.create_topic([APACHE, OURS], [OURS, APACHE])
    for partition, leader in enumerate((OURS, APACHE)):
        with cluster.connect(leader) as client:
            for number in range(100):
                wire.append(client, source, b"%d" % number, partition=partition)

    def copied() -> list[bytes]:
        return read_values(cluster.bootstrap_servers, target, 200, partitions=2, timeout_s=2)

    for coordinator in (OURS, APACHE):
        name = cluster.transactional_id_of(coordinator)
        copier = TransactionalCopier(
            cluster.bootstrap_servers, source, target, transactional_id=name, group="mixed"
        )
        enough = 100 * coordinator  # The second takes over where the first has stopped.
        copier.copy(lambda enough=enough: len(copied()) >= enough, aborts_every=4)  # type: ignore[misc]
        copier.close()
    assert sorted(map(int, copied())) == sorted(list(range(100)) * 2)


@pytest.mark.parametrize("killed", [OURS, APACHE])
def test_other_broker_ends_what_the_killed_one_began(
    tmp_path: Path, ensemble: Ensemble, killed: int
) -> None:
    survivor = APACHE if killed == OURS else OURS
    with running(tmp_path, ensemble) as cluster, cluster.connect(survivor) as client:
        topic = cluster.create_topic([survivor, killed])
        name = cluster.transactional_id_of(killed)
        with cluster.connect(killed) as first:
            producer = WireProducer(first, name)
            producer.init()
            producer.begin(topic, 0)
        producer.client = client
        assert producer.write(topic, b"a") == ErrorCode.NONE
        if killed == OURS:
            cluster.ours.kill()
        else:
            cluster.apache.brokers[APACHE].kill()
        wait_until(lambda: producer.add(topic, 0) == [ErrorCode.NONE], 60, "the next coordinator")
        assert producer.end(is_commit=True) == ErrorCode.NONE
        wait_until(_is_log(client, topic, ["a", "COMMIT"]), 30, "the marker")
        assert committed_values(client, topic) == ["a"]
