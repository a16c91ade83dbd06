"""A fetch from several leaders, on a clock: who has records first ends the wait for all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.fetch import (
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkalike.server.forwarding.fetch import GRACE_MS
from kafkalike.server.forwarding.mark import mark
from tests.support.forwarding_world import TOPIC, FakeConnection, World
from tests.support.plain_requests import a_batch
from tests.support.run import result_of, run

HERE, THERE, FAR = 0, 1, 2
"""Partitions led by brokers 1 (this one), 2 and 3."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    for partition, leader in ((HERE, 1), (THERE, 2), (FAR, 3)):
        made.partition(partition, leader)
    return made


def a_fetch(
    offsets: Mapping[int, int],
    *,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    **fields: Any,
) -> FetchRequest:
    partitions = [
        FetchPartition(
            partition=p, fetch_offset=offset, current_leader_epoch=0, partition_max_bytes=1 << 20
        )
        for p, offset in offsets.items()
    ]
    settings: dict[str, Any] = {"replica_id": -1, "session_epoch": -1, **fields}
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=TOPIC, partitions=partitions)],
        **settings,
    )


def fetched(
    records: Mapping[int, bytes], high_watermark: int = 10, throttle_ms: int = 0, code: int = 0
) -> FetchResponse:
    answers = [
        FetchablePartitionResponse(
            partition=p,
            error_code=code,
            high_watermark=-1 if code else high_watermark,
            last_stable_offset=-1 if code else high_watermark,
            log_start_offset=0,
            record_set=data,
        )
        for p, data in records.items()
    ]
    topics = [FetchableTopicResponse(topic=TOPIC, partition_responses=answers)]
    return FetchResponse(responses=topics, throttle_time_ms=throttle_ms)


def found(answer: "Deferred[Any]") -> dict[int, bytes]:
    """Return the records of all partitions that the answer has, none of them with an error."""
    return {p: data for p, (code, data) in outcome(answer).items() if not code}


def outcome(answer: "Deferred[Any]") -> dict[int, tuple[ErrorCode, bytes]]:
    response = result_of(answer)
    assert not response.error_code
    return {
        one.partition: (ErrorCode(one.error_code), bytes(_read(one.record_set)))
        for topic in response.responses
        for one in topic.partition_responses
    }


def _read(records: Any) -> bytes:
    return bytes(records.read()) if hasattr(records, "read") else bytes(records or b"")


def append(world: World) -> None:
    """Append to the partition that is led here."""
    entries = [(TopicPartition(TOPIC, HERE), memoryview(a_batch(b"v")))]
    run(world.replicas.append_records(entries, 1, 0))


def knows(world: World, *partitions: int) -> FakeConnection:
    """Open a connection that has heard where these partitions end."""
    connection = world.connect()
    answer = world.ask(a_fetch(dict.fromkeys(partitions, 10), max_wait_ms=0), connection)
    for partition, broker_id in ((THERE, 2), (FAR, 3)):
        if partition in partitions:
            world.channels[broker_id].answer(fetched({partition: b""}))
    assert answer.called
    for channel in world.channels.values():
        channel.sent.clear()
    return connection


def test_fetch_of_what_is_led_here_is_not_forwarded(world: World) -> None:
    append(world)
    assert list(found(world.ask(a_fetch({HERE: 0})))) == [HERE]
    assert not world.opened


def test_records_come_from_their_leader(world: World) -> None:
    """M31, rule 1."""
    answer = world.ask(a_fetch({THERE: 3}))
    (sent,) = world.channels[2].sent
    (topic,) = sent.topics
    assert [(p.partition, p.fetch_offset, p.current_leader_epoch) for p in topic.partitions] == [
        (THERE, 3, 0)
    ]
    assert (sent.replica_id, sent.session_id, sent.session_epoch) == (-1, 0, -1)
    world.channels[2].answer(fetched({THERE: b"records"}))
    assert found(answer) == {THERE: b"records"}


def test_fetch_is_split_by_leader_and_merged_in_its_order(world: World) -> None:
    """Rule 1; rule 5: the throttle time is the largest of the parts."""
    append(world)
    answer = world.ask(a_fetch({FAR: 0, HERE: 0, THERE: 0}))
    assert not answer.called
    world.channels[2].answer(fetched({THERE: b"there"}, throttle_ms=10))
    world.channels[3].answer(fetched({FAR: b"far"}, throttle_ms=40))
    response = result_of(answer)
    ((topic,),) = (response.responses,)
    assert [one.partition for one in topic.partition_responses] == [FAR, HERE, THERE]
    assert response.throttle_time_ms == 40


def test_first_fetch_asks_for_the_ends_without_waiting(world: World) -> None:
    """The client must hear of every partition; one that it never heard of is asked at once."""
    answer = world.ask(a_fetch({HERE: 0, THERE: 10}))
    assert world.channels[2].sent[0].max_wait_ms == 0
    world.channels[2].answer(fetched({THERE: b""}, high_watermark=10))
    assert world.channels[2].sent[1].max_wait_ms == 500, "then with the client's patience"
    append(world)
    response = result_of(answer)
    ((here, there),) = (topic.partition_responses for topic in response.responses)
    assert here.record_set
    assert (there.high_watermark, there.last_stable_offset, there.record_set) == (10, 10, b"")


def test_records_here_end_the_wait_for_others(world: World) -> None:
    connection = knows(world, HERE, THERE)
    answer = world.ask(a_fetch({HERE: 0, THERE: 10}), connection)
    assert world.channels[2].sent[0].max_wait_ms == 500
    world.clock.advance(0.1)
    append(world)
    assert not world.channels[2].waiting[0].called
    records = found(answer)
    assert records[HERE]
    assert records[THERE] == b""


def test_records_elsewhere_end_the_wait_here(world: World) -> None:
    connection = knows(world, HERE, THERE)
    answer = world.ask(a_fetch({HERE: 0, THERE: 10}), connection)
    world.channels[2].answer(fetched({THERE: b"records"}, high_watermark=11))
    assert found(answer) == {HERE: b"", THERE: b"records"}
    assert not world.replicas._fetch_purgatory, "nothing is left waiting here"


def test_what_comes_late_is_kept_for_the_next_fetch(world: World) -> None:
    connection = knows(world, THERE, FAR)
    first = world.ask(a_fetch({THERE: 10, FAR: 10}), connection)
    world.channels[2].answer(fetched({THERE: b"there"}))
    assert found(first) == {THERE: b"there", FAR: b""}
    world.channels[3].answer(fetched({FAR: b"far"}))
    second = world.ask(a_fetch({THERE: 11, FAR: 10}), connection)
    assert found(second) == {THERE: b"", FAR: b"far"}
    assert len(world.channels[3].sent) == 1


def test_fetch_in_flight_serves_the_next_fetch(world: World) -> None:
    connection = knows(world, THERE, FAR)
    world.ask(a_fetch({THERE: 10, FAR: 10}), connection)
    world.channels[2].answer(fetched({THERE: b"there"}))
    second = world.ask(a_fetch({THERE: 11, FAR: 10}), connection)
    assert not second.called
    assert len(world.channels[3].sent) == 1, "it is still in flight"
    world.channels[3].answer(fetched({FAR: b"far"}))
    assert found(second) == {THERE: b"", FAR: b"far"}


def test_answer_to_another_question_is_not_given(world: World) -> None:
    """The client has sought to another offset: records of the old one are of no use to it."""
    connection = knows(world, THERE, FAR)
    world.ask(a_fetch({THERE: 10, FAR: 10}), connection)
    world.channels[2].answer(fetched({THERE: b"there"}))
    second = world.ask(a_fetch({FAR: 4}), connection)
    assert len(world.channels[3].sent) == 1, "one fetch in flight at most"
    world.channels[3].answer(fetched({FAR: b"from 10"}))
    assert world.channels[3].sent[1].topics[0].partitions[0].fetch_offset == 4
    world.channels[3].answer(fetched({FAR: b"from 4"}))
    assert found(second) == {FAR: b"from 4"}


def test_error_is_told_once_and_asked_again(world: World) -> None:
    connection = knows(world, THERE, FAR)
    first = world.ask(a_fetch({THERE: 10, FAR: 10}), connection)
    world.channels[3].answer(fetched({FAR: b""}, code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert outcome(first)[FAR] == (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")
    world.ask(a_fetch({THERE: 10, FAR: 10}), connection)
    assert len(world.channels[3].sent) == 2


def test_fetch_without_records_is_answered_when_the_wait_is_over(world: World) -> None:
    connection = knows(world, HERE, THERE)
    answer = world.ask(a_fetch({HERE: 0, THERE: 10}), connection)
    world.clock.advance(0.5)
    assert not answer.called, "the other broker is about to answer"
    world.channels[2].answer(fetched({THERE: b""}, high_watermark=12))
    assert found(answer) == {HERE: b"", THERE: b""}


def test_silent_broker_does_not_hold_up_the_others_for_long(world: World) -> None:
    connection = knows(world, HERE, THERE)
    answer = world.ask(a_fetch({HERE: 0, THERE: 10}), connection)
    world.clock.advance(0.5)
    world.clock.advance(GRACE_MS / 1000)
    assert found(answer) == {HERE: b"", THERE: b""}


def test_broker_that_never_answered_at_all_is_an_error_of_its_partitions(world: World) -> None:
    append(world)
    answer = world.ask(a_fetch({HERE: 0, THERE: 0}))
    world.clock.advance(0.5 + GRACE_MS / 1000)
    answers = outcome(answer)
    assert answers[THERE] == (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")
    assert answers[HERE][1]


@pytest.mark.parametrize("is_reached", [True, False])
def test_leader_that_is_lost_is_a_retriable_error(world: World, is_reached: bool) -> None:
    """Rule 5."""
    if not is_reached:
        world.unreachable.add(2)
    answer = world.ask(a_fetch({THERE: 0}))
    if is_reached:
        world.channels[2].close()
    assert outcome(answer) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")}


def test_patience_shrinks_by_the_time_already_spent(world: World) -> None:
    """Rule 5."""
    connection = knows(world, THERE, FAR)
    world.ask(a_fetch({THERE: 10, FAR: 10}, max_wait_ms=300), connection)
    world.clock.advance(0.1)
    world.channels[2].answer(fetched({THERE: b""}))
    assert [sent.max_wait_ms for sent in world.channels[2].sent] == [300, 200]


def test_few_bytes_are_waited_with_for_more(world: World) -> None:
    connection = knows(world, THERE, FAR)
    request = a_fetch({THERE: 10, FAR: 10}, min_bytes=10)
    answer = world.ask(request, connection)
    assert world.channels[2].sent[0].min_bytes == 10
    world.channels[2].answer(fetched({THERE: b"four"}))
    assert not answer.called
    assert len(world.channels[2].sent) == 1, "the other one decides"
    world.channels[3].answer(fetched({FAR: b"seven.."}))
    assert found(answer) == {THERE: b"four", FAR: b"seven.."}


def test_answer_is_no_larger_than_the_client_takes(world: World) -> None:
    """What does not fit is kept, and comes with the next fetch."""
    connection = knows(world, THERE, FAR)
    request = a_fetch({THERE: 10, FAR: 10}, max_bytes=100, min_bytes=2)
    answer = world.ask(request, connection)
    assert world.channels[2].sent[0].max_bytes == 50, "each its share"
    world.channels[2].answer(fetched({THERE: b"a"}))
    world.channels[3].answer(fetched({FAR: b"one large batch" * 10}))
    assert found(answer) == {THERE: b"a", FAR: b""}
    second = world.ask(a_fetch({FAR: 10}, max_bytes=100), connection)
    assert found(second) == {FAR: b"one large batch" * 10}, "the first batch always comes"


@pytest.mark.parametrize("replica_id", [2, -2])
def test_followers_and_debuggers_fetch_is_never_forwarded(world: World, replica_id: int) -> None:
    """Rule 6: a follower's own fetch."""
    result_of(world.ask(a_fetch({THERE: 0}, replica_id=replica_id, max_wait_ms=0)))
    assert not world.opened


def test_forwarded_fetch_is_refused_where_it_is_wrong_again(world: World) -> None:
    """Rule 4."""
    answer = world.ask(a_fetch({THERE: 0}), client_id=mark("app", 3))
    assert outcome(answer) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")}


def test_without_forwarding_a_fetch_is_refused(world: World) -> None:
    """M35, rule 8."""
    answer = world.ask(a_fetch({THERE: 0}), world.connect("REFUSING"))
    assert outcome(answer) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")}


def test_stale_consumer_is_told_to_look_again(world: World) -> None:
    """Rule 7."""
    connection = world.connect()
    world.partition(HERE, leader=2, epoch=1)
    request = a_fetch({HERE: 0})
    request.topics[0].partitions[0].current_leader_epoch = -1
    assert outcome(world.ask(request, connection)) == {
        HERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")
    }
    assert not world.opened


def test_epoch_that_only_the_leader_knows_is_the_leaders_to_judge(world: World) -> None:
    """This broker, a follower, has not heard of the epoch yet; that is no error of the client."""
    request = a_fetch({THERE: 0})
    request.topics[0].partitions[0].current_leader_epoch = 8
    answer = world.ask(request)
    world.channels[2].answer(fetched({THERE: b"records"}))
    assert found(answer) == {THERE: b"records"}


def test_diverging_epoch_is_told_at_once(world: World) -> None:
    connection = knows(world, THERE, FAR)
    answer = world.ask(a_fetch({THERE: 10, FAR: 10}), connection)
    diverged = fetched({THERE: b""})
    one = diverged.responses[0].partition_responses[0]
    one.diverging_epoch = EpochEndOffset(epoch=3, end_offset=7)
    world.channels[2].answer(diverged)
    assert answer.called


def test_session_is_between_client_and_entry_broker(world: World) -> None:
    """Fetch sessions (KIP-227): only news comes back, and the leader sees plain fetches."""
    connection = world.connect()
    first = world.ask(a_fetch({HERE: 0, THERE: 10}, session_epoch=0, max_wait_ms=0), connection)
    world.channels[2].answer(fetched({THERE: b""}))
    session_id = result_of(first).session_id
    assert session_id
    nothing = FetchRequest(
        replica_id=-1, max_wait_ms=500, min_bytes=1, session_id=session_id, session_epoch=1
    )
    second = world.ask(nothing, connection)
    world.channels[2].answer(fetched({THERE: b"records"}))
    assert found(second) == {THERE: b"records"}
    assert {sent.session_epoch for sent in world.channels[2].sent} == {-1}


def test_connection_that_is_lost_ends_its_fetches(world: World) -> None:
    connection = knows(world, THERE)
    answer = world.ask(a_fetch({THERE: 10}), connection)
    connection.close()
    assert outcome(answer) == {THERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")}


@pytest.mark.parametrize("version", range(13))
def test_fetch_is_forwarded_in_the_clients_version(world: World, version: int) -> None:
    answer = world.ask(a_fetch({THERE: 0}), version=version)
    assert world.channels[2].versions == [version]
    world.channels[2].answer(fetched({THERE: b"records"}))
    assert found(answer) == {THERE: b"records"}


def test_gateways_client_is_not_sent_to_another_replica(tmp_path: Path) -> None:
    """Rule 9: one node id; the rack, by which a leader would choose, is not passed on."""
    world = World(tmp_path)
    world.partition(THERE, leader=2)
    request = a_fetch({THERE: 0}, rack_id="r1")
    world.ask(request, world.connect("GATEWAY"))
    assert world.channels[2].sent[0].rack_id == ""
    world.ask(request, world.connect())
    assert world.channels[2].sent[0].rack_id == "r1"
