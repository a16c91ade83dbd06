"""DeleteRecords, at every version."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.support.admin_broker import AdminBroker
from tests.support.log_builder import a_batch, append


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[AdminBroker]:
    started = AdminBroker(brokers=2)
    started.create_topic("t", {0: (1,), 1: (2,)})
    started.start_logs(tmp_path / "a")
    log = started.lead("t")
    append(log, a_batch([b"a", b"b", b"c"]))
    yield started
    started.stop()


def _delete(
    broker: AdminBroker, *offsets: tuple[str, int, int], version: int = 2
) -> list[tuple[str, int, int, int]]:
    topics = [
        DeleteRecordsTopic(
            name=name, partitions=[DeleteRecordsPartition(partition_index=partition, offset=offset)]
        )
        for name, partition, offset in offsets
    ]
    answer: Any = broker.ask(DeleteRecordsRequest(topics=topics, timeout_ms=1000), version)
    return [
        (topic.name, partition.partition_index, partition.low_watermark, partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", range(3))
def test_records_are_deleted_at_every_version(broker: AdminBroker, version: int) -> None:
    assert _delete(broker, ("t", 0, 2), version=version) == [("t", 0, 2, ErrorCode.NONE)]
    log = broker.replica_manager.get_log(TopicPartition("t", 0))
    assert log is not None
    assert log.log_start_offset == 2


def test_minus_one_means_the_high_watermark(broker: AdminBroker) -> None:
    assert _delete(broker, ("t", 0, -1)) == [("t", 0, 3, ErrorCode.NONE)]


def test_each_partition_has_its_own_error(broker: AdminBroker) -> None:
    assert _delete(broker, ("t", 0, 9), ("t", 1, 0), ("t", 7, 0), ("nope", 0, 0)) == [
        ("t", 0, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("t", 1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("t", 7, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nope", 0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_nothing_asked_for_is_nothing_answered(broker: AdminBroker) -> None:
    assert _delete(broker) == []
