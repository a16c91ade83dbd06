"""Requests about partitions of several leaders: forwarded, done here, and answered as one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkalike.cluster.partition import PartitionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.server.api.context import CloseConnection
from kafkalike.server.forwarding.mark import mark
from tests.support.forwarding_world import TOPIC, World
from tests.support.plain_requests import a_batch
from tests.support.run import result_of

HERE, THERE, FAR = 0, 1, 2
"""Partitions led by brokers 1 (this one), 2 and 3."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    for partition, leader in ((HERE, 1), (THERE, 2), (FAR, 3)):
        made.partition(partition, leader)
    return made


def a_produce(*partitions: int, acks: int = 1, timeout_ms: int = 1000) -> ProduceRequest:
    data = [PartitionProduceData(index=p, records=a_batch(b"v%d" % p)) for p in partitions]
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=data)],
    )


def produced(offsets: Mapping[int, int], code: int = 0, throttle_ms: int = 0) -> ProduceResponse:
    answers = [
        PartitionProduceResponse(index=p, base_offset=offset, error_code=code)
        for p, offset in offsets.items()
    ]
    topics = [TopicProduceResponse(name=TOPIC, partition_responses=answers)]
    return ProduceResponse(responses=topics, throttle_time_ms=throttle_ms)


def outcome(answer: Any) -> dict[int, tuple[ErrorCode, int]]:
    """Return error code and offset by partition."""
    ((topic),) = answer.responses
    assert topic.name == TOPIC
    return {
        one.index: (ErrorCode(one.error_code), one.base_offset) for one in topic.partition_responses
    }


# --- produce


def test_produce_for_what_is_led_here_is_not_forwarded(world: World) -> None:
    answer = result_of(world.ask(a_produce(HERE)))
    assert outcome(answer) == {HERE: (ErrorCode.NONE, 0)}
    assert not world.opened


def test_produce_is_forwarded_and_the_leaders_offset_relayed(world: World) -> None:
    """M30, rule 1: the leader's acknowledgement is the client's."""
    answer = world.ask(a_produce(THERE, acks=-1))
    (sent,) = world.channels[2].sent
    assert sent == a_produce(THERE, acks=-1), "records and sequences pass untouched"
    assert not answer.called, "no acknowledgement before the leader's"
    world.channels[2].answer(produced({THERE: 41}))
    assert outcome(result_of(answer)) == {THERE: (ErrorCode.NONE, 41)}
    assert world.end_offset(THERE) == 0, "nothing was written here"


def test_produce_goes_in_the_clients_version(world: World) -> None:
    world.ask(a_produce(THERE), version=3)
    assert world.channels[2].versions == [3]


def test_produce_is_split_by_leader_and_merged(world: World) -> None:
    """Rule 1: all parts are under way at the same time."""
    answer = world.ask(a_produce(FAR, HERE, THERE))
    assert world.end_offset(HERE) == 1
    assert world.channels[2].sent == [a_produce(THERE)]
    assert world.channels[3].sent == [a_produce(FAR)]
    world.channels[2].answer(produced({THERE: 7}, throttle_ms=20))
    assert not answer.called
    world.channels[3].answer(produced({FAR: 9}, throttle_ms=50))
    merged = result_of(answer)
    assert list(outcome(merged).items()) == [
        (FAR, (ErrorCode.NONE, 9)),
        (HERE, (ErrorCode.NONE, 0)),
        (THERE, (ErrorCode.NONE, 7)),
    ]
    assert merged.throttle_time_ms == 50


def test_error_of_one_leader_is_the_error_of_its_partitions(world: World) -> None:
    answer = world.ask(a_produce(HERE, THERE))
    world.channels[2].answer(produced({THERE: -1}, code=ErrorCode.NOT_ENOUGH_REPLICAS))
    assert outcome(result_of(answer)) == {
        HERE: (ErrorCode.NONE, 0),
        THERE: (ErrorCode.NOT_ENOUGH_REPLICAS, -1),
    }


def test_leader_lost_in_flight_is_a_retriable_error(world: World) -> None:
    """Rule 5: nobody knows whether the records were written; that is never success."""
    answer = world.ask(a_produce(HERE, THERE, acks=-1))
    world.channels[2].close()
    assert outcome(result_of(answer)) == {
        HERE: (ErrorCode.NONE, 0),
        THERE: (ErrorCode.REQUEST_TIMED_OUT, -1),
    }


def test_leader_that_becomes_this_broker_in_flight_writes_nothing_twice(world: World) -> None:
    """Rule 5: this broker does not try again by itself; the records may be here already."""
    answer = world.ask(a_produce(THERE))
    world.partition(THERE, leader=1, epoch=1)
    world.channels[2].close()
    assert outcome(result_of(answer)) == {THERE: (ErrorCode.REQUEST_TIMED_OUT, -1)}
    assert world.end_offset(THERE) == 0


def test_leader_that_cannot_be_reached_has_got_nothing(world: World) -> None:
    world.unreachable.add(2)
    answer = result_of(world.ask(a_produce(THERE)))
    assert outcome(answer) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}


def test_request_that_was_forwarded_is_refused_where_it_is_wrong_again(world: World) -> None:
    """Rule 4: never twice."""
    answer = result_of(world.ask(a_produce(THERE), client_id=mark("app", 3)))
    assert outcome(answer) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}
    assert not world.opened


def test_forwarded_request_is_served_where_it_is_right(world: World) -> None:
    answer = result_of(world.ask(a_produce(HERE), client_id=mark("app", 3)))
    assert outcome(answer) == {HERE: (ErrorCode.NONE, 0)}


def test_stale_client_is_told_to_look_again(world: World) -> None:
    """Rule 7: and what it could not know better is forwarded in the same request."""
    connection = world.connect()
    world.partition(HERE, leader=2, epoch=1)
    answer = world.ask(a_produce(HERE, FAR), connection)
    world.channels[3].answer(produced({FAR: 5}))
    assert outcome(result_of(answer)) == {
        HERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        FAR: (ErrorCode.NONE, 5),
    }


def test_without_forwarding_a_wrong_broker_says_so(world: World) -> None:
    """M35, rule 8: 2.8's error."""
    answer = result_of(world.ask(a_produce(HERE, THERE), world.connect("REFUSING")))
    assert outcome(answer) == {
        HERE: (ErrorCode.NONE, 0),
        THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
    }
    assert not world.opened


def test_unknown_partition_is_unknown_here(world: World) -> None:
    answer = world.ask(a_produce(77, THERE))
    world.channels[2].answer(produced({THERE: 0}))
    assert outcome(result_of(answer))[77] == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_acks_0_is_forwarded_without_an_answer(world: World) -> None:
    """Rule 5."""
    answer = world.ask(a_produce(HERE, THERE, acks=0))
    assert result_of(answer) is None
    assert world.channels[2].sent == [a_produce(THERE, acks=0)]
    assert not world.channels[2].waiting
    assert world.end_offset(HERE) == 1


def test_acks_0_that_cannot_be_forwarded_closes_the_connection(world: World) -> None:
    """As Kafka does where such a produce fails: it is all that the client can notice."""
    world.unreachable.add(2)
    with pytest.raises(CloseConnection):
        result_of(world.ask(a_produce(THERE, acks=0)))


def test_client_learns_that_its_acks_0_went_nowhere(world: World) -> None:
    connection = world.connect()
    world.ask(a_produce(THERE, acks=0), connection)
    world.channels[2].close()
    assert not connection.is_open


def test_requests_of_a_connection_reach_a_leader_in_their_order(world: World) -> None:
    """Rule 2, also with acks=0 and while the way is not there yet."""
    connection = world.connect()
    for timeout_ms, acks in ((1, 0), (2, 0), (3, 1)):
        world.ask(a_produce(THERE, acks=acks, timeout_ms=timeout_ms), connection)
    assert [request.timeout_ms for request in world.channels[2].sent] == [1, 2, 3]


def idempotent(partition: int, sequence: int) -> ProduceRequest:
    builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=sequence)
    builder.append(1, None, b"v")
    data = [PartitionProduceData(index=partition, records=builder.build())]
    topics = [TopicProduceData(name=TOPIC, partition_data=data)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics)


@pytest.mark.parametrize("listener_name", ["PLAINTEXT", "GATEWAY"])
def test_what_stands_behind_a_batch_that_failed_is_not_sent_on(
    world: World, listener_name: str
) -> None:
    """Rule 2: a new leader, which does not know the producer, would take any sequence first."""
    connection = world.connect(listener_name)
    first = world.ask(idempotent(THERE, 0), connection)
    refused = produced({THERE: -1}, code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    world.channels[2].answer(refused)
    assert outcome(result_of(first)) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}
    world.partition(THERE, leader=1, epoch=1)
    second = result_of(world.ask(idempotent(THERE, 1), connection))
    assert outcome(second) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}
    assert world.end_offset(THERE) == 0
    for sequence in (0, 1):
        again = result_of(world.ask(idempotent(THERE, sequence), connection))
        assert outcome(again) == {THERE: (ErrorCode.NONE, sequence)}


def test_gateways_client_keeps_its_order_when_this_broker_loses_its_office(world: World) -> None:
    """Rules 2 and 9: the batch was refused here, the ones behind it are not sent elsewhere."""
    connection = world.connect("GATEWAY")
    tp = TopicPartition(TOPIC, HERE)
    world.replicas.partitions[tp].make_leader(
        PartitionState(1, 1, (1, 2), 0, (1, 2)), world.time.now_ms()
    )
    first = world.ask(idempotent(HERE, 0), connection)
    assert not first.called, "it waits for the follower"
    world.partition(HERE, leader=2, epoch=2)
    world.replicas.complete_delayed(tp)
    assert outcome(result_of(first)) == {HERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}
    second = result_of(world.ask(idempotent(HERE, 1), connection))
    assert outcome(second) == {HERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}
    assert not world.opened
    world.ask(idempotent(HERE, 0), connection)
    assert world.channels[2].sent == [idempotent(HERE, 0)]


def test_leader_leaves_the_order_to_the_entry_broker(world: World) -> None:
    """Rule 4: a forwarded batch is judged by itself: the one before it may have gone elsewhere."""
    connection, forwarded = world.connect(), mark("app", 3)
    first = result_of(world.ask(idempotent(THERE, 0), connection, client_id=forwarded))
    assert outcome(first) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}
    world.partition(THERE, leader=1, epoch=1)
    second = result_of(world.ask(idempotent(THERE, 1), connection, client_id=forwarded))
    assert outcome(second) == {THERE: (ErrorCode.NONE, 0)}


@pytest.mark.parametrize("listener_name", ["PLAINTEXT", "REFUSING"])
def test_client_that_was_refused_here_may_come_back(world: World, listener_name: str) -> None:
    """Rules 7 and 8: as in Kafka, where the client has sent the batch to the leader itself."""
    connection = world.connect(listener_name)
    world.partition(HERE, leader=2, epoch=1)
    first = result_of(world.ask(idempotent(HERE, 0), connection))
    assert outcome(first) == {HERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)}
    world.partition(HERE, leader=1, epoch=2)
    second = result_of(world.ask(idempotent(HERE, 1), connection))
    assert outcome(second) == {HERE: (ErrorCode.NONE, 0)}


def test_one_gap_holds_up_its_partition_alone(world: World) -> None:
    connection = world.connect()
    world.ask(idempotent(THERE, 0), connection)
    world.channels[2].close()
    request = idempotent(THERE, 1)
    request.topic_data[0].partition_data += a_produce(FAR).topic_data[0].partition_data
    answer = world.ask(request, connection)
    assert world.channels[3].sent == [a_produce(FAR, acks=-1)]
    world.channels[3].answer(produced({FAR: 8}))
    assert outcome(result_of(answer)) == {
        THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        FAR: (ErrorCode.NONE, 8),
    }


# --- the other APIs


def list_offsets(*partitions: int, replica_id: int = -1) -> ListOffsetsRequest:
    wanted = [ListOffsetsPartition(partition_index=p, timestamp=-1) for p in partitions]
    return ListOffsetsRequest(
        replica_id=replica_id, topics=[ListOffsetsTopic(name=TOPIC, partitions=wanted)]
    )


def listed(partition: int, offset: int) -> ListOffsetsResponse:
    one = ListOffsetsPartitionResponse(partition_index=partition, offset=offset)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[one])])


def offsets(answer: Any) -> list[tuple[int, ErrorCode, int]]:
    ((topic),) = answer.topics
    return [
        (one.partition_index, ErrorCode(one.error_code), one.offset) for one in topic.partitions
    ]


def test_offsets_are_listed_by_their_leaders(world: World) -> None:
    """M31, rule 1."""
    answer = world.ask(list_offsets(THERE, HERE))
    world.channels[2].answer(listed(THERE, 12))
    assert offsets(result_of(answer)) == [(THERE, ErrorCode.NONE, 12), (HERE, ErrorCode.NONE, 0)]


@pytest.mark.parametrize("is_reached", [True, False])
def test_reading_from_a_lost_leader_can_be_tried_again(world: World, is_reached: bool) -> None:
    """Rule 5."""
    if not is_reached:
        world.unreachable.add(2)
    answer = world.ask(list_offsets(THERE))
    if is_reached:
        world.channels[2].close()
    assert offsets(result_of(answer)) == [(THERE, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


@pytest.mark.parametrize("replica_id", [2, -2])
def test_followers_and_debuggers_mean_this_broker(world: World, replica_id: int) -> None:
    """Rule 6: what a follower asks is never forwarded."""
    result_of(world.ask(list_offsets(THERE, replica_id=replica_id)))
    result_of(world.ask(epochs(THERE, replica_id=2)))
    assert not world.opened


def epochs(*partitions: int, replica_id: int = -1) -> OffsetForLeaderEpochRequest:
    wanted = [OffsetForLeaderPartition(partition=p, leader_epoch=0) for p in partitions]
    return OffsetForLeaderEpochRequest(
        replica_id=replica_id, topics=[OffsetForLeaderTopic(topic=TOPIC, partitions=wanted)]
    )


@pytest.mark.parametrize("version", range(5))
def test_ends_of_epochs_are_asked_of_their_leaders(world: World, version: int) -> None:
    """Rule 1, in all versions: only newer ones say that a consumer asks."""
    answer = world.ask(epochs(THERE), version=version)
    one = EpochEndOffset(partition=THERE, leader_epoch=0, end_offset=33)
    topics = [OffsetForLeaderTopicResult(topic=TOPIC, partitions=[one])]
    world.channels[2].answer(OffsetForLeaderEpochResponse(topics=topics))
    ((topic,),) = (result_of(answer).topics,)
    assert [found.end_offset for found in topic.partitions] == [33]


def test_records_are_deleted_by_their_leaders(world: World) -> None:
    """Rule 1; rule 5: the outcome of a lost one is not known."""
    wanted = [DeleteRecordsPartition(partition_index=p, offset=0) for p in (HERE, THERE)]
    topics = [DeleteRecordsTopic(name=TOPIC, partitions=wanted)]
    answer = world.ask(DeleteRecordsRequest(timeout_ms=500, topics=topics))
    (sent,) = world.channels[2].sent
    assert [p.partition_index for p in sent.topics[0].partitions] == [THERE]
    world.channels[2].close()
    (topic,) = result_of(answer).topics
    assert [(p.partition_index, p.error_code, p.low_watermark) for p in topic.partitions] == [
        (HERE, ErrorCode.NONE, 0),
        (THERE, ErrorCode.REQUEST_TIMED_OUT, -1),
    ]
