import json
from pathlib import Path

import pytest

from kafkalike.launcher.cluster_file import ClusterRecord, Member, read_record, write_record
from kafkalike.launcher.errors import ClusterError

RECORD = ClusterRecord(
    bootstrap_servers="127.0.0.1:9092",
    zookeeper_connect="127.0.0.1:2181",
    brokers=(Member(id=0, port=9092, pid=17, log_dirs=("/d/a", "/d/b")),),
    zookeepers=(Member(id=1, port=2181, pid=None, log_dirs=("/z",)),),
)


def test_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_record(tmp_path, RECORD)
    assert read_record(tmp_path) == RECORD


def test_file_has_what_programs_look_for(tmp_path: Path) -> None:
    write_record(tmp_path, RECORD)
    assert json.loads((tmp_path / "cluster.json").read_text()) == {
        "bootstrap_servers": "127.0.0.1:9092",
        "zookeeper_connect": "127.0.0.1:2181",
        "brokers": [{"id": 0, "port": 9092, "pid": 17, "log_dirs": ["/d/a", "/d/b"]}],
        "zookeepers": [{"id": 1, "port": 2181, "pid": None, "log_dirs": ["/z"]}],
    }


def test_no_file_is_no_cluster(tmp_path: Path) -> None:
    assert read_record(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", '{"bootstrap_servers": 1, "brokers": [{}]}'])
def test_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.json").write_text(text)
    with pytest.raises(ClusterError, match=r"cluster\.json is damaged"):
        read_record(tmp_path)
