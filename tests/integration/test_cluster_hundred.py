"""A hundred brokers on one machine: about 2 GB and half a minute. Run with `pytest -m slow`."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, seconds_told
from tests.support.ensemble import free_base_port
from tests.support.process import cpu_seconds, rss_bytes
from tests.support.traffic import read_numbers, write_numbers
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.ensemble, pytest.mark.slow]

BROKERS = 100
TOPIC = "hundred"
IDLE_S = 20.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A hundred brokers and three ZooKeeper servers, by one command."""
    with Cluster(tmp_path_factory.mktemp("hundred") / "cluster") as cluster:
        options = ["--zookeepers", 3, "--zk-port", free_base_port(3)]
        screen = cluster.up(*options, brokers=BROKERS, timeout_s=590)
        print(f"up after {seconds_told(screen, 'up after')} s")
        yield cluster


def _pids(cluster: Cluster) -> list[int]:
    return [broker["pid"] for broker in cluster.record["brokers"]]


def _proportional_bytes(pid: int) -> int:
    """Memory of a process, with what it shares divided among those that share it."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    (line,) = [line for line in rollup.splitlines() if line.startswith("Pss:")]
    return int(line.split()[1]) * 1024


def test_all_hundred_are_registered(cluster: Cluster) -> None:
    """M22: a cluster can have 100 brokers."""
    assert set(cluster.view().brokers) == set(range(BROKERS))
    rss = sum(map(rss_bytes, _pids(cluster)))
    own = sum(map(_proportional_bytes, _pids(cluster)))
    print(f"RSS {rss / 1e6:.0f} MB, of which {own / 1e6:.0f} MB if shared pages count once")


def test_idle_brokers_are_nearly_free(cluster: Cluster) -> None:
    before = sum(map(cpu_seconds, _pids(cluster)))
    time.sleep(IDLE_S)  # what is measured is what happens while nothing happens
    share = (sum(map(cpu_seconds, _pids(cluster))) - before) / IDLE_S / BROKERS
    print(f"an idle broker takes {share:.3%} of a processor")
    assert share < 0.01


def test_topic_with_100_partitions_and_three_replicas_is_writable(cluster: Cluster) -> None:
    """M22: topic with 100 partitions, RF 3."""
    started = time.perf_counter()
    cluster.create_topic(TOPIC, partitions=100, replication_factor=3)
    print(f"created and in sync after {time.perf_counter() - started:.1f} s")
    leaders = [p.leader for p in cluster.view().partitions.values()]
    assert sorted(leaders) == list(range(BROKERS))
    write_numbers(_some(cluster), TOPIC, 10_000)
    assert sorted(read_numbers(_some(cluster), TOPIC, 100)) == list(range(10_000))


def test_rolling_kills_lose_nothing(cluster: Cluster) -> None:
    """M22: rolling kills."""
    for lost in range(10, BROKERS, 20):
        cluster.run("kill", lost)
        wait_until(lambda lost=lost: lost not in cluster.view().brokers, 30)  # type: ignore[misc]
        cluster.run("start", lost)
        cluster.wait_until_in_sync(TOPIC, timeout_s=60)
    assert set(read_numbers(_some(cluster), TOPIC, 100)) == set(range(10_000))


def _some(cluster: Cluster) -> str:
    """A few of the brokers are enough to begin with."""
    return ",".join(cluster.bootstrap_servers.split(",")[:3])
