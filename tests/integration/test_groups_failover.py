"""Groups outlive their coordinator and their leaders, and nothing that was committed is lost."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.coordinator.partitioning import partition_for
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.support.broker import Broker
from tests.support.clients.group_member import NAMES, GroupMember
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.new_broker import NewBroker, connect_to
from tests.support.plain_requests import create_topic
from tests.support.target import unique_topic
from tests.support.traffic import Traffic
from tests.support.waiting import wait_until
from tests.support.wire_groups import commit, committed, fetch, wait_for_group_coordinator

pytestmark = pytest.mark.ensemble

OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_PARTITIONS = 50  # Kafka's default
PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Brokers 1, 2 and 3 with Kafka's defaults, but for the wait for more members."""
    directory = tmp_path_factory.mktemp("groups") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/groups-failover") as cluster:
        cluster.up("--first-id", 1, settings={"group.initial.rebalance.delay.ms": "500"})
        with cluster.connect(1) as client:
            wait_for_coordinator(client, "warm-up")
        cluster.wait_until_in_sync(OFFSETS_TOPIC)
        yield cluster


@pytest.fixture
def whole(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, whose brokers all run again after the test."""
    yield cluster
    stopped = [broker["id"] for broker in cluster.record["brokers"] if broker["pid"] is None]
    if stopped:
        cluster.run("start", *stopped)
    cluster.wait_until_in_sync(OFFSETS_TOPIC, 60)


def wait_for_coordinator(client: SimpleClient, group: str) -> int:
    def found() -> int:
        answer = client.send(FindCoordinatorRequest(key=group))
        assert answer.error_code == ErrorCode.NONE
        return int(answer.node_id)

    return wait_until(found, 60, f"a coordinator of {group}")


def coordinator_of(cluster: Cluster, group: str) -> int:
    """The broker that coordinates a group now."""
    partition = cluster.partition(OFFSETS_TOPIC, partition_for(group, OFFSETS_PARTITIONS))
    return partition.leader


def test_offsets_topic_is_replicated(cluster: Cluster) -> None:
    """M60: 50 partitions, each on three brokers."""
    found = [p for tp, p in cluster.view().partitions.items() if tp.topic == OFFSETS_TOPIC]
    assert len(found) == OFFSETS_PARTITIONS
    assert {len(partition.replicas) for partition in found} == {3}


def consume_through(
    cluster: Cluster, group: str, topic: str, disturb: Callable[[], object]
) -> None:
    """Have a group read and commit while records come in and something happens."""
    with ExitStack() as stack:
        members = [
            stack.enter_context(GroupMember(name, cluster.bootstrap_servers, group, topic))
            for name in (NAMES[0], NAMES[0], NAMES[2])
        ]

        def seen() -> set[int]:
            return {int(got.value) for member in members for got in list(member.received)}

        traffic = Traffic(cluster.bootstrap_servers, topic, per_second=200)
        with traffic:
            wait_until(lambda: len(seen()) > 100, 60, "the group reads")
            for member in members:
                member.commit()
            disturb()
            traffic.wait_for(500)
            before = len(seen())
            wait_until(lambda: len(seen()) > before + 200, 60, "the group reads on")
        wait_until(lambda: traffic.acknowledged <= seen(), 60, "all acknowledged records")


def test_group_goes_on_when_its_coordinator_is_killed(whole: Cluster) -> None:
    """M53: recovers from the loss of the coordinator in the middle of reading."""
    group, topic = unique_topic("group"), unique_topic("topic")
    whole.create_topic(topic, partitions=PARTITIONS, replication_factor=3)
    lost = coordinator_of(whole, group)
    consume_through(whole, group, topic, lambda: whole.run("kill", lost))
    assert coordinator_of(whole, group) != lost


def test_group_goes_on_when_a_leader_of_its_topic_is_stopped_in_order(whole: Cluster) -> None:
    """M53: recovers from a broker that goes, also from one that says goodbye."""
    group, topic = unique_topic("group"), unique_topic("topic")
    whole.create_topic(topic, partitions=PARTITIONS, replication_factor=3)
    lost = whole.partition(topic).leader
    consume_through(whole, group, topic, lambda: whole.run("kill", lost, "--signal", "TERM"))


def test_nothing_committed_is_lost_with_the_coordinator(whole: Cluster) -> None:
    """M61: offsets of many groups are there after their coordinators were killed one by one."""
    topic = unique_topic("topic")
    whole.create_topic(topic, replication_factor=3)
    groups = [unique_topic("group") for _ in range(60)]
    for lost in (1, 2):
        with whole.connect(3) as client:
            for number, group in enumerate(groups):
                wait_until(partial(is_committed, client, group, topic, lost + number), 60)
        whole.run("kill", lost)
        with whole.connect(3) as client:
            for number, group in enumerate(groups):
                found = wait_until(partial(offset_of, client, group, topic), 60)
                assert found == lost + number
        whole.run("start", lost)
        whole.wait_until_in_sync(OFFSETS_TOPIC, 60)


# Broker 3 sends on what belongs to other coordinators.
def is_committed(client: SimpleClient, group: str, topic: str, offset: int) -> bool:
    return bool(commit(client, group, topic, offset).error_code == ErrorCode.NONE)


def offset_of(client: SimpleClient, group: str, topic: str) -> int:
    answer = fetch(client, group, {topic: [0]})
    assert answer.error_code == ErrorCode.NONE
    ((found,),) = (t.partitions for t in answer.topics)
    return int(found.committed_offset)


# --- one broker


ONE_BROKER = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


def test_offsets_survive_a_broker_that_is_killed(new_broker: NewBroker) -> None:
    """M61: also where the coordinator is the only broker."""
    broker = new_broker(properties={**ONE_BROKER, "auto.create.topics.enable": "true"})
    groups = [f"group-{number}" for number in range(20)]
    with connect_to(broker) as client:
        wait_for_group_coordinator(client, groups[0])
        create_topic(client, "t")
        for number, group in enumerate(groups):
            assert commit(client, group, "t", number).error_code == ErrorCode.NONE
    broker.kill()
    broker.start()
    with connect_to(broker) as client:
        wait_for_group_coordinator(client, groups[0])
        for number, group in enumerate(groups):
            loaded = wait_until(lambda g=group: committed(client, g, "t") + 1, 30, "loading")
            assert loaded == number + 1


def test_offsets_topic_is_not_created_with_too_few_brokers(new_broker: NewBroker) -> None:
    broker: Broker = new_broker()
    with connect_to(broker) as client:
        for _ in range(3):
            answer = client.send(FindCoordinatorRequest(key="g"))
            assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert (answer.node_id, answer.host, answer.port) == (-1, "", -1)
        broker.wait_for_log("Replication factor: 3 larger than available brokers: 1")
        for broker_id in (2, 3):
            new_broker(broker_id=broker_id)
        assert wait_for_coordinator(client, "g") in (1, 2, 3)
