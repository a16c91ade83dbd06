"""Coordinators and leaders are killed in every state of a transaction: it ends as decided."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from tests.support import wire
from tests.support.cluster import Cluster
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

pytestmark = pytest.mark.ensemble

BROKERS = (101, 102, 103)
SETTINGS = {
    "transaction.state.log.num.partitions": "6",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Brokers 101, 102 and 103; a test that kills some starts them again."""
    directory = tmp_path_factory.mktemp("transactions") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/transactions-failover") as cluster:
        cluster.up("--first-id", BROKERS[0], settings=SETTINGS)
        yield cluster


@pytest.fixture
def whole(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, whose brokers all run again, in sync, after the test."""
    yield cluster
    start_all(cluster)


def start_all(cluster: Cluster) -> None:
    stopped = [broker["id"] for broker in cluster.record["brokers"] if broker["pid"] is None]
    if stopped:
        cluster.run("start", *stopped)
    cluster.wait_until_in_sync("__transaction_state", 60)


def kill(cluster: Cluster, broker_id: int) -> None:
    """Kill a broker and wait until the others know."""
    cluster.run("kill", broker_id)
    wait_until(lambda: broker_id not in cluster.view().brokers, 20, f"end of {broker_id}")


class World:
    """A producer with a transaction in a topic, and who looks after it."""

    def __init__(self, cluster: Cluster, client: SimpleClient) -> None:
        self.cluster = cluster
        self.client = client
        self.producer = WireProducer(client)
        self.producer.init()

    @property
    def coordinator(self) -> int:
        """The broker that coordinates the transaction."""
        key = self.producer.transactional_id
        return wait_for_coordinator(self.client, key, TRANSACTION_KEY)

    def topic_on(self, *replicas: int) -> str:
        """Make a topic of one partition on these brokers."""
        name = unique_topic("failover")
        self.cluster.create_topic(name, assignment=[list(replicas)])
        return name

    def open_transaction(self, topic: str, *values: bytes) -> None:
        """Begin a transaction and write to it."""
        self.producer.begin(topic, 0)
        for value in values:
            assert self.producer.write(topic, value) == ErrorCode.NONE

    def end(self, *, is_commit: bool) -> None:
        """End the transaction, as soon as there is somebody to ask."""
        assert self.producer.end_at_coordinator(is_commit=is_commit) == ErrorCode.NONE

    @contextmanager
    def asking(self, broker_id: int) -> Iterator[None]:
        """Send everything to another broker from now on: the first may die."""
        with self.cluster.connect(broker_id, timeout_s=40) as client:
            self.client = self.producer.client = client
            yield


@contextmanager
def a_world(cluster: Cluster) -> Iterator[World]:
    with cluster.connect(BROKERS[0], timeout_s=40) as client:
        yield World(cluster, client)


def others(*but: int) -> list[int]:
    return [broker for broker in BROKERS if broker not in but]


def ends_with(world: World, topic: str, marker: str) -> bool:
    return log_of(world.client, topic)[-1:] == [marker]


@pytest.mark.parametrize("is_commit", [True, False])
def test_open_transaction_outlives_its_coordinator(whole: Cluster, *, is_commit: bool) -> None:
    with a_world(whole) as world:
        topic = world.topic_on(*BROKERS)
        world.open_transaction(topic, b"before")
        killed = world.coordinator
        with world.asking(others(killed)[0]):
            kill(whole, killed)
            wait_until(lambda: world.producer.add(topic, 0) == [ErrorCode.NONE], 30, "coordinator")
            assert world.coordinator != killed
            wait_until(
                lambda: world.producer.write(topic, b"after") == ErrorCode.NONE, 30, "leader"
            )
            world.end(is_commit=is_commit)
            marker = "COMMIT" if is_commit else "ABORT"
            wait_until(lambda: ends_with(world, topic, marker), 30, "the marker")
            assert committed_values(world.client, topic) == (
                ["before", "after"] if is_commit else []
            )


@pytest.mark.parametrize("is_commit", [True, False])
def test_decided_transaction_is_ended_by_the_next_coordinator(
    whole: Cluster, *, is_commit: bool
) -> None:
    """The only replica of the partition is away, so the first coordinator cannot end it."""
    with a_world(whole) as world:
        coordinator = world.coordinator
        leader, survivor = others(coordinator)
        topic = world.topic_on(leader)
        world.open_transaction(topic, b"a", b"b")
        with world.asking(survivor):
            kill(whole, leader)
            world.end(is_commit=is_commit)
            kill(whole, coordinator)
            whole.run("start", leader)
            marker = "COMMIT" if is_commit else "ABORT"
            wait_until(lambda: ends_with(world, topic, marker), 60, "the marker")
            assert log_of(world.client, topic) == ["a", "b", marker]
            assert committed_values(world.client, topic) == (["a", "b"] if is_commit else [])
            assert world.coordinator != coordinator
            # The next transaction begins when the end of this one is in the log.
            world.producer.begin(topic, 0)


def test_producer_that_only_started_goes_on(whole: Cluster) -> None:
    with a_world(whole) as world:
        topic = world.topic_on(*BROKERS)
        killed = world.coordinator
        with world.asking(others(killed)[0]):
            kill(whole, killed)
            world.open_transaction(topic, b"a")
            world.end(is_commit=True)
            wait_until(lambda: ends_with(world, topic, "COMMIT"), 30, "the marker")
            assert world.producer.epoch == 0


@pytest.mark.parametrize("is_commit", [True, False])
def test_ended_transaction_stays_ended(whole: Cluster, *, is_commit: bool) -> None:
    with a_world(whole) as world:
        topic = world.topic_on(*BROKERS)
        world.open_transaction(topic, b"a")
        world.end(is_commit=is_commit)
        marker = "COMMIT" if is_commit else "ABORT"
        wait_until(lambda: ends_with(world, topic, marker), 30, "the marker")
        killed = world.coordinator
        with world.asking(others(killed)[0]):
            kill(whole, killed)
            world.end(is_commit=is_commit)
            assert (
                world.producer.end_at_coordinator(is_commit=not is_commit)
                == ErrorCode.INVALID_TXN_STATE
            )
            assert log_of(world.client, topic) == ["a", marker]


def test_transaction_of_a_dead_coordinator_times_out(whole: Cluster) -> None:
    with a_world(whole) as world:
        topic = world.topic_on(*BROKERS)
        world.producer.timeout_ms = 3_000
        world.producer.init()
        world.open_transaction(topic, b"left open")
        killed = world.coordinator
        with world.asking(others(killed)[0]):
            kill(whole, killed)
            wait_until(lambda: ends_with(world, topic, "ABORT"), 30, "the marker")
            assert world.producer.end_at_coordinator(is_commit=True) == ErrorCode.PRODUCER_FENCED
            assert committed_values(world.client, topic) == []


def test_fenced_producer_stays_fenced(whole: Cluster) -> None:
    with a_world(whole) as world:
        topic = world.topic_on(*BROKERS)
        world.open_transaction(topic, b"of the zombie")
        zombie, successor = world.producer, WireProducer(world.client)
        successor.transactional_id = zombie.transactional_id
        successor.init()
        killed = world.coordinator
        with world.asking(others(killed)[0]):
            kill(whole, killed)
            successor.client = world.client
            successor.begin(topic, 0)
            assert zombie.end_at_coordinator(is_commit=True) == ErrorCode.PRODUCER_FENCED
            assert zombie.write(topic, b"late") == ErrorCode.INVALID_PRODUCER_EPOCH
            assert successor.write(topic, b"of the successor") == ErrorCode.NONE
            assert successor.end_at_coordinator(is_commit=True) == ErrorCode.NONE
            wait_until(lambda: ends_with(world, topic, "COMMIT"), 30, "the marker")
            assert committed_values(world.client, topic) == ["of the successor"]


def test_leader_of_a_partition_is_replaced_during_the_transaction(whole: Cluster) -> None:
    with a_world(whole) as world:
        leader, *rest = others(world.coordinator)
        topic = world.topic_on(leader, world.coordinator, *rest)
        world.open_transaction(topic, b"a")
        with world.asking(world.coordinator):
            kill(whole, leader)
            wait_until(lambda: world.producer.write(topic, b"b") == ErrorCode.NONE, 30, "leader")
            world.end(is_commit=True)
            wait_until(lambda: ends_with(world, topic, "COMMIT"), 30, "the marker")
            assert committed_values(world.client, topic) == ["a", "b"]


def test_all_brokers_are_killed_and_come_back(whole: Cluster) -> None:
    with a_world(whole) as world:
        topic = world.topic_on(*BROKERS)
        world.open_transaction(topic, b"a")
        for broker_id in BROKERS:
            whole.run("kill", broker_id)
        start_all(whole)
        with world.asking(BROKERS[1]):
            wait_until(lambda: wire.is_led(world.client, topic), 30, "a leader")
            world.end(is_commit=True)
            wait_until(lambda: ends_with(world, topic, "COMMIT"), 30, "the marker")
            assert committed_values(world.client, topic) == ["a"]


@pytest.mark.parametrize("is_commit", [True, False])
def test_decided_transaction_is_ended_after_all_brokers_were_killed(
    whole: Cluster, *, is_commit: bool
) -> None:
    """Whoever coordinates after the restart may learn of the partition later than of its log."""
    with a_world(whole) as world:
        leader, survivor = others(world.coordinator)
        topic = world.topic_on(leader)
        world.open_transaction(topic, b"a")
        with world.asking(survivor):
            kill(whole, leader)
            world.end(is_commit=is_commit)
        for broker_id in others(leader):
            whole.run("kill", broker_id)
        start_all(whole)
        with world.asking(survivor):
            marker = "COMMIT" if is_commit else "ABORT"
            wait_until(lambda: ends_with(world, topic, marker), 60, "the marker")
            assert committed_values(world.client, topic) == (["a"] if is_commit else [])
