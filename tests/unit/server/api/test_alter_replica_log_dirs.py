"""AlterReplicaLogDirs, at every version."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tests.support.admin_broker import AdminBroker

T0 = TopicPartition("t", 0)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[AdminBroker]:
    started = AdminBroker(brokers=2)
    started.create_topic("t", {0: (1,), 1: (2,)})
    started.start_logs(tmp_path / "a", tmp_path / "b")
    started.lead("t", 0, tmp_path / "a")
    yield started
    started.stop()


def _move(
    broker: AdminBroker,
    *wishes: tuple[Path | str, str, int],
    version: int = 2,
) -> dict[TopicPartition, int]:
    dirs = [
        AlterReplicaLogDir(
            path=str(path), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[partition])]
        )
        for path, topic, partition in wishes
    ]
    answer = broker.ask(AlterReplicaLogDirsRequest(dirs=dirs), version)
    return {
        TopicPartition(topic.topic_name, partition.partition_index): partition.error_code
        for topic in answer.results
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", range(3))
def test_replica_moves_at_every_version(broker: AdminBroker, tmp_path: Path, version: int) -> None:
    assert _move(broker, (tmp_path / "b", "t", 0), version=version) == {T0: ErrorCode.NONE}
    log = broker.replica_manager.get_log(T0)
    assert log is not None
    assert log.parent_dir == tmp_path / "b"


def test_of_two_directories_the_last_counts(broker: AdminBroker, tmp_path: Path) -> None:
    _move(broker, (tmp_path / "b", "t", 0), (tmp_path / "a", "t", 0))
    log = broker.replica_manager.get_log(T0)
    assert log is not None
    assert log.parent_dir == tmp_path / "a"


def test_errors_are_those_of_kafka(broker: AdminBroker, tmp_path: Path) -> None:
    long_name = "n" * 245
    b = tmp_path / "b"
    assert _move(broker, ("/no/such/dir", "t", 0)) == {T0: ErrorCode.LOG_DIR_NOT_FOUND}
    assert _move(broker, (f"{b}/", "t", 0)) == {T0: ErrorCode.LOG_DIR_NOT_FOUND}
    assert list(_move(broker, (b, long_name, 0)).values()) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert list(_move(broker, (b, "t", 1)).values()) == [ErrorCode.REPLICA_NOT_AVAILABLE]
    assert list(_move(broker, (b, "t", 9)).values()) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_failed_directory_takes_nothing(broker: AdminBroker, tmp_path: Path) -> None:
    assert broker.log_manager is not None
    broker.log_manager.handle_log_dir_failure(tmp_path / "b")
    assert _move(broker, (tmp_path / "b", "t", 0)) == {T0: ErrorCode.KAFKA_STORAGE_ERROR}


def test_offline_replica_does_not_move(broker: AdminBroker, tmp_path: Path) -> None:
    broker.replica_manager.mark_offline(T0)
    assert _move(broker, (tmp_path / "b", "t", 0)) == {T0: ErrorCode.KAFKA_STORAGE_ERROR}


def test_wish_for_a_replica_that_is_not_here_yet_is_remembered(
    broker: AdminBroker, tmp_path: Path
) -> None:
    for path in (tmp_path / "b", tmp_path / "a"):
        assert list(_move(broker, (path, "new", 0)).values()) == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]
    assert broker.lead("new").parent_dir == tmp_path / "a"
