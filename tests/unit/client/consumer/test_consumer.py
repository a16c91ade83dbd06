"""A whole consumer on a fake cluster and a fake clock."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.client.async_consumer import KafkaConsumer
from kafkalike.client.consumer.offset_store import CommitFailedError
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from kafkalike.client.consumer.positions import NoOffsetForPartitionError
from kafkalike.client.consumer.subscription_state import IllegalStateError
from kafkalike.client.serializers import SerializationError
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    CorruptRecordError,
    ErrorCode,
    InvalidGroupIdError,
    OffsetOutOfRangeError,
)
from kafkalike.protocol.messages.fetch import FetchRequest
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest
from kafkalike.protocol.messages.join_group import JoinGroupRequest
from kafkalike.protocol.messages.leave_group import LeaveGroupRequest
from kafkalike.protocol.messages.offset_commit import OffsetCommitRequest
from kafkalike.protocol.records.batch_builder import BatchBuilder
from tests.support.client_cluster import FakeCluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(brokers=3)
    cluster.add_topic("t", 1, 2)
    return cluster


def write(cluster: FakeCluster, tp: TopicPartition, *values: bytes, **options: Any) -> None:
    builder = BatchBuilder(base_offset=cluster.next_offsets[tp], **options)
    for value in values:
        builder.append(1000 + cluster.next_offsets[tp], None, value)
        cluster.next_offsets[tp] += 1
    cluster.logs[tp] += builder.build()


def a_consumer(cluster: FakeCluster, *topics: str, **configs: Any) -> KafkaConsumer:
    settings = {"auto_offset_reset": "earliest", "bootstrap_servers": cluster.bootstrap_servers}
    return KafkaConsumer(*topics, reactor=cluster.reactor, **(settings | configs))


def read(cluster: FakeCluster, consumer: KafkaConsumer, ms: int = 1000) -> list[Any]:
    records = cluster.run(consumer.poll(ms))
    return [record.value for found in records.values() for record in found]


def assigned(cluster: FakeCluster, *partitions: TopicPartition, **configs: Any) -> KafkaConsumer:
    consumer = a_consumer(cluster, **configs)
    consumer.assign(partitions or [T0])
    return consumer


class Listener:
    def __init__(self) -> None:
        self.told: list[tuple[str, set[TopicPartition]]] = []

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.told.append(("revoked", revoked))

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.told.append(("assigned", assigned))

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        self.told.append(("lost", lost))


def test_records_come_in_order_from_low_to_high_offset(cluster: FakeCluster) -> None:
    """M54: reads in order. M52: pull model, the consumer requests."""
    write(cluster, T0, b"a", b"b")
    write(cluster, T0, b"c")
    consumer = assigned(cluster)
    assert not cluster.sent(FetchRequest)
    assert read(cluster, consumer) == [b"a", b"b", b"c"]
    assert cluster.run(consumer.position(T0)) == 3
    assert consumer.highwater(T0) == 3


def test_poll_gives_at_most_what_was_asked_for(cluster: FakeCluster) -> None:
    write(cluster, T0, *[b"%d" % n for n in range(10)])
    consumer = assigned(cluster, max_poll_records=4)
    assert [len(read(cluster, consumer)) for _ in range(3)] == [4, 4, 2]


def test_partitions_of_several_brokers_are_read(cluster: FakeCluster) -> None:
    """M53: knows which broker to read from."""
    write(cluster, T0, b"a")
    write(cluster, T1, b"b")
    consumer = assigned(cluster, T0, T1)
    found = read(cluster, consumer) + read(cluster, consumer)
    assert sorted(found) == [b"a", b"b"]


def test_leader_that_has_moved_is_found_again(cluster: FakeCluster) -> None:
    """M53: recovers from broker failure."""
    write(cluster, T0, b"a")
    consumer = assigned(cluster)
    assert read(cluster, consumer) == [b"a"]
    cluster.stop_broker(1)
    cluster.move(T0, 3)
    write(cluster, T0, b"b")
    assert read(cluster, consumer, 5000) == [b"b"]


def test_seek_goes_anywhere(cluster: FakeCluster) -> None:
    write(cluster, T0, *[b"%d" % n for n in range(5)])
    consumer = assigned(cluster)
    read(cluster, consumer)
    consumer.seek(T0, 3)
    assert read(cluster, consumer) == [b"3", b"4"]
    consumer.seek_to_beginning()
    assert len(read(cluster, consumer)) == 5
    consumer.seek_to_end(T0)
    assert cluster.run(consumer.position(T0)) == 5


def test_what_was_fetched_before_a_seek_is_dropped(cluster: FakeCluster) -> None:
    write(cluster, T0, *[b"%d" % n for n in range(5)])
    consumer = assigned(cluster, max_poll_records=1)
    assert read(cluster, consumer) == [b"0"]
    consumer.seek(T0, 4)
    assert read(cluster, consumer) == [b"4"]


def test_offset_by_time(cluster: FakeCluster) -> None:
    write(cluster, T0, *[b"%d" % n for n in range(5)])
    consumer = assigned(cluster)
    found = cluster.run(consumer.offsets_for_times({T0: 1003}))[T0]
    assert found is not None
    assert found.offset == 3
    assert cluster.run(consumer.offsets_for_times({T0: 99_999}))[T0] is None
    assert cluster.run(consumer.end_offsets([T0, T1])) == {T0: 5, T1: 0}


def test_paused_partition_gives_nothing_until_it_is_resumed(cluster: FakeCluster) -> None:
    write(cluster, T0, b"a")
    write(cluster, T1, b"b")
    consumer = assigned(cluster, T0, T1)
    consumer.pause(T0)
    assert read(cluster, consumer) + read(cluster, consumer) == [b"b"]
    assert consumer.paused() == {T0}
    consumer.resume(T0)
    assert read(cluster, consumer) == [b"a"]


def test_offset_out_of_range_is_reset(cluster: FakeCluster) -> None:
    write(cluster, T0, b"a")
    consumer = assigned(cluster)
    consumer.seek(T0, 99)
    assert read(cluster, consumer) == [b"a"]


def test_offset_out_of_range_is_an_error_without_a_reset_policy(cluster: FakeCluster) -> None:
    consumer = assigned(cluster, auto_offset_reset="none")
    consumer.seek(T0, 99)
    with pytest.raises(OffsetOutOfRangeError, match="t-0: there is no offset 99"):
        read(cluster, consumer)


def test_no_committed_offset_is_an_error_without_a_reset_policy(cluster: FakeCluster) -> None:
    consumer = assigned(cluster, auto_offset_reset="none", group_id="g")
    with pytest.raises(NoOffsetForPartitionError, match="t-0"):
        read(cluster, consumer)


def test_broken_checksum_is_an_error_that_names_the_offset(cluster: FakeCluster) -> None:
    write(cluster, T0, b"aaa")
    cluster.logs[T0][-2] ^= 0xFF
    with pytest.raises(CorruptRecordError, match="t-0: batch at offset 0"):
        read(cluster, assigned(cluster))


def test_position_goes_behind_the_marker_that_ends_a_transaction(cluster: FakeCluster) -> None:
    """Else a loop up to the end offset never ends, and a group lags by one for ever."""
    write(cluster, T0, b"a", producer_id=1, producer_epoch=0, base_sequence=0)
    write(cluster, T0, b"marker", is_control=True, producer_id=1, producer_epoch=0)
    consumer = assigned(cluster, T0)
    assert read(cluster, consumer) == [b"a"]
    assert read(cluster, consumer) == []
    assert cluster.run(consumer.position(T0)) == 2


def test_control_records_are_never_given(cluster: FakeCluster) -> None:
    write(cluster, T0, b"a")
    write(cluster, T0, b"marker", is_control=True, producer_id=1, producer_epoch=0)
    write(cluster, T0, b"b")
    consumer = assigned(cluster)
    assert read(cluster, consumer) == [b"a", b"b"]
    assert cluster.run(consumer.position(T0)) == 3


def test_values_are_deserialised(cluster: FakeCluster) -> None:
    """M55: deserialises bytes to objects."""
    write(cluster, T0, b'{"a":1}')
    assert read(cluster, assigned(cluster, value_deserializer="json")) == [{"a": 1}]


def test_value_that_cannot_be_read_stops_there_and_is_named(cluster: FakeCluster) -> None:
    write(cluster, T0, b"1", b"{", b"3")
    consumer = assigned(cluster, value_deserializer="json")
    assert read(cluster, consumer) == [1]
    with pytest.raises(SerializationError, match="t-0 at offset 1"):
        read(cluster, consumer)
    consumer.seek(T0, 2)
    assert read(cluster, consumer) == [3]


def test_subscription_without_group_means_all_partitions(cluster: FakeCluster) -> None:
    """M53: subscribes by topic name."""
    consumer = a_consumer(cluster, "t")
    read(cluster, consumer)
    assert consumer.assignment() == {T0, T1}
    with pytest.raises(InvalidGroupIdError):
        cluster.run(consumer.commit())


def test_member_of_a_group_gets_partitions_and_tells_its_listener(cluster: FakeCluster) -> None:
    write(cluster, T0, b"a")
    listener = Listener()
    consumer = a_consumer(cluster, group_id="g")
    consumer.subscribe(["t"], listener=listener)
    assert read(cluster, consumer) == [b"a"]
    assert listener.told == [("revoked", set()), ("assigned", {T0, T1})]
    assert consumer.group_metadata().member_id == "member-1"


def test_heartbeats_go_on_between_polls(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "t", group_id="g")
    read(cluster, consumer)
    cluster.advance(9_500)
    assert len(cluster.sent(HeartbeatRequest)) == 3


def test_member_rejoins_when_the_group_rebalances(cluster: FakeCluster) -> None:
    listener = Listener()
    consumer = a_consumer(cluster, group_id="g")
    consumer.subscribe(["t"], listener=listener)
    read(cluster, consumer)
    cluster.fail_next(ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS)
    cluster.advance(3_500)
    assert [what for what, _ in listener.told] == ["revoked", "assigned"]
    read(cluster, consumer)
    assert listener.told[2:] == [("revoked", {T0, T1}), ("assigned", {T0, T1})]
    assert cluster.generation == 2


def test_member_that_was_thrown_out_has_lost_its_partitions(cluster: FakeCluster) -> None:
    listener = Listener()
    consumer = a_consumer(cluster, group_id="g")
    consumer.subscribe(["t"], listener=listener)
    read(cluster, consumer)
    cluster.fail_next(ApiKey.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
    cluster.advance(3_500)
    read(cluster, consumer)
    assert listener.told[2:] == [("lost", {T0, T1}), ("assigned", {T0, T1})]


def test_cooperative_member_keeps_its_partitions_through_a_rebalance(cluster: FakeCluster) -> None:
    listener = Listener()
    consumer = a_consumer(cluster, group_id="g", partition_assignment_strategy="cooperative-sticky")
    consumer.subscribe(["t"], listener=listener)
    read(cluster, consumer)
    cluster.fail_next(ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS)
    cluster.advance(3_500)
    read(cluster, consumer)
    assert listener.told == [("assigned", {T0, T1}), ("assigned", set())]


def test_member_that_does_not_poll_leaves_the_group(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "t", group_id="g", max_poll_interval_ms=20_000)
    read(cluster, consumer)
    cluster.advance(25_000, step_ms=100)
    assert len(cluster.sent(LeaveGroupRequest)) == 1
    joins = len(cluster.sent(JoinGroupRequest))
    read(cluster, consumer)
    assert len(cluster.sent(JoinGroupRequest)) > joins


def test_coordinator_that_has_moved_is_found_again(cluster: FakeCluster) -> None:
    """M53: kill the coordinator mid-consume."""
    consumer = a_consumer(cluster, "t", group_id="g")
    read(cluster, consumer)
    cluster.stop_broker(1)
    cluster.coordinator = 3
    cluster.move(T0, 2)
    write(cluster, T0, b"a")
    assert read(cluster, consumer, 5000) == [b"a"]
    cluster.run(consumer.commit())
    assert cluster.committed[T0] == 1


def test_group_goes_on_where_it_left_off(cluster: FakeCluster) -> None:
    """M61: a restarted or replaced consumer continues where the group left off."""
    write(cluster, T0, b"a", b"b", b"c")
    first = a_consumer(cluster, "t", group_id="g", max_poll_records=2)
    assert read(cluster, first) == [b"a", b"b"]
    cluster.run(first.close())
    second = a_consumer(cluster, "t", group_id="g")
    assert read(cluster, second) == [b"c"]


def test_offsets_are_committed_by_a_later_poll_and_not_before(cluster: FakeCluster) -> None:
    """M62: auto-commit by configuration, on poll as Java does."""
    write(cluster, T0, b"a")
    consumer = a_consumer(cluster, "t", group_id="g", auto_commit_interval_ms=1000)
    read(cluster, consumer)
    cluster.advance(5000)
    assert not cluster.sent(OffsetCommitRequest)
    read(cluster, consumer, 10)
    cluster.turn()
    assert cluster.committed[T0] == 1


def test_auto_commit_covers_records_that_were_never_processed(cluster: FakeCluster) -> None:
    """M62: the risk: committed before processed."""
    write(cluster, T0, b"a", b"b")
    consumer = a_consumer(cluster, "t", group_id="g", auto_commit_interval_ms=1000)
    records = read(cluster, consumer)
    processed: list[bytes] = []  # The program crashes here: it has processed nothing yet …
    cluster.advance(2000)
    read(cluster, consumer, 10)  # … but a poll (say, of another thread of it) has committed.
    cluster.turn()
    restarted = a_consumer(cluster, "t", group_id="g")
    assert read(cluster, restarted) == []
    assert (records, processed) == ([b"a", b"b"], [])


def test_manual_commit_says_how_far_the_loop_is(cluster: FakeCluster) -> None:
    """M63: manual commit, commitSync."""
    write(cluster, T0, b"a", b"b", b"c")
    consumer = a_consumer(cluster, "t", group_id="g", enable_auto_commit=False)

    async def process_two() -> None:
        count = 0
        async for _ in consumer:
            count += 1
            if count == 2:
                return

    cluster.run(process_two())
    cluster.run(consumer.commit())
    assert cluster.committed[T0] == 2


def test_commit_async_tells_in_a_later_poll(cluster: FakeCluster) -> None:
    """M63: manual commit, commitAsync."""
    consumer = a_consumer(cluster, "t", group_id="g", enable_auto_commit=False)
    read(cluster, consumer)
    told: list[Any] = []
    offsets = {T0: OffsetAndMetadata(7, "note")}
    consumer.commit_async(offsets, lambda *args: told.append(args))
    cluster.turn()
    assert cluster.committed[T0] == 7
    assert not told
    read(cluster, consumer, 10)
    assert told == [(offsets, None)]


def test_commit_of_a_member_that_was_thrown_out_fails(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "t", group_id="g")
    read(cluster, consumer)
    cluster.fail_next(ApiKey.OFFSET_COMMIT, ErrorCode.ILLEGAL_GENERATION)
    with pytest.raises(CommitFailedError, match="rebalanced"):
        cluster.run(consumer.commit({T0: 1}))


def test_commit_is_tried_again_while_the_coordinator_loads(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "t", group_id="g")
    read(cluster, consumer)
    cluster.fail_next(ApiKey.OFFSET_COMMIT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    cluster.run(consumer.commit({T0: 5}))
    assert cluster.committed[T0] == 5


def test_pattern_takes_in_topics_that_come_later(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, group_id="g", metadata_max_age_ms=1000)
    consumer.subscribe(pattern="t.*")
    cluster.add_topic("__consumer_offsets", 1)
    read(cluster, consumer)
    assert consumer.subscription() == {"t"}
    cluster.add_topic("ta", 1)
    read(cluster, consumer, 3000)
    assert consumer.assignment() == {T0, T1, TopicPartition("ta", 0)}


def test_leader_rejoins_when_a_topic_grows(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "t", group_id="g", metadata_max_age_ms=1000)
    read(cluster, consumer)
    cluster.add_topic("t", 1, 2, 3)
    read(cluster, consumer, 3000)
    assert len(consumer.assignment()) == 3


def test_topic_that_is_created_after_the_subscription_is_read(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "later", group_id="g", metadata_max_age_ms=1000)
    assert read(cluster, consumer) == []
    cluster.add_topic("later", 1)
    write(cluster, TopicPartition("later", 0), b"a")
    assert read(cluster, consumer, 5000) == [b"a"]


def test_subscription_can_change(cluster: FakeCluster) -> None:
    cluster.add_topic("u", 1)
    consumer = a_consumer(cluster, "t", group_id="g")
    read(cluster, consumer)
    consumer.subscribe(["u"])
    write(cluster, TopicPartition("u", 0), b"a")
    assert read(cluster, consumer) == [b"a"]
    assert consumer.assignment() == {TopicPartition("u", 0)}


def test_poll_survives_a_cluster_that_is_away(cluster: FakeCluster) -> None:
    """M53: recovers by itself."""
    for broker in (1, 2, 3):
        cluster.stop_broker(broker)
    consumer = a_consumer(cluster, group_id="g")
    consumer.subscribe(pattern="t")
    assert read(cluster, consumer, 3000) == []
    cluster.down.clear()
    write(cluster, T0, b"a")
    assert read(cluster, consumer, 10_000) == [b"a"]


def test_close_commits_and_leaves(cluster: FakeCluster) -> None:
    write(cluster, T0, b"a")
    consumer = a_consumer(cluster, "t", group_id="g")
    read(cluster, consumer)
    cluster.run(consumer.close())
    assert cluster.committed[T0] == 1
    assert len(cluster.sent(LeaveGroupRequest)) == 1
    with pytest.raises(IllegalStateError, match="closed"):
        read(cluster, consumer)


def test_static_member_does_not_leave(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "t", group_id="g", group_instance_id="i")
    read(cluster, consumer)
    assert cluster.sent(JoinGroupRequest)[0].group_instance_id == "i"
    cluster.run(consumer.close())
    assert not cluster.sent(LeaveGroupRequest)


def test_ways_of_subscribing_are_not_mixed(cluster: FakeCluster) -> None:
    consumer = a_consumer(cluster, "t", group_id="g")
    with pytest.raises(IllegalStateError, match=r"unsubscribe\(\)"):
        consumer.assign([T0])
    cluster.run(consumer.unsubscribe())
    consumer.assign([T0])
    assert consumer.assignment() == {T0}


def test_iteration_ends_after_the_consumer_timeout(cluster: FakeCluster) -> None:
    write(cluster, T0, b"a", b"b")
    consumer = assigned(cluster, consumer_timeout_ms=500)

    async def all_values() -> list[Any]:
        return [record.value async for record in consumer]

    assert cluster.run(all_values()) == [b"a", b"b"]


def test_what_comes_next_is_fetched_while_records_are_taken(cluster: FakeCluster) -> None:
    write(cluster, T0, *[b"%d" % n for n in range(4)])
    consumer = assigned(cluster, max_poll_records=2)
    assert read(cluster, consumer) == [b"0", b"1"]
    write(cluster, T0, b"4")
    cluster.advance(100)
    cluster.hold.add(ApiKey.FETCH)
    assert read(cluster, consumer) == [b"2", b"3"]
    assert read(cluster, consumer) == [b"4"]


def test_no_more_is_fetched_ahead_than_fetch_max_bytes(cluster: FakeCluster) -> None:
    write(cluster, T0, *[b"%d" % n for n in range(4)])
    consumer = assigned(cluster, max_poll_records=1, fetch_max_bytes=1)
    assert read(cluster, consumer) == [b"0"]
    before = len(cluster.sent(FetchRequest))
    assert read(cluster, consumer) == [b"1"]
    cluster.advance(1000)
    assert len(cluster.sent(FetchRequest)) == before


def test_error_of_a_fetch_ahead_comes_after_the_records_before_it(cluster: FakeCluster) -> None:
    write(cluster, T0, b"0", b"1")
    consumer = assigned(cluster, max_poll_records=1, auto_offset_reset="none")
    consumer.seek(T0, 0)
    cluster.fail_next(ApiKey.FETCH, 0, *[ErrorCode.OFFSET_OUT_OF_RANGE] * 9)
    assert read(cluster, consumer) == [b"0"]
    cluster.advance(1000)
    assert read(cluster, consumer) == [b"1"]
    with pytest.raises(OffsetOutOfRangeError):
        read(cluster, consumer)


def test_second_poll_at_the_same_time_is_refused(cluster: FakeCluster) -> None:
    consumer = assigned(cluster)
    first = Deferred.fromCoroutine(consumer.poll(5000))
    cluster.advance(100)
    with pytest.raises(IllegalStateError, match="one at a time"):
        read(cluster, consumer)
    assert cluster.finish(first) == {}
    assert read(cluster, consumer) == []


def test_close_ends_a_poll_that_waits(cluster: FakeCluster) -> None:
    consumer = assigned(cluster)
    waiting = Deferred.fromCoroutine(consumer.poll(60_000))
    cluster.advance(100)
    cluster.run(consumer.close())
    cluster.turn()
    assert waiting.called
    assert cluster.finish(waiting) == {}


def test_close_gives_up_after_its_time(cluster: FakeCluster) -> None:
    write(cluster, T0, b"a")
    consumer = a_consumer(cluster, "t", group_id="g")
    read(cluster, consumer)
    cluster.hold.add(ApiKey.OFFSET_COMMIT)
    before = cluster.reactor.seconds()
    cluster.run(consumer.close(timeout_ms=500))
    assert cluster.reactor.seconds() - before < 1


def test_metrics_tell_how_far_behind_the_consumer_is(cluster: FakeCluster) -> None:
    write(cluster, T0, *[b"%d" % n for n in range(5)])
    consumer = assigned(cluster, T0, T1, max_poll_records=2)
    read(cluster, consumer)
    metrics = consumer.metrics()
    fetched = metrics["consumer-fetch-manager-metrics"]
    assert (fetched["records-consumed-total"], fetched["records-lag-max"]) == (2, 3)
    assert metrics["consumer-coordinator-metrics"] == {"assigned-partitions": 2}
