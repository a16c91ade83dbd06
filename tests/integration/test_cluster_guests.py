"""Guest brokers come, take load over, and go again, all while records flow."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.traffic import Traffic, read_numbers
from tests.support.waiting import wait_until
from tests.support.znode_client import znode_client

pytestmark = pytest.mark.ensemble

TOPIC, PARTITIONS = "trucks", 6


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers, which stay, and a topic with three replicas."""
    directory = tmp_path_factory.mktemp("guests") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/cluster-guests") as cluster:
        cluster.up()
        configs = {"min.insync.replicas": "2"}
        cluster.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=3, configs=configs)
        yield cluster


def _replicas(cluster: Cluster) -> list[tuple[int, ...]]:
    return [p.replicas for tp, p in sorted(cluster.view().partitions.items()) if tp.topic == TOPIC]


def test_guests_join_take_load_and_leave_while_records_flow(cluster: Cluster) -> None:
    """M26, M27: brokers 3 and 4 join a running cluster and leave it; no record, no error."""
    before = [cluster.broker(number)["pid"] for number in (0, 1, 2)]
    with Traffic(cluster.bootstrap_servers, TOPIC) as traffic:
        cluster.run("add", 2)
        assert set(cluster.view().brokers) == {0, 1, 2, 3, 4}
        cluster.run("rebalance")
        traffic.wait_for(200)
        leads = [cluster.view().led_by(number) for number in range(5)]
        assert max(leads) - min(leads) <= 1, "five brokers share what three did"
        guests = [cluster.broker(3), cluster.broker(4)]
        for guest in guests:
            assert cluster.view().replicas_on(guest["id"]) >= 3
            assert cluster.view().led_by(guest["id"]) >= 1
            assert list(Path(guest["log_dirs"][0]).glob(f"{TOPIC}-*/*.log"))
        screen = cluster.run("decommission", 3, 4)
        assert "gone: 3, 4" in screen
        traffic.wait_for(200)
    assert set(cluster.view().brokers) == {0, 1, 2}
    assert all(sorted(replicas) == [0, 1, 2] for replicas in _replicas(cluster))
    assert [cluster.broker(number)["pid"] for number in (0, 1, 2)] == before, "nobody was restarted"
    assert not [path for guest in guests for path in guest["log_dirs"] if Path(path).exists()]
    read = read_numbers(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    assert traffic.acknowledged - set(read) == set(), "acknowledged and lost"
    leaders = [cluster.view().led_by(number) for number in (0, 1, 2)]
    assert max(leaders) - min(leaders) <= 1


def test_departure_that_leaves_too_few_brokers_is_refused_with_the_reason(
    cluster: Cluster,
) -> None:
    """M27: a drain never goes below the replication factor of a topic."""
    before = _replicas(cluster)
    done = cluster.try_to("decommission", 2)
    assert done.returncode == 1
    assert "broker 2 cannot leave: 2 would stay, but these topics have a larger" in done.stderr
    assert f"{TOPIC} (3). Add brokers first, or lower the replication factor" in done.stderr
    assert _replicas(cluster) == before
    assert cluster.broker(2)["pid"] is not None


def test_broker_that_is_gone_is_replaced_and_forgotten(cluster: Cluster) -> None:
    """A killed broker is decommissioned: its replicas are made anew elsewhere."""
    cluster.run("add")
    cluster.run("kill", 1)
    wait_until(lambda: 1 not in cluster.view().brokers, 10)
    cluster.run("decommission", 1)
    cluster.wait_until_in_sync(TOPIC)
    assert all(sorted(replicas) == [0, 2, 3] for replicas in _replicas(cluster))
    assert [broker["id"] for broker in cluster.record["brokers"]] == [0, 2, 3]


def test_departure_can_be_throttled_and_shows_its_progress(
    ensemble: Ensemble, tmp_path: Path
) -> None:
    """M27: moves may take as long as the operator likes; other replication is not held up."""
    size, rate = 8_000_000, 500_000
    zookeeper = f"{ensemble.connect_string}/cluster-slow-guests"
    with Cluster(tmp_path / "cluster", zookeeper) as cluster:
        cluster.up(brokers=3)
        cluster.create_topic("load", assignment=[[2, 0]])
        _write_bytes(cluster, "load", size)
        started = time.perf_counter()
        screen = cluster.run("decommission", 2, "--throttle", rate)
        # A quota looks at ten seconds: what these allow passes at once (KIP-73), the rest does not.
        assert time.perf_counter() - started > (size / rate - 10) / 2
        assert "moving 1 partition: 1 done" in screen
        assert "gone: 2" in screen
        assert sorted(cluster.partition("load").replicas) == [0, 1]
    with znode_client(zookeeper) as znodes:
        for path in ("/config/topics/load", "/config/brokers/0", "/config/brokers/1"):
            left = (znodes.data(path) or b"").decode()
            assert "throttled" not in left, f"{path} still has {left}"


def _write_bytes(cluster: Cluster, topic: str, size: int) -> None:
    value = bytes(10_000)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for _ in range(size // len(value)):
        producer.produce(topic, value)
    assert not producer.flush(30)
