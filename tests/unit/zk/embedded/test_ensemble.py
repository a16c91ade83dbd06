import os
import socket
import sys
from pathlib import Path

import pytest

from kafkalike.zk.embedded.ensemble import Ensemble
from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError
from kafkalike.zk.embedded.server_config import EnsembleConfig, ServerPorts
from tests.support.ensemble import ensemble_config
from tests.support.waiting import wait_until

LIVES_ON = "time.sleep(60)"


def _java_that(tmp_path: Path, does: str) -> Path:
    """A program in java's place: what the ensemble does with processes needs no ZooKeeper."""
    java = tmp_path / "java"
    java.write_text(f"#!{sys.executable} -IS\nimport sys, time\n{does}\n")
    java.chmod(0o755)
    return java


def test_files_of_an_ensemble_are_written_and_found_again(tmp_path: Path) -> None:
    config = ensemble_config(3)
    ensemble = Ensemble.create(tmp_path / "zk", config)
    assert (tmp_path / "zk/server-3/data/myid").read_text() == "3\n"
    found = Ensemble.open(tmp_path / "zk")
    assert found.config == config
    assert found.connect_string == ensemble.connect_string
    assert found.leader is None
    assert not found.is_serving


def test_folder_without_an_ensemble_is_told_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedZooKeeperError, match="zookeeper up --dir"):
        Ensemble.open(tmp_path)


def test_other_number_of_servers_than_the_folder_has_is_refused(tmp_path: Path) -> None:
    Ensemble.create(tmp_path, EnsembleConfig.at(2181, 3))
    with pytest.raises(EmbeddedZooKeeperError, match=r"3 servers, not 5: .*--servers 3"):
        Ensemble.create(tmp_path, EnsembleConfig.at(2181, 5))


def test_stopped_ensemble_may_move_to_other_ports(tmp_path: Path) -> None:
    Ensemble.create(tmp_path, EnsembleConfig.at(2181, 3))
    Ensemble.create(tmp_path, EnsembleConfig.at(4181, 3))
    assert Ensemble.open(tmp_path).servers[0].port == 4181


def test_running_ensemble_keeps_its_ports(tmp_path: Path) -> None:
    java = _java_that(tmp_path, LIVES_ON)
    ensemble = Ensemble.create(tmp_path / "zk", ensemble_config(1), java=java)
    (server,) = ensemble.servers
    server.start()
    try:
        wait_until(lambda: Ensemble.open(tmp_path / "zk").servers[0].is_running)
        with pytest.raises(EmbeddedZooKeeperError, match=r"runs already, at 127\.0\.0\.1:"):
            Ensemble.create(tmp_path / "zk", ensemble_config(1))
    finally:
        server.kill()


def test_port_in_use_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = EnsembleConfig(ports=(ServerPorts(client=port),))
        ensemble = Ensemble.create(tmp_path, config)
        with pytest.raises(EmbeddedZooKeeperError, match=f"port {port} is in use"):
            ensemble.start()
    assert not ensemble.servers[0].is_running


def test_server_that_ends_at_once_is_told_with_its_log(tmp_path: Path) -> None:
    java = _java_that(tmp_path, "print('out of luck', flush=True); sys.exit(3)")
    ensemble = Ensemble.create(tmp_path / "zk", ensemble_config(3), java=java)
    with pytest.raises(EmbeddedZooKeeperError, match=r"(?s)exit code 3; .*out of luck"):
        ensemble.start()


def test_failed_start_leaves_no_server_behind(tmp_path: Path) -> None:
    # The second server dies, the others would live for a minute.
    does = f"sys.exit(1) if 'server-2' in sys.argv[-1] else {LIVES_ON}"
    java = _java_that(tmp_path, does)
    ensemble = Ensemble.create(tmp_path / "zk", ensemble_config(3), java=java)
    with pytest.raises(EmbeddedZooKeeperError, match="server 2"):
        ensemble.start()
    assert not any(server.is_running for server in ensemble.servers)


def test_server_that_never_serves_is_told_after_the_deadline(tmp_path: Path) -> None:
    java = _java_that(tmp_path, LIVES_ON)
    ensemble = Ensemble.create(tmp_path / "zk", ensemble_config(1), java=java)
    with pytest.raises(EmbeddedZooKeeperError, match="serves no clients in time"):
        ensemble.start(timeout_s=0.1)
    assert not ensemble.servers[0].is_running


def test_server_is_found_by_another_process_by_its_pid_file(tmp_path: Path) -> None:
    java = _java_that(tmp_path, LIVES_ON)
    (server,) = Ensemble.create(tmp_path / "zk", ensemble_config(1), java=java).servers
    server.start()
    try:
        (seen_by_other,) = Ensemble.open(tmp_path / "zk").servers
        wait_until(lambda: seen_by_other.pid == server.pid is not None)
    finally:
        server.stop()
    assert not server.is_running
    assert seen_by_other.pid is None


def test_pid_that_went_to_a_stranger_is_left_alone(tmp_path: Path) -> None:
    (server,) = Ensemble.create(tmp_path, ensemble_config(1)).servers
    (server.home / "zookeeper.pid").write_text(f"{os.getpid()}\n")
    assert server.pid is None
    server.stop()  # This process would not survive it.
    assert not (server.home / "zookeeper.pid").exists()


@pytest.mark.parametrize("content", ["", "garbage\n", "-1\n", "99999999\n"])
def test_broken_pid_file_means_not_running(tmp_path: Path, content: str) -> None:
    (server,) = Ensemble.create(tmp_path, ensemble_config(1)).servers
    (server.home / "zookeeper.pid").write_text(content)
    assert not server.is_running
