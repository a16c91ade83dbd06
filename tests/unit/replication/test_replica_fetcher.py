"""A follower and its leader on one clock: real logs, the real Fetch handler, no sockets."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.cluster.partition import Partition, PartitionState
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_loader import load_log
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import NetworkError
from kafkalike.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalike.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalike.protocol.schema import Message
from kafkalike.quota.replication_quota import ReplicationQuota
from kafkalike.replication.fetch_session import FetchSessionCache
from kafkalike.replication.fetch_state import initial_state
from kafkalike.replication.replica_fetcher import FetcherSettings, ReplicaFetcher
from kafkalike.server.api import fetch, list_offsets
from kafkalike.utils.time import Time
from tests.unit.replication.test_replica_manager import TP, Setup, a_batch

FETCH, LIST_OFFSETS = 12, 6
SETTINGS = FetcherSettings(
    replica_id=2,
    fetch_version=FETCH,
    list_offsets_version=LIST_OFFSETS,
    wait_max_ms=500,
    min_bytes=1,
    max_bytes=1 << 20,
    response_max_bytes=10 << 20,
    backoff_ms=1000,
)


class Leader(Setup):
    """Broker 1, reached through `send` as over a network: bytes in, bytes out."""

    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path / "leader")
        (tmp_path / "leader").mkdir()
        self.is_reachable = True
        self.requests: list[Any] = []
        sessions = FetchSessionCache(10, Random(1))
        self._services = SimpleNamespace(
            replica_manager=self.manager,
            fetch_sessions=sessions,
            time=Time(self.clock),
            config=SimpleNamespace(fetch_max_bytes=55 << 20, replica_selector_class=None),
        )

    async def send(self, request: Message, version: int) -> Message:
        if not self.is_reachable:
            raise NetworkError("unplugged")
        received = type(request).decode(request.encode(version), version)
        self.requests.append(received)
        context: Any = SimpleNamespace(
            broker=self._services, api_version=version, authorization=None, throttle=None
        )
        if isinstance(received, FetchRequest):
            answer = await fetch.handle(context, received)
            for topic in answer.responses:
                for partition in topic.partition_responses:
                    records = partition.record_set
                    partition.record_set = records.read() if records else b""
            return FetchResponse.decode(answer.encode(version), version)
        assert isinstance(received, ListOffsetsRequest)
        offsets = await list_offsets.handle(context, received)
        return ListOffsetsResponse.decode(offsets.encode(version), version)

    def close(self) -> None:
        pass


class Follower:
    """Broker 2 with one replica."""

    def __init__(self, tmp_path: Path, leader: Leader) -> None:
        self._clock = leader.clock
        self.log: Log = load_log(
            tmp_path / "follower" / str(TP), TopicConfig(), LogEnvironment(), now_ms=0
        )
        self.quota_bytes_per_s = float("inf")
        self.quota = ReplicationQuota(11, 1, lambda: self.quota_bytes_per_s)
        self.fetcher = ReplicaFetcher(
            1, lambda: leader, self, lambda: SETTINGS, self.quota, Time(leader.clock)
        )

    def follow(self, leader_epoch: int = 0) -> None:
        self.fetcher.add_partitions({TP: initial_state(self.log, leader_epoch)})

    def get_log(self, tp: TopicPartition) -> Log | None:
        return self.log if tp == TP else None

    def truncate_to(self, tp: TopicPartition, offset: int) -> None:
        self.log.truncate_to(offset, 0)

    def truncate_fully_and_start_at(self, tp: TopicPartition, offset: int) -> None:
        self.log.truncate_fully_and_start_at(offset, 0)

    def replicated(self, tp: TopicPartition) -> None:
        pass


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    return Leader(tmp_path)


@pytest.fixture
def follower(tmp_path: Path, leader: Leader) -> Follower:
    (tmp_path / "follower").mkdir()
    return Follower(tmp_path, leader)


def data(log: Log) -> bytes:
    return b"".join(segment.log.read(0, segment.size) for segment in log.segments)


def lead(leader: Leader, epoch: int = 0) -> Partition:
    partition = leader.lead(isr=(1, 2))
    if epoch:
        partition.make_leader(PartitionState(1, epoch, (1, 2), 1, (1, 2)), leader.now_ms())
    return partition


def test_follower_copies_what_is_there_and_what_comes(leader: Leader, follower: Follower) -> None:
    partition = lead(leader)
    leader.produce(a_batch(b"a", b"b"))
    follower.follow()
    leader.produce(a_batch(b"c"))
    assert follower.log.log_end_offset == 3
    assert data(follower.log) == data(partition.local_log)


def test_acks_all_is_answered_by_the_followers_next_fetch(
    leader: Leader, follower: Follower
) -> None:
    lead(leader)
    follower.follow()
    produced: Deferred[Any] = leader.produce(a_batch(b"a"), acks=-1)
    assert produced.called


def test_follower_learns_the_high_watermark_one_fetch_later(
    leader: Leader, follower: Follower
) -> None:
    partition = lead(leader)
    follower.follow()
    leader.produce(a_batch(b"a"))
    assert partition.local_log.high_watermark == 1
    assert follower.log.high_watermark == 0
    leader.clock.advance(0.6)  # the fetch that waits at the leader is over
    assert follower.log.high_watermark == 1


def test_requests_name_a_partition_only_when_something_changed(
    leader: Leader, follower: Follower
) -> None:
    lead(leader)
    follower.follow()
    for _ in range(3):
        leader.clock.advance(0.6)
    assert [len(request.topics) for request in leader.requests] == [1, 0, 0, 0]
    leader.produce(a_batch(b"a"))
    assert len(leader.requests[-1].topics) == 1


def test_nothing_is_sent_while_the_leader_has_nothing(leader: Leader, follower: Follower) -> None:
    lead(leader)
    follower.follow()
    leader.clock.advance(0.4)
    assert len(leader.requests) == 1


def test_follower_cuts_what_the_new_leader_does_not_have(
    leader: Leader, follower: Follower
) -> None:
    partition = lead(leader)
    leader.produce(a_batch(b"a"))
    follower.follow()
    # Written by a leader of epoch 1 that nobody else heard of.
    follower.fetcher.remove_partitions([TP])
    follower.log.append_as_leader(a_batch(b"lost"), leader_epoch=1, now_ms=0)
    partition.make_leader(PartitionState(1, 2, (1, 2), 1, (1, 2)), leader.now_ms())
    leader.produce(a_batch(b"kept"))
    follower.follow(leader_epoch=2)
    assert data(follower.log) == data(partition.local_log)
    assert follower.log.log_end_offset == 2


def test_empty_log_begins_where_the_leaders_begins(leader: Leader, follower: Follower) -> None:
    partition = lead(leader)
    leader.produce(a_batch(b"a"))
    leader.produce(a_batch(b"b"))
    partition.local_log.update_high_watermark(2)
    partition.local_log.roll(0)
    partition.local_log.maybe_increment_log_start_offset(1)
    follower.follow()
    assert follower.log.log_start_offset == 1
    assert follower.log.log_end_offset == 2


def test_follower_ahead_of_an_unclean_leader_truncates_to_its_end(
    leader: Leader, follower: Follower
) -> None:
    partition = lead(leader)
    leader.produce(a_batch(b"a"))
    follower.log.append_as_leader(a_batch(b"x", b"y", b"z"), leader_epoch=0, now_ms=0)
    follower.follow()
    assert follower.log.log_end_offset == partition.local_log.log_end_offset == 1


def test_unreachable_leader_is_tried_again_after_the_backoff(
    leader: Leader, follower: Follower
) -> None:
    lead(leader)
    leader.is_reachable = False
    follower.follow()
    leader.is_reachable = True
    leader.produce(a_batch(b"a"))
    leader.clock.advance(0.9)
    assert follower.log.log_end_offset == 0
    leader.clock.advance(0.2)
    assert follower.log.log_end_offset == 1


def test_partition_whose_epoch_is_over_is_not_fetched_again(
    leader: Leader, follower: Follower
) -> None:
    lead(leader, epoch=3)
    follower.follow(leader_epoch=2)
    assert len(follower.fetcher) == 0


def test_partition_that_was_removed_gets_nothing_more(leader: Leader, follower: Follower) -> None:
    lead(leader)
    follower.follow()
    follower.fetcher.remove_partitions([TP])
    leader.produce(a_batch(b"a"))
    leader.clock.advance(5)
    assert follower.log.log_end_offset == 0
    assert leader.clock.getDelayedCalls() == []


def test_closed_fetcher_leaves_no_timer(leader: Leader, follower: Follower) -> None:
    lead(leader)
    leader.is_reachable = False
    follower.follow()
    follower.fetcher.close()
    assert leader.clock.getDelayedCalls() == []


def test_fetcher_ends_with_its_last_partition_and_begins_again_with_the_next(
    leader: Leader, follower: Follower
) -> None:
    lead(leader)
    follower.follow()
    follower.fetcher.remove_partitions([TP])
    leader.clock.advance(1)
    leader.produce(a_batch(b"a"))
    follower.follow()
    assert follower.log.log_end_offset == 1


def out_of_sync(leader: Leader) -> Partition:
    partition = leader.lead(isr=(1, 2))
    leader.clock.advance(31)
    partition.isr_altered(LeaderAndIsr(1, 0, (1,), 1), leader.now_ms())
    return partition


def test_throttled_follower_takes_no_more_than_it_may(leader: Leader, follower: Follower) -> None:
    out_of_sync(leader)
    follower.quota.update_topic(TP.topic, ["*"], 2)
    follower.quota_bytes_per_s = 1000
    follower.quota.record({TP: 20_000}, leader.now_ms())
    leader.produce(a_batch(b"a"))
    follower.follow()
    leader.clock.advance(1)
    assert follower.log.log_end_offset == 0
    for _ in range(20):
        leader.clock.advance(1)
    assert follower.log.log_end_offset == 1


def test_leader_holds_up_a_throttled_follower_that_is_not_in_sync(
    leader: Leader, follower: Follower
) -> None:
    out_of_sync(leader)
    leader.quota.update_topic(TP.topic, ["*"], 1)
    leader.quota_bytes_per_s = 10
    leader.quota.record({TP: 10_000}, leader.now_ms())
    leader.produce(a_batch(b"a"))
    follower.follow()
    leader.clock.advance(1)
    assert follower.log.log_end_offset == 0
    # It waits at the leader instead of asking again and again.
    assert len(leader.requests) <= 4
    for _ in range(20):
        leader.clock.advance(1)
    assert follower.log.log_end_offset == 1
