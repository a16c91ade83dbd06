"""`kafkalike cluster`: up, status, kill, start, down, as a user runs them."""

import itertools
import json
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from tests.support.cluster import KAFKALIKE, Cluster
from tests.support.ensemble import Ensemble, free_base_port
from tests.support.ports import free_ports_in_a_row, is_free
from tests.support.process import Process
from tests.support.traffic import read_numbers, write_numbers
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

_chroots = itertools.count(1)

NewCluster = Callable[[], Cluster]


@pytest.fixture
def new_cluster(ensemble: Ensemble, tmp_path: Path) -> Iterator[NewCluster]:
    """Make a cluster whose znodes nobody else sees; it ends with the test."""
    made: list[Cluster] = []

    def make() -> Cluster:
        chroot = f"/cluster-commands-{next(_chroots)}"
        made.append(Cluster(tmp_path / f"c{len(made)}", ensemble.connect_string + chroot))
        return made[-1]

    yield make
    for cluster in made:
        cluster.__exit__(None, None, None)


@pytest.fixture(scope="module")
def shared(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two that several tests share."""
    directory = tmp_path_factory.mktemp("commands") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/cluster-commands") as cluster:
        cluster.up(brokers=2, settings={"broker.rack": "rack-{id}"})
        cluster.create_topic("t", partitions=2, replication_factor=2)
        yield cluster


@pytest.fixture
def pair(shared: Cluster) -> Iterator[Cluster]:
    """Two brokers with a topic, both running before and after the test."""
    yield shared
    if None in [broker["pid"] for broker in shared.record["brokers"]]:
        shared.run("up", "--detach")


def _is_alive(pid: int) -> bool:
    try:
        # Of a process that nobody has reaped yet no command is left.
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def test_cluster_with_its_own_ensemble_comes_up_and_goes_without_a_trace(tmp_path: Path) -> None:
    """M21: three brokers, three ZooKeeper servers, one command."""
    with Cluster(tmp_path / "cluster") as cluster:
        screen = cluster.up("--zk-port", free_base_port(3), "--zookeepers", 3)
        record = cluster.record
        assert f"bootstrap.servers={record['bootstrap_servers']}" in screen
        assert [broker["id"] for broker in record["brokers"]] == [0, 1, 2]
        first = record["brokers"][0]["port"]
        assert [broker["port"] for broker in record["brokers"]] == [first, first + 1, first + 2]
        assert record["bootstrap_servers"] == ",".join(
            f"127.0.0.1:{broker['port']}" for broker in record["brokers"]
        )
        assert record["zookeeper_connect"] == ",".join(
            f"127.0.0.1:{server['port']}" for server in record["zookeepers"]
        )
        for member in record["brokers"] + record["zookeepers"]:
            assert set(member) == {"id", "port", "pid", "log_dirs"}
            assert _is_alive(member["pid"])
            assert all(Path(path).is_dir() for path in member["log_dirs"])
        found = json.loads(cluster.run("status", "--json"))
        assert sorted(server["mode"] for server in found["zookeepers"]) == [
            *["follower", "follower", "leader"]
        ]
        assert found["is_healthy"]
        cluster.run("down", "--wipe")
        assert not cluster.directory.exists()
        for member in record["brokers"] + record["zookeepers"]:
            assert not _is_alive(member["pid"])


@pytest.mark.parametrize("brokers", [1, 3, 5])
def test_cluster_has_as_many_brokers_as_asked_for(new_cluster: NewCluster, brokers: int) -> None:
    """M21: one, three or five brokers, with a replica of a topic on each."""
    cluster = new_cluster()
    cluster.up(brokers=brokers)
    assert set(cluster.view().brokers) == set(range(brokers))
    cluster.create_topic("everywhere", partitions=brokers, replication_factor=brokers)
    write_numbers(cluster.bootstrap_servers, "everywhere", 100)
    assert sorted(read_numbers(cluster.bootstrap_servers, "everywhere", brokers)) == list(
        range(100)
    )


def test_pid_is_that_of_the_broker_and_not_of_its_supervisor(pair: Cluster) -> None:
    for broker in pair.record["brokers"]:
        session = json.loads((Path(broker["log_dirs"][0]) / "zookeeper-session").read_text())
        assert session["pid"] == broker["pid"]
        parent = Path(f"/proc/{broker['pid']}/stat").read_text().rpartition(")")[2].split()[1]
        assert b"supervisor.py" in Path(f"/proc/{parent}/cmdline").read_bytes()


def test_settings_are_for_all_brokers_with_their_own_numbers(pair: Cluster) -> None:
    assert {broker.id: broker.rack for broker in pair.view().brokers.values()} == {
        0: "rack-0",
        1: "rack-1",
    }


def test_internal_topics_have_no_more_replicas_than_there_are_brokers(pair: Cluster) -> None:
    properties = (pair.directory / "broker-0" / "server.properties").read_text()
    assert "offsets.topic.replication.factor=2\n" in properties
    assert "transaction.state.log.replication.factor=2\n" in properties


def test_killed_broker_is_shown_and_comes_back(pair: Cluster) -> None:
    before = pair.broker(1)["pid"]
    pair.run("kill", 1)
    assert pair.broker(1)["pid"] is None
    assert not _is_alive(before)
    wait_until(lambda: set(pair.view().brokers) == {0}, 10, "the crash is noticed")
    status = pair.try_to("status")
    assert status.returncode == 1
    assert re.search(r"broker +1 +127.0.0.1:\d+ +stopped", status.stdout)
    again = pair.try_to("kill", 1)
    assert again.returncode == 1
    assert "does not run: start it with cluster start 1" in again.stderr
    pair.run("start", 1)
    assert pair.broker(1)["pid"] not in (None, before)
    pair.wait_until_in_sync("t")
    assert pair.run("status")


def test_paused_broker_goes_on(pair: Cluster) -> None:
    pair.run("kill", 0, "--signal", "STOP")
    with pytest.raises(TimeoutError):
        pair.connect(0, timeout_s=0.5).send(ApiVersionsRequest(), 0)
    pair.run("kill", 0, "--signal", "CONT")
    assert pair.connect(0).send(ApiVersionsRequest(), 0).error_code == 0


def test_stopped_cluster_comes_back_with_its_topics_even_if_a_broker_was_paused(
    pair: Cluster,
) -> None:
    pair.run("kill", 0, "--signal", "STOP")
    pair.run("down", timeout_s=60)
    assert [broker["pid"] for broker in pair.record["brokers"]] == [None, None]
    pair.run("up", "--detach")
    pair.wait_until_in_sync("t")
    assert len(pair.view().partitions) == 2


def test_other_numbers_for_a_cluster_that_exists_are_refused(pair: Cluster) -> None:
    done = pair.try_to("up", "--detach", "--brokers", 5)
    assert done.returncode == 1
    assert "holds a cluster with --brokers 2, not 5" in done.stderr


def test_broker_that_cannot_start_is_named_with_the_end_of_its_log(pair: Cluster) -> None:
    pair.run("kill", 0, "--signal", "TERM")
    meta = Path(pair.broker(0)["log_dirs"][0]) / "meta.properties"
    good = meta.read_text()
    meta.write_text(good.replace("broker.id=0", "broker.id=7"))
    done = pair.try_to("start", 0)
    meta.write_text(good)
    assert done.returncode == 1
    assert "broker 0 (port" in done.stderr
    assert "Configured broker.id 0 doesn't match stored broker.id 7" in done.stderr
    assert pair.broker(1)["pid"] is not None, "the other one goes on"


def test_wrong_setting_is_refused_before_anything_is_started(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    done = cluster.try_to("up", "--detach", "--set", "log.segment.bytes=few", "--zookeepers", 1)
    assert done.returncode == 1
    assert "Invalid value few for configuration log.segment.bytes" in done.stderr
    assert not (cluster.directory / "cluster.json").exists()


def test_port_in_use_is_named(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cluster.try_to(
            *["up", "--detach", "--brokers", 1, "--port", port],
            *["--zookeeper", "127.0.0.1:1"],
        )
    assert done.returncode == 1
    assert f"port {port} is in use by another program, but broker 0 needs it" in done.stderr
    assert not (cluster.directory / "cluster.json").exists(), "another try with --port is free"


def test_foreground_cluster_tells_what_happens_and_ends_with_ctrl_c(
    ensemble: Ensemble, tmp_path: Path
) -> None:
    home, port = tmp_path / "c", free_ports_in_a_row(2)
    zookeeper = f"{ensemble.connect_string}/cluster-foreground"
    options = ["--brokers", 2, "--port", port, "--zookeeper", zookeeper, "--dir", home]
    command = [*KAFKALIKE, "cluster", "up", *map(str, options)]
    with Process("cluster", command, tmp_path / "screen.log") as up:
        up.wait_for_log("stop with Ctrl-C", timeout_s=60)
        cluster = Cluster(home)
        cluster.run("kill", 1)
        up.wait_for_log(f"broker 1 (port {port + 1}) ended")
        cluster.run("start", 1)
        up.wait_for_log(f"broker 1 (port {port + 1}) runs")
        up.send_signal(signal.SIGINT)
        assert up.wait(60) == 0
    assert [broker["pid"] for broker in cluster.record["brokers"]] == [None, None]
    assert is_free(port)
