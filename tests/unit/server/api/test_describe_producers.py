"""DescribeProducers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from tests.support.admin_broker import AdminBroker
from tests.support.log_builder import NOW_MS, a_batch, append


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[AdminBroker]:
    started = AdminBroker(brokers=2)
    started.create_topic("t", {0: (1,), 1: (2,)})
    started.start_logs(tmp_path / "a")
    started.lead("t")
    yield started
    started.stop()


def _describe(broker: AdminBroker, topic: str, *partitions: int) -> list[Any]:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic, partition_indexes=list(partitions))]
    )
    (answer,) = broker.ask(request).topics
    assert answer.name == topic
    return list(answer.partitions)


def test_idempotent_producer_is_described(broker: AdminBroker) -> None:
    log = broker.replica_manager.get_log(TopicPartition("t", 0))
    assert log is not None
    append(log, a_batch([b"a", b"b"], producer_id=77, producer_epoch=3, base_sequence=0))
    append(log, a_batch([b"plain"]))
    (partition,) = _describe(broker, "t", 0)
    assert partition.error_code == ErrorCode.NONE
    (producer,) = partition.active_producers
    assert (producer.producer_id, producer.producer_epoch) == (77, 3)
    assert (producer.last_sequence, producer.last_timestamp) == (1, NOW_MS)
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)


def test_open_transaction_is_described(broker: AdminBroker) -> None:
    log = broker.replica_manager.get_log(TopicPartition("t", 0))
    assert log is not None
    append(log, a_batch([b"plain"]))
    append(log, a_batch([b"a"], producer_id=77, is_transactional=True))
    (partition,) = _describe(broker, "t", 0)
    assert partition.active_producers[0].current_txn_start_offset == 1


def test_each_partition_has_its_own_error(broker: AdminBroker) -> None:
    assert [p.error_code for p in _describe(broker, "t", 0, 1, 7)] == [
        ErrorCode.NONE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    (unknown,) = _describe(broker, "nope", 0)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
