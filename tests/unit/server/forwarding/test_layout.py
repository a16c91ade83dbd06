"""Requests are split by partition and answers merged again, for each API alike."""

from typing import Any

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.server.forwarding import layout
from kafkalike.server.forwarding.layout import Layout

Asked = list[tuple[str, list[int]]]
TWO_TOPICS: Asked = [("a", [0, 1, 2]), ("b", [0])]


def produce(asked: Asked) -> ProduceRequest:
    return ProduceRequest(
        acks=-1,
        timeout_ms=1234,
        transactional_id="txn",
        topic_data=[
            TopicProduceData(
                name=name,
                partition_data=[PartitionProduceData(index=p, records=b"%d" % p) for p in numbers],
            )
            for name, numbers in asked
        ],
    )


def list_offsets(asked: Asked) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[ListOffsetsPartition(partition_index=p, timestamp=p) for p in numbers],
            )
            for name, numbers in asked
        ],
    )


def offset_for_leader_epoch(asked: Asked) -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            OffsetForLeaderTopic(
                topic=name,
                partitions=[OffsetForLeaderPartition(partition=p, leader_epoch=p) for p in numbers],
            )
            for name, numbers in asked
        ],
    )


def delete_records(asked: Asked) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        timeout_ms=1234,
        topics=[
            DeleteRecordsTopic(
                name=name,
                partitions=[DeleteRecordsPartition(partition_index=p, offset=p) for p in numbers],
            )
            for name, numbers in asked
        ],
    )


CASES = [
    pytest.param(layout.PRODUCE, produce, id="Produce"),
    pytest.param(layout.LIST_OFFSETS, list_offsets, id="ListOffsets"),
    pytest.param(layout.OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch, id="epochs"),
    pytest.param(layout.DELETE_RECORDS, delete_records, id="DeleteRecords"),
]


def owner(tp: TopicPartition) -> int | None:
    """Partition 0 is here, 1 at broker 1, 2 at broker 2."""
    return tp.partition or None


@pytest.mark.parametrize(("shape", "make"), CASES)
def test_each_owner_gets_its_partitions_in_a_whole_request(shape: Layout, make: Any) -> None:
    """Rule 1: split by leader; all else in the request goes with every part."""
    request = make(TWO_TOPICS)
    assert shape.split(request, owner) == {
        None: make([("a", [0]), ("b", [0])]),
        1: make([("a", [1])]),
        2: make([("a", [2])]),
    }
    assert request == make(TWO_TOPICS), "the request itself stays as it was"


@pytest.mark.parametrize(("shape", "make"), CASES)
def test_parts_are_merged_in_the_order_of_the_request(shape: Layout, make: Any) -> None:
    """Rule 1: merged again."""
    codes = {None: ErrorCode.NONE, 1: ErrorCode.NOT_ENOUGH_REPLICAS, 2: ErrorCode.INVALID_REQUEST}
    parts = shape.split(make(TWO_TOPICS), owner)
    answers = [shape.refuse(part, codes[at]) for at, part in reversed(parts.items())]
    merged: Any = shape.merge(make(TWO_TOPICS), answers)
    assert [(tp, one.error_code) for tp, one in shape._answered(merged)] == [
        (("a", 0), ErrorCode.NONE),
        (("a", 1), ErrorCode.NOT_ENOUGH_REPLICAS),
        (("a", 2), ErrorCode.INVALID_REQUEST),
        (("b", 0), ErrorCode.NONE),
    ]


@pytest.mark.parametrize(("shape", "make"), CASES)
def test_throttle_time_is_the_largest_of_the_parts(shape: Layout, make: Any) -> None:
    """Rule 5: the throttle time is the largest of the parts."""
    parts = shape.split(make(TWO_TOPICS), owner)
    answers: list[Any] = [shape.refuse(part, ErrorCode.NONE) for part in parts.values()]
    for answer, throttle_time_ms in zip(answers, (7, 30, 0), strict=True):
        answer.throttle_time_ms = throttle_time_ms
    merged: Any = shape.merge(make(TWO_TOPICS), answers)
    assert merged.throttle_time_ms == 30


@pytest.mark.parametrize(("shape", "make"), CASES)
def test_partition_without_an_answer_has_an_error(shape: Layout, make: Any) -> None:
    answered = shape.refuse(make([("a", [0])]), ErrorCode.NONE)
    merged = shape.merge(make([("a", [0, 1])]), [answered])
    codes = [one.error_code for _, one in shape._answered(merged)]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR]


@pytest.mark.parametrize(("shape", "make"), CASES)
def test_partition_that_is_named_twice_is_answered_twice(shape: Layout, make: Any) -> None:
    request = make([("a", [1, 1])])
    parts = shape.split(request, owner)
    answers = [shape.refuse(part, ErrorCode.INVALID_REQUEST) for part in parts.values()]
    merged = shape.merge(request, answers)
    assert [tp for tp, _ in shape._answered(merged)] == [("a", 1), ("a", 1)]


@pytest.mark.parametrize(("shape", "make"), CASES)
def test_refusals_can_be_sent_in_every_version(shape: Layout, make: Any) -> None:
    refused = shape.refuse(make(TWO_TOPICS), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    for version in range(refused.min_version, refused.max_version + 1):
        decoded = type(refused).decode(refused.encode(version), version)
        codes = {one.error_code for _, one in shape._answered(decoded)}
        assert codes == {ErrorCode.NOT_LEADER_OR_FOLLOWER}


class Here:
    def __init__(self, leader: int) -> None:
        self.leader = leader


@pytest.mark.parametrize(("shape", "make"), CASES)
def test_only_a_request_for_what_is_led_here_stays_whole(shape: Layout, make: Any) -> None:
    led = {TopicPartition("a", 0): Here(1), TopicPartition("b", 0): Here(1)}
    assert shape.is_only(make([("a", [0]), ("b", [0])]), led, 1)
    assert not shape.is_only(make([("a", [0, 1])]), led, 1), "a-1 is not here"
    assert not shape.is_only(make([("a", [0])]), led, 2), "it is led by broker 1"
    assert shape.is_only(make([]), {}, 1)
