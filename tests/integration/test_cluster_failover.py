"""Brokers are lost: followers take over, at once, and nothing that was acknowledged is missing."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalike.launcher.cluster_view import view_from
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.traffic import read_numbers, write_numbers
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

SESSION_TIMEOUT_S = 18.0  # Kafka's default


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Brokers 101, 102 and 103 with Kafka's defaults; a test that stops one starts it again."""
    directory = tmp_path_factory.mktemp("failover") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/cluster-failover") as cluster:
        cluster.up("--first-id", 101)
        yield cluster


@pytest.fixture
def whole(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, whose brokers all run again after the test."""
    yield cluster
    stopped = [broker["id"] for broker in cluster.record["brokers"] if broker["pid"] is None]
    if stopped:
        cluster.run("start", *stopped)


def test_leaders_are_spread_evenly_over_the_brokers(cluster: Cluster) -> None:
    """M15: partitions are spread over brokers, leaders even within one."""
    cluster.create_topic("spread", partitions=10, replication_factor=1)
    leaders = [p.leader for tp, p in cluster.view().partitions.items() if tp.topic == "spread"]
    counts = [leaders.count(broker) for broker in (101, 102, 103)]
    assert sum(counts) == 10
    assert max(counts) - min(counts) <= 1


def test_layout_of_the_notes_is_as_written(cluster: Cluster) -> None:
    """M16: topic A with 3 partitions on 101, 103, 102; topic B with 2 on 102, 101, none on 103."""
    cluster.create_topic("A", assignment=[[101], [103], [102]])
    cluster.create_topic("B", assignment=[[102], [101]])
    found = {str(tp): p.replicas for tp, p in cluster.view().partitions.items()}
    placed = {name: found[name] for name in ("A-0", "A-1", "A-2", "B-0", "B-1")}
    assert placed == {"A-0": (101,), "A-1": (103,), "A-2": (102,), "B-0": (102,), "B-1": (101,)}
    assert not [name for name in found if name.startswith("B-") and 103 in found[name]]


def test_every_broker_knows_all_brokers_and_topics(cluster: Cluster) -> None:
    """M23: every broker is a bootstrap server."""
    cluster.create_topic("known", partitions=3, replication_factor=3)
    wait_until(lambda: len({_known(cluster, broker) for broker in (101, 102, 103)}) == 1, 10)
    brokers, partitions = _known(cluster, 101)
    assert brokers == (101, 102, 103)
    assert TopicPartition("known", 2) in partitions


def test_rf_2_example_of_the_notes_survives_the_loss_of_102(whole: Cluster) -> None:
    """M37: A0 on 101+102, A1 on 102+103, 102 stopped: 101 and 103 serve all data."""
    whole.create_topic("pair", assignment=[[101, 102], [102, 103]])
    assert [whole.partition("pair", p).leader for p in (0, 1)] == [101, 102]
    for partition in (0, 1):
        write_numbers(whole.bootstrap_servers, "pair", 500, partition)
    whole.run("kill", 102, "--signal", "TERM")
    wait_until(lambda: whole.partition("pair", 1).leader == 103, 10)
    assert whole.partition("pair", 0).leader == 101
    numbers = read_numbers(whole.bootstrap_servers, "pair", 2)
    assert sorted(numbers) == sorted(list(range(500)) * 2)


def test_rf_3_survives_the_loss_of_two_brokers(whole: Cluster) -> None:
    """M38: RF 3 survives the loss of two brokers, one after the other, each by kill -9."""
    whole.create_topic("three", partitions=3, replication_factor=3)
    write_numbers(whole.bootstrap_servers, "three", 1000)
    for lost in (101, 102):
        whole.run("kill", lost)
        wait_until(lambda lost=lost: lost not in whole.view().brokers, 10)  # type: ignore[misc]
    wait_until(lambda: {whole.partition("three", p).leader for p in range(3)} == {103}, 10)
    numbers = read_numbers(whole.bootstrap_servers, "three", 3)
    assert set(numbers) == set(range(1000))
    # min.insync.replicas is 1, Kafka's default: the last one still takes writes.
    write_numbers(whole.bootstrap_servers, "three", 10)


def test_killed_leader_is_replaced_at_once(whole: Cluster) -> None:
    """M39: kill -9 of a leader: acks=all works again long before the session would time out."""
    whole.create_topic("crash", replication_factor=3)
    write_numbers(whole.bootstrap_servers, "crash", 100)
    seconds = []
    for _ in range(3):
        leader = whole.partition("crash").leader
        pid = whole.broker(leader)["pid"]
        started = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        _produce_until_acknowledged(whole, "crash", leader)
        seconds.append(round(time.perf_counter() - started, 3))
        assert "left its ZooKeeper session: session 0x" in wait_until(
            lambda leader=leader: _said_by_supervisor(whole, leader)  # type: ignore[misc]
        )
        whole.run("start", leader)
        whole.wait_until_in_sync("crash")
    print(f"acks=all after kill -9 of the leader: {seconds} s")
    assert max(seconds) < SESSION_TIMEOUT_S / 2
    assert len(read_numbers(whole.bootstrap_servers, "crash", 1)) >= 103


def test_stopped_leader_hands_over_before_it_goes(whole: Cluster) -> None:
    whole.create_topic("clean", replication_factor=3)
    leader = whole.partition("clean").leader
    started = time.perf_counter()
    os.kill(whole.broker(leader)["pid"], signal.SIGTERM)
    _produce_until_acknowledged(whole, "clean", leader)
    seconds = time.perf_counter() - started
    print(f"acks=all after SIGTERM of the leader: {seconds:.3f} s")
    assert seconds < SESSION_TIMEOUT_S / 2
    wait_until(lambda: not Path(f"/proc/{whole.broker(leader)['pid']}/cmdline").exists())
    whole.try_to("status")  # notes that it is gone


def test_with_the_supervisor_killed_too_it_takes_the_session_timeout(
    ensemble: Ensemble, tmp_path: Path
) -> None:
    """M65: then the node vanishes after the session time-out, and not later."""
    zookeeper = f"{ensemble.connect_string}/cluster-unsupervised"
    with Cluster(tmp_path / "cluster", zookeeper) as cluster:
        cluster.up(brokers=2, settings={"zookeeper.session.timeout.ms": "2000"})
        cluster.create_topic("t", replication_factor=2)
        leader = cluster.partition("t").leader
        pid = cluster.broker(leader)["pid"]
        supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(supervisor, signal.SIGKILL)
        assert _known(cluster, leader)[0] == (0, 1), "the broker goes on without its supervisor"
        os.kill(pid, signal.SIGKILL)
        started = time.perf_counter()
        _produce_until_acknowledged(cluster, "t", leader)
        assert 0.5 < time.perf_counter() - started < SESSION_TIMEOUT_S


def test_restarted_broker_does_not_wait_for_its_own_stale_node(
    ensemble: Ensemble, tmp_path: Path
) -> None:
    zookeeper = f"{ensemble.connect_string}/cluster-restart"
    with Cluster(tmp_path / "cluster", zookeeper) as cluster:
        cluster.up(brokers=1, settings={"zookeeper.session.timeout.ms": "30000"})
        pid = cluster.broker(0)["pid"]
        supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(supervisor, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        started = time.perf_counter()
        wait_until(lambda: cluster.try_to("status").returncode == 1)
        cluster.run("start", 0)
        assert time.perf_counter() - started < 20
        assert "is still registered" not in cluster.log(0)


def _known(cluster: Cluster, broker_id: int) -> tuple[tuple[int, ...], frozenset[TopicPartition]]:
    view = view_from("127.0.0.1", cluster.broker(broker_id)["port"])
    return tuple(sorted(view.brokers)), frozenset(view.partitions)


def _said_by_supervisor(cluster: Cluster, broker_id: int) -> str:
    lines = [line for line in cluster.log(broker_id).splitlines() if "cli.supervisor" in line]
    return lines[-1] if lines else ""


def _produce_until_acknowledged(cluster: Cluster, topic: str, lost: int) -> None:
    """Write one record with acks=all to whoever leads the topic now, asking the survivors."""
    survivors = [broker["id"] for broker in cluster.record["brokers"] if broker["id"] != lost]

    def is_acknowledged() -> bool:
        leader = _leader_known_to(cluster, survivors[0], topic)
        if leader in (-1, lost):
            return False
        with cluster.connect(leader) as client:
            answer = client.send(_produce_request(topic))
        return bool(answer.responses[0].partition_responses[0].error_code == 0)

    wait_until(is_acknowledged, SESSION_TIMEOUT_S * 2, "acks=all works again")


def _leader_known_to(cluster: Cluster, broker_id: int, topic: str) -> int:
    view = view_from("127.0.0.1", cluster.broker(broker_id)["port"])
    # A topic that has just been created may be known to its leader only.
    found = view.partitions.get(TopicPartition(topic, 0))
    return -1 if found is None else found.leader


def _produce_request(topic: str) -> ProduceRequest:
    builder = BatchBuilder()
    builder.append(time.time_ns() // 1_000_000, None, b"0")
    data = PartitionProduceData(index=0, records=builder.build())
    return ProduceRequest(
        acks=-1, timeout_ms=3000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
