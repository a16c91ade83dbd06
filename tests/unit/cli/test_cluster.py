import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafkalike.cli.cluster.group import cluster
from kafkalike.launcher.local_cluster import LocalCluster


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cluster, [str(argument) for argument in arguments])


def _laid_out(directory: Path) -> LocalCluster:
    made = LocalCluster.create(directory, zookeeper="127.0.0.1:1", settings={})
    for number in range(2):
        made.add_broker(number, 9092 + number, broker_count=2)
    made.save()
    return made


@pytest.mark.parametrize(
    "command",
    [["status"], ["kill", "0"], ["start", "0"], ["add"], ["decommission", "0"], ["rebalance"]],
)
def test_folder_without_cluster_is_told(tmp_path: Path, command: list[str]) -> None:
    result = _run(*command, "--dir", tmp_path)
    assert result.exit_code == 1
    assert f"Error: there is no cluster in {tmp_path}: make one with" in result.output


def test_every_command_has_help() -> None:
    for name in cluster.list_commands(None):  # type: ignore[arg-type]  # it needs no context
        result = _run(name, "--help")
        assert result.exit_code == 0, result.output


def test_even_number_of_zookeepers_is_refused(tmp_path: Path) -> None:
    """M73: ZooKeeper runs as an odd number of servers."""
    result = _run("up", "--zookeepers", "4", "--dir", tmp_path / "c")
    assert result.exit_code == 1
    assert "4 ZooKeeper servers tolerate no more failures than 3" in result.output


def test_ports_beyond_the_last_are_refused(tmp_path: Path) -> None:
    result = _run("up", "--brokers", "100", "--port", "65500", "--dir", tmp_path / "c")
    assert result.exit_code == 1
    assert "port 65599 of the last broker is out of range" in result.output


def test_setting_without_equals_is_refused(tmp_path: Path) -> None:
    result = _run("up", "--set", "log.segment.bytes", "--dir", tmp_path / "c")
    assert result.exit_code == 1
    assert "expected key=value" in result.output


def test_status_of_a_stopped_cluster_fails_and_shows_it(tmp_path: Path) -> None:
    _laid_out(tmp_path)
    result = _run("status", "--dir", tmp_path)
    assert result.exit_code == 1
    assert "broker    1    127.0.0.1:9093   stopped\n" in result.output
    assert "no broker answers" in result.output


def test_status_as_json_has_everything(tmp_path: Path) -> None:
    _laid_out(tmp_path)
    found = json.loads(_run("status", "--json", "--dir", tmp_path).stdout)
    assert found["brokers"][0] == {
        "id": 0,
        "port": 9092,
        "pid": None,
        "log_dirs": [f"{tmp_path}/broker-0/data"],
        "is_registered": False,
        "leaders": None,
        "replicas": None,
    }
    assert found["is_healthy"] is False


def test_down_of_a_stopped_cluster_is_no_error(tmp_path: Path) -> None:
    _laid_out(tmp_path)
    result = _run("down", "--dir", tmp_path)
    assert (result.exit_code, result.output) == (0, "nothing was running\n")


def test_wipe_removes_the_folder(tmp_path: Path) -> None:
    _laid_out(tmp_path / "c")
    result = _run("down", "--wipe", "--dir", tmp_path / "c")
    assert result.exit_code == 0
    assert "what the cluster wrote to ZooKeeper at 127.0.0.1:1 is still there" in result.output
    assert not (tmp_path / "c").exists()
