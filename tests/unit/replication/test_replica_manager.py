"""Appends, fetches and waits of the replica manager, on real logs and a clock of the test."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.cluster.metadata_cache import MetadataCache, PartitionMetadata
from kafkalike.cluster.partition import Partition, PartitionState
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.log.log import Log
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_loader import load_log
from kafkalike.model.broker import Broker
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    InvalidRequiredAcksError,
    KafkaStorageError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from kafkalike.protocol.messages.fetch import FetchPartition
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.quota.replication_quota import ReplicationQuota
from kafkalike.replication.fetch_params import FetchParams
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.utils.time import Time

TP = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)
CONSUMER = -1


def a_batch(*values: bytes) -> memoryview:
    builder = BatchBuilder()
    for value in values:
        builder.append(1000, None, value)
    return memoryview(builder.build())


class Setup:
    def __init__(self, tmp_path: Path, *, flushes_last_replica: bool = True) -> None:
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.directory = tmp_path
        self.metadata = MetadataCache()
        self.flushed: list[TopicPartition] = []
        self.quota_bytes_per_s = float("inf")
        self.quota = ReplicationQuota(11, 1, lambda: self.quota_bytes_per_s)
        self.is_disk_slow = False
        self._flushes: list[Deferred[None]] = []
        self.manager = ReplicaManager(
            1,
            Time(self.clock),
            self.metadata,
            self._flush,
            leader_quota=self.quota,
            flushes_last_replica=flushes_last_replica,
        )

    def lead(
        self, tp: TopicPartition = TP, *, isr: tuple[int, ...] = (1,), **config: Any
    ) -> Partition:
        partition = Partition(tp, 1, None)
        settings = TopicConfig(**config)
        partition.log = load_log(self.directory / str(tp), settings, LogEnvironment(), now_ms=0)
        partition.make_leader(PartitionState(1, 0, isr, 0, isr), self.now_ms())
        self.manager.partitions[tp] = partition
        return partition

    async def _flush(self, log: Log) -> None:
        if self.is_disk_slow:
            flush: Deferred[None] = Deferred()
            self._flushes.append(flush)
            await flush
        log.flush(self.now_ms())
        self.flushed.append(log.tp)

    def finish_flushes(self) -> None:
        """Let the slow disk catch up."""
        while self._flushes:
            self._flushes.pop().callback(None)

    def now_ms(self) -> int:
        return int(self.clock.seconds() * 1000)

    def produce(self, *records: memoryview, acks: int = 1, tp: TopicPartition = TP) -> Any:
        return start(self.manager.append_records([(tp, r) for r in records], acks, 1000))

    def fetch(
        self,
        offset: int,
        *,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        replica: int = CONSUMER,
        tp: TopicPartition = TP,
    ) -> "Deferred[Any]":
        isolation = FetchIsolation.LOG_END if replica >= 0 else FetchIsolation.HIGH_WATERMARK
        params = FetchParams(replica, 500, min_bytes, max_bytes, isolation)
        wanted = FetchPartition(
            partition=tp.partition, fetch_offset=offset, partition_max_bytes=max_bytes
        )
        return start(self.manager.fetch_messages(params, [(tp, wanted)]))


def start(coroutine: Coroutine[Any, Any, Any]) -> "Deferred[Any]":
    return Deferred.fromCoroutine(coroutine)


def result(deferred: "Deferred[Any]") -> Any:
    assert deferred.called, "still waiting"
    found: list[Any] = []
    deferred.addCallback(found.append)
    return found[0]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def test_append_gives_dense_offsets(setup: Setup) -> None:
    setup.lead()
    (first,) = result(setup.produce(a_batch(b"a", b"b")))
    (second,) = result(setup.produce(a_batch(b"c")))
    assert (first.info.first_offset, first.info.last_offset) == (0, 1)
    assert second.info.first_offset == 2


def test_append_to_what_is_not_here_says_why(setup: Setup) -> None:
    (unknown,) = result(setup.produce(a_batch(b"a")))
    assert isinstance(unknown.error, UnknownTopicOrPartitionError)
    elsewhere = PartitionMetadata(partition=0, leader=2, leader_epoch=0, isr=(2,), replicas=(2,))
    setup.metadata.update(2, {}, [("t", elsewhere)], {})
    (moved,) = result(setup.produce(a_batch(b"a")))
    assert isinstance(moved.error, NotLeaderOrFollowerError)
    setup.manager.mark_offline(TP)
    (offline,) = result(setup.produce(a_batch(b"a")))
    assert isinstance(offline.error, KafkaStorageError)


def test_acks_other_than_those_of_kafka_are_refused_and_nothing_is_written(setup: Setup) -> None:
    partition = setup.lead()
    (refused,) = result(setup.produce(a_batch(b"a"), acks=2))
    assert isinstance(refused.error, InvalidRequiredAcksError)
    assert partition.local_log.log_end_offset == 0


def test_acks_all_waits_until_the_follower_has_fetched(setup: Setup) -> None:
    setup.lead(isr=(1, 2))
    produced = setup.produce(a_batch(b"a"), acks=-1)
    assert not produced.called
    setup.fetch(0, replica=2)  # the follower takes it
    assert not produced.called
    setup.fetch(1, replica=2)  # and by asking for the next says that it has it
    assert result(produced)[0].error is None


def test_acks_all_times_out_without_the_follower(setup: Setup) -> None:
    setup.lead(isr=(1, 2))
    produced = setup.produce(a_batch(b"a"), acks=-1)
    setup.clock.advance(1.1)
    assert isinstance(result(produced)[0].error, RequestTimedOutError)


def test_acks_all_is_refused_below_min_insync_replicas(setup: Setup) -> None:
    partition = setup.lead(isr=(1,), min_insync_replicas=2)
    (refused,) = result(setup.produce(a_batch(b"a"), acks=-1))
    assert isinstance(refused.error, NotEnoughReplicasError)
    assert partition.local_log.log_end_offset == 0


def test_acks_all_fails_when_leadership_is_lost_meanwhile(setup: Setup) -> None:
    partition = setup.lead(isr=(1, 2))
    produced = setup.produce(a_batch(b"a"), acks=-1)
    partition.make_follower(PartitionState(2, 1, (2,), 1, (1, 2)))
    setup.manager.complete_delayed(TP)
    assert isinstance(result(produced)[0].error, NotLeaderOrFollowerError)


def test_acks_all_is_on_the_disk_where_the_last_in_sync_replicas_stand(setup: Setup) -> None:
    partition = setup.lead(isr=(1, 2))
    setup.clock.advance(31)  # the follower lags
    partition.isr_altered(LeaderAndIsr(1, 0, (1,), 1), setup.now_ms())
    (status,) = result(setup.produce(a_batch(b"a"), acks=-1))
    assert status.error is None
    assert setup.flushed == [TP]
    assert partition.local_log.recovery_point == 1


def test_record_that_waited_while_the_isr_shrank_is_on_the_disk_before_its_answer(
    setup: Setup,
) -> None:
    partition = setup.lead(isr=(1, 2))
    setup.is_disk_slow = True
    setup.clock.advance(31)  # the follower lags
    produced = setup.produce(a_batch(b"a"), acks=-1)
    setup.manager.isr_altered(TP, LeaderAndIsr(1, 0, (1,), 1))
    assert partition.local_log.high_watermark == 1
    assert not produced.called
    setup.finish_flushes()
    assert result(produced)[0].error is None
    assert partition.local_log.recovery_point == 1


def test_what_was_acknowledged_before_the_isr_shrank_is_flushed_then(setup: Setup) -> None:
    partition = setup.lead(isr=(1, 2))
    setup.produce(a_batch(b"a"), acks=-1)
    setup.fetch(0, replica=2)
    setup.fetch(1, replica=2)
    assert setup.flushed == []
    setup.manager.isr_altered(TP, LeaderAndIsr(1, 0, (1,), 1))
    assert partition.local_log.recovery_point == 1


def test_nothing_is_flushed_where_it_is_switched_off(tmp_path: Path) -> None:
    setup = Setup(tmp_path, flushes_last_replica=False)
    setup.lead(isr=(1, 2))
    setup.clock.advance(31)
    setup.manager.isr_altered(TP, LeaderAndIsr(1, 0, (1,), 1))
    assert result(setup.produce(a_batch(b"a"), acks=-1))[0].error is None
    assert setup.flushed == []


def test_nothing_is_flushed_where_replicas_are_in_sync_or_were_never_there(setup: Setup) -> None:
    setup.lead(isr=(1,))
    setup.produce(a_batch(b"a"), acks=-1)
    setup.lead(OTHER, isr=(1, 2))
    setup.produce(a_batch(b"a"), acks=-1, tp=OTHER)
    assert setup.flushed == []


def test_flush_messages_is_kept_with_any_acks(setup: Setup) -> None:
    setup.lead(flush_messages=1)
    result(setup.produce(a_batch(b"a"), acks=1))
    assert setup.flushed == [TP]


def test_consumer_does_not_see_what_the_follower_has_not(setup: Setup) -> None:
    setup.lead(isr=(1, 2))
    setup.produce(a_batch(b"a"))
    waiting = setup.fetch(0)
    assert not waiting.called
    setup.fetch(0, replica=2)
    setup.fetch(1, replica=2)
    assert result(waiting)[0].size > 0


def test_fetch_waits_for_records_and_is_woken_by_an_append(setup: Setup) -> None:
    """M52: a consumer asks and the broker answers; nothing is sent unasked."""
    setup.lead()
    waiting = setup.fetch(0)
    assert not waiting.called
    setup.produce(a_batch(b"a"))
    assert result(waiting)[0].size == len(a_batch(b"a"))


def test_fetch_waits_until_min_bytes_are_there(setup: Setup) -> None:
    setup.lead()
    one = len(a_batch(b"a"))
    waiting = setup.fetch(0, min_bytes=2 * one)
    setup.produce(a_batch(b"a"))
    assert not waiting.called
    setup.produce(a_batch(b"b"))
    assert result(waiting)[0].size == 2 * one


def test_fetch_gives_what_there_is_at_the_deadline(setup: Setup) -> None:
    setup.lead()
    waiting = setup.fetch(0, min_bytes=1 << 20)
    setup.produce(a_batch(b"a"))
    setup.clock.advance(0.6)
    assert result(waiting)[0].size == len(a_batch(b"a"))
    assert len(setup.clock.getDelayedCalls()) == 0


def test_fetch_beyond_the_end_is_answered_at_once_with_an_error(setup: Setup) -> None:
    setup.lead()
    (read,) = result(setup.fetch(7))
    assert isinstance(read.error, OffsetOutOfRangeError)


def test_first_batch_is_given_whole_even_if_it_is_larger_than_the_limit(setup: Setup) -> None:
    setup.lead()
    setup.produce(a_batch(b"x" * 1000))
    (read,) = result(setup.fetch(0, max_bytes=10))
    assert read.size == len(a_batch(b"x" * 1000))


def test_only_the_first_partition_with_records_may_exceed_the_limit(setup: Setup) -> None:
    for tp in (TP, OTHER):
        setup.lead(tp)
        setup.produce(a_batch(b"x" * 1000), tp=tp)
    params = FetchParams(CONSUMER, 0, 1, 100, FetchIsolation.HIGH_WATERMARK)
    wanted = [
        (tp, FetchPartition(partition=tp.partition, fetch_offset=0, partition_max_bytes=100))
        for tp in (TP, OTHER)
    ]
    first, second = result(start(setup.manager.fetch_messages(params, wanted)))
    assert (first.size > 1000, second.size) == (True, 0)


def test_fetch_ends_when_its_partition_goes_away(setup: Setup) -> None:
    setup.lead()
    waiting = setup.fetch(0)
    setup.manager.mark_offline(TP)
    assert isinstance(result(waiting)[0].error, KafkaStorageError)


def test_delete_records_raises_the_log_start_and_answers_the_low_watermark(setup: Setup) -> None:
    partition = setup.lead()
    setup.produce(a_batch(b"a", b"b", b"c"))
    answer = result(start(setup.manager.delete_records({TP: 2}, 1000)))
    assert answer[TP][0] == 2
    assert partition.local_log.log_start_offset == 2


def test_delete_records_waits_until_the_follower_has_deleted_them_too(setup: Setup) -> None:
    setup.lead(isr=(1, 2))
    setup.produce(a_batch(b"a", b"b", b"c"))
    setup.fetch(3, replica=2)
    setup.metadata.update(1, {i: Broker(i, ()) for i in (1, 2)}, [], {})
    waiting = start(setup.manager.delete_records({TP: 2}, 1000))
    assert not waiting.called
    params = FetchParams(2, 0, 1, 100, FetchIsolation.LOG_END)
    wanted = FetchPartition(fetch_offset=3, log_start_offset=2, partition_max_bytes=100)
    result(start(setup.manager.fetch_messages(params, [(TP, wanted)])))
    assert result(waiting)[TP] == (2, ErrorCode.NONE)


def test_shutdown_answers_all_that_waits(setup: Setup) -> None:
    setup.lead(isr=(1, 2))
    waiting = [setup.produce(a_batch(b"a"), acks=-1), setup.fetch(0)]
    setup.manager.shutdown()
    assert all(deferred.called for deferred in waiting)
