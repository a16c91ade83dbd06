"""DescribeLogDirs, at every version."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tests.support.admin_broker import AdminBroker
from tests.support.log_builder import a_batch, append


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[AdminBroker]:
    started = AdminBroker()
    started.create_topic("t", {0: (1,), 1: (1,)})
    started.start_logs(tmp_path / "a", tmp_path / "b")
    started.lead("t", 0, tmp_path / "a")
    started.lead("t", 1, tmp_path / "b")
    yield started
    started.stop()


def _partitions(answer: Any) -> dict[str, list[tuple[str, int]]]:
    return {
        Path(result.log_dir).name: [
            (topic.name, partition.partition_index)
            for topic in result.topics
            for partition in topic.partitions
        ]
        for result in answer.results
    }


@pytest.mark.parametrize("version", range(3))
def test_all_replicas_are_described_at_every_version(broker: AdminBroker, version: int) -> None:
    answer = broker.ask(DescribeLogDirsRequest(topics=None), version)
    assert _partitions(answer) == {"a": [("t", 0)], "b": [("t", 1)]}


def test_size_and_lag_are_told(broker: AdminBroker) -> None:
    log = broker.replica_manager.get_log(next(iter(broker.replica_manager.partitions)))
    assert log is not None
    append(log, a_batch([b"some value"]))
    (first, _) = broker.ask(DescribeLogDirsRequest(topics=None)).results
    (partition,) = first.topics[0].partitions
    assert (partition.partition_size, partition.offset_lag) == (log.size, 0)
    assert partition.partition_size > 0
    assert not partition.is_future_key


def test_only_what_is_asked_for_is_described_but_every_topic_is_named(broker: AdminBroker) -> None:
    wanted = [DescribableLogDirTopic(topic="t", partition_index=[1])]
    answer = broker.ask(DescribeLogDirsRequest(topics=wanted))
    assert _partitions(answer) == {"a": [], "b": [("t", 1)]}
    assert [topic.name for result in answer.results for topic in result.topics] == ["t", "t"]


def test_replica_that_nobody_leads_or_follows_has_no_lag(broker: AdminBroker) -> None:
    broker.replica_manager.partitions.clear()
    (first, _) = broker.ask(DescribeLogDirsRequest(topics=None)).results
    assert first.topics[0].partitions[0].offset_lag == -1


def test_failed_directory_is_an_error(broker: AdminBroker, tmp_path: Path) -> None:
    assert broker.log_manager is not None
    broker.log_manager.handle_log_dir_failure(tmp_path / "a")
    answer = broker.ask(DescribeLogDirsRequest(topics=None))
    assert {Path(r.log_dir).name: (r.error_code, len(r.topics)) for r in answer.results} == {
        "a": (ErrorCode.KAFKA_STORAGE_ERROR, 0),
        "b": (ErrorCode.NONE, 1),
    }
