"""`scripts/quickstart`: the first of the two commands that the README promises."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.zk.embedded.ensemble import Ensemble
from tests.support.ensemble import free_base_port
from tests.support.ports import free_ports_in_a_row
from tests.support.process import Process
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.ensemble

# Not through scripts/quickstart, which may want to install something first.
QUICKSTART = [sys.executable, "-m", "scripts.first_steps"]


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*QUICKSTART, "--no-spark", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)


def test_once_moves_all_messages_and_leaves_nothing_running(tmp_path: Path) -> None:
    """M54, M21: messages come out of three brokers in the order in which they went in."""
    home, port = tmp_path / "home", free_ports_in_a_row(3)
    options = ["--port", port, "--zk-port", free_base_port(3), "--dir", home, "--messages", 2500]
    for _ in range(2):  # The second run finds the topic and the messages of the first.
        done = _run("--once", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2500 of them, each as it was sent and in order" in done.stdout
        assert not any(server.is_running for server in Ensemble.open(home / "zookeeper").servers)
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_it_stays_up_until_interrupted_and_tells_what_to_try(tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_ports_in_a_row(3)
    options = ["--port", port, "--zk-port", free_base_port(1), "--zookeepers", 1, "--dir", home]
    command = [*QUICKSTART, "--no-spark", *map(str, options)]
    with Process("quickstart", command, tmp_path / "screen.log", cwd=ROOT) as quickstart:
        quickstart.wait_for_log("Ctrl-C stops everything", timeout_s=60)
        screen = quickstart.log_text()
        assert f"bootstrap.servers=127.0.0.1:{port},127.0.0.1:{port + 1}" in screen
        assert re.search(r"kafkalike cluster status --dir \S+", screen)
        with SimpleClient("127.0.0.1", port) as client:
            (topic,) = client.send(MetadataRequest(topics=None)).topics
        assert topic.name == "quickstart"
        assert all(len(partition.replica_nodes) == 3 for partition in topic.partitions)
        quickstart.send_signal(signal.SIGINT)
        assert quickstart.wait(60) == 0
    assert not any(server.is_running for server in Ensemble.open(home / "zookeeper").servers)


def test_port_in_use_is_named_and_nothing_is_left_running(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        home = tmp_path / "home"
        options = ["--zookeepers", 1, "--zk-port", free_base_port(1), "--dir", home]
        done = _run("--once", "--port", port, *options)
    assert done.returncode == 1
    assert f"port {port} is in use by another program" in done.stderr
    assert not (home / "zookeeper").exists()


def test_taken_zookeeper_port_is_named(tmp_path: Path, ensemble: Ensemble) -> None:
    port = ensemble.servers[0].port
    done = _run("--once", "--zookeepers", 1, "--zk-port", port, "--dir", tmp_path / "home")
    assert done.returncode == 1
    assert f"port {port} is in use by another program" in done.stderr
    assert "--zk-port" in done.stderr


def test_nothing_is_left_running_when_the_screen_goes_away(tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_ports_in_a_row(3)
    options = ["--port", port, "--zk-port", free_base_port(1), "--zookeepers", 1, "--dir", home]
    command = [*QUICKSTART, "--no-spark", "--once", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as quickstart:
        assert quickstart.stdout is not None
        assert b"ZooKeeper" in quickstart.stdout.readline()
        quickstart.stdout.close()
        quickstart.wait(60)
    assert not any(server.is_running for server in Ensemble.open(home / "zookeeper").servers)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.long
def test_it_ends_with_a_spark_job_and_its_results(tmp_path: Path) -> None:
    """M82: speed and distance of ten trucks, out of a stream."""
    options = ["--port", free_ports_in_a_row(3), "--zk-port", free_base_port(1), "--zookeepers", 1]
    command = [*QUICKSTART, "--once", *map(str, [*options, "--dir", tmp_path / "home"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "7. speed and distance of each truck and minute, exactly once ... 10 trucks" in done.stdout
    )
    assert len(re.findall(r"^  truck-\d ", done.stdout, re.MULTILINE)) == 10
