from pathlib import Path

import pytest

from kafkalike.config.sources import read_properties
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.local_cluster import LocalCluster
from kafkalike.zk.embedded.server_config import EnsembleConfig


def _cluster(directory: Path, **settings: str) -> LocalCluster:
    cluster = LocalCluster.create(
        directory,
        zookeeper="zoo:2181/c",
        settings={key.replace("_", "."): value for key, value in settings.items()},
    )
    for number in range(2):
        cluster.add_broker(number, 9092 + number, broker_count=2)
    cluster.save()
    return cluster


def test_opened_cluster_is_the_one_that_was_laid_out(tmp_path: Path) -> None:
    made = _cluster(tmp_path, log_retention_hours="1")
    opened = LocalCluster.open(tmp_path)
    assert opened.bootstrap_servers == made.bootstrap_servers == "127.0.0.1:9092,127.0.0.1:9093"
    assert opened.zookeeper_connect == "zoo:2181/c"
    assert opened.settings == {"log.retention.hours": "1"}
    assert [broker.log_dirs for broker in opened.brokers.values()] == [
        (f"{tmp_path}/broker-0/data",),
        (f"{tmp_path}/broker-1/data",),
    ]
    assert not opened.is_running


def test_settings_reach_the_properties_of_every_broker_also_later_ones(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    cluster.change_settings({"broker.rack": "r{id}"})
    cluster.save()
    opened = LocalCluster.open(tmp_path)
    opened.add_broker(2, 9094, broker_count=3)
    racks = [
        read_properties(tmp_path / f"broker-{number}/server.properties")["broker.rack"]
        for number in range(3)
    ]
    assert racks == ["r0", "r1", "r2"]


def test_wrong_setting_is_refused_with_the_broker(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="broker 0: Invalid value x for configuration"):
        _cluster(tmp_path, log_segment_bytes="x")


def test_unknown_broker_is_told_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="there is no broker 7 here, only 0, 1"):
        _cluster(tmp_path).broker(7)


def test_folder_without_cluster_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"there is no cluster in .*: make one with"):
        LocalCluster.open(tmp_path)


def test_embedded_ensemble_is_found_again(tmp_path: Path) -> None:
    made = LocalCluster.create(tmp_path, zookeeper=EnsembleConfig.at(2181, 3), settings={})
    made.save()
    opened = LocalCluster.open(tmp_path)
    assert opened.zookeeper_connect == "127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183"
    assert len(opened.servers) == 3


def test_wipe_leaves_what_is_not_the_clusters(tmp_path: Path) -> None:
    own = tmp_path / "notes.txt"
    own.write_text("mine")
    cluster = _cluster(tmp_path, log_dirs=f"{tmp_path}/mine-{{id}}")
    (tmp_path / "mine-0").mkdir()
    (tmp_path / "mine-0" / "meta.properties").touch()
    (tmp_path / "mine-1").mkdir()  # no log directory of a broker (yet)
    cluster.wipe()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine-1", "notes.txt"]


def test_stranger_with_the_pid_of_a_broker_is_not_taken_for_it(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    (tmp_path / "broker-0" / "broker.pid").write_text("1\n")
    assert cluster.broker(0).pid is None
