import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafkalike.cli.zookeeper import zookeeper
from kafkalike.zk.embedded.ensemble import Ensemble
from kafkalike.zk.embedded.server_config import EnsembleConfig


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(zookeeper, arguments)


@pytest.mark.parametrize("servers", ["2", "4"])
def test_even_number_of_servers_is_refused_with_the_reason(tmp_path: Path, servers: str) -> None:
    """M73: ZooKeeper runs as an odd number of servers."""
    result = _run("up", "--servers", servers, "--dir", str(tmp_path / "zk"))
    assert result.exit_code == 1
    assert f"Error: {servers} ZooKeeper servers tolerate no more failures than" in result.output
    assert not (tmp_path / "zk").exists()


@pytest.mark.parametrize("command", ["down", "status"])
def test_folder_without_ensemble_is_told(tmp_path: Path, command: str) -> None:
    result = _run(command, "--dir", str(tmp_path))
    assert result.exit_code == 1
    assert f"Error: there is no ensemble in {tmp_path}" in result.output


def test_status_of_a_stopped_ensemble_fails_and_shows_it(tmp_path: Path) -> None:
    Ensemble.create(tmp_path, EnsembleConfig.at(2181, 3))
    result = _run("status", "--dir", str(tmp_path))
    assert result.exit_code == 1
    assert "  server 3  127.0.0.1:2183  stopped\n" in result.output
    assert "no majority of the servers serves clients" in result.output


def test_status_as_json_has_everything(tmp_path: Path) -> None:
    Ensemble.create(tmp_path, EnsembleConfig.at(2181, 1))
    result = _run("status", "--json", "--dir", str(tmp_path))
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "directory": str(tmp_path),
        "connect": "127.0.0.1:2181",
        "is_serving": False,
        "servers": [{"id": 1, "port": 2181, "pid": None, "mode": None}],
    }


def test_down_of_a_stopped_ensemble_is_no_error(tmp_path: Path) -> None:
    Ensemble.create(tmp_path, EnsembleConfig.at(2181, 3))
    result = _run("down", "--dir", str(tmp_path))
    assert (result.exit_code, result.output) == (0, "no server was running\n")
