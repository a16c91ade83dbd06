"""The role, the ISR and the high watermark of a partition, on a real log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.cluster.partition import ACKS_ALL, REFUSED_FOR_MS, Partition, PartitionState
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.fetch_data_info import FetchIsolation, OffsetAndEpoch
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_loader import load_log
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder

TP = TopicPartition("t", 0)
ME, OTHER = 1, 2
EARLIEST, LATEST = -2, -1


MAX_LAG_MS = 10_000
NOW_MS = 1_000_000


def a_state(leader: int = ME, epoch: int = 0, isr: tuple[int, ...] = (ME,)) -> PartitionState:
    return PartitionState(leader, epoch, isr, 0, replicas=(ME, OTHER))


class Setup:
    """A partition of this broker with a log in a directory of the test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partition = Partition(TP, ME, None, MAX_LAG_MS)
        self.open()

    def open(self, **config: Any) -> None:
        if self.partition.log is not None:
            self.partition.log.close()
        log = load_log(self.path / "t-0", TopicConfig(**config), LogEnvironment(), now_ms=0)
        self.partition.log = log

    def append(
        self, count: int = 1, acks: int = 1, timestamp: int = 1000, now_ms: int = NOW_MS
    ) -> Any:
        builder = BatchBuilder()
        for number in range(count):
            builder.append(timestamp + number, None, b"v")
        records = memoryview(builder.build())
        return self.partition.append_as_leader(records, acks, now_ms, AppendOrigin.CLIENT)

    @property
    def high_watermark(self) -> int:
        return self.partition.local_log.high_watermark


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    setup = Setup(tmp_path)
    yield setup
    if setup.partition.log is not None:
        setup.partition.log.close()


def test_a_partition_begins_without_a_leader(setup: Setup) -> None:
    assert not setup.partition.is_leader
    with pytest.raises(NotLeaderOrFollowerError, match="t-0: led by -1"):
        setup.append()


def test_a_leader_takes_over_what_the_controller_says(setup: Setup) -> None:
    setup.partition.make_leader(a_state(epoch=3), now_ms=NOW_MS)
    assert setup.partition.is_leader
    assert (setup.partition.leader_epoch, setup.partition.isr) == (3, (ME,))
    assert setup.partition.assignment == (ME, OTHER)


def test_a_leader_alone_in_the_isr_moves_the_high_watermark_with_each_append(setup: Setup) -> None:
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    result = setup.append(3)
    assert (result.info.first_offset, result.info.last_offset) == (0, 2)
    assert result.high_watermark_moved
    assert setup.high_watermark == 3


def test_the_high_watermark_waits_for_the_isr(setup: Setup) -> None:
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    assert not setup.append(3).high_watermark_moved
    assert setup.high_watermark == 0
    assert setup.partition.update_follower_fetch_state(OTHER, 2, 0, now_ms=NOW_MS + 1)
    assert setup.high_watermark == 2
    assert not setup.partition.update_follower_fetch_state(OTHER, 2, 0, now_ms=NOW_MS + 2)


def test_a_stranger_does_not_move_the_high_watermark(setup: Setup) -> None:
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(3)
    assert not setup.partition.update_follower_fetch_state(77, 3, 0, now_ms=NOW_MS + 1)
    assert setup.high_watermark == 0


def test_the_high_watermark_never_falls(setup: Setup) -> None:
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(3)
    setup.partition.update_follower_fetch_state(OTHER, 3, 0, now_ms=NOW_MS + 1)
    setup.partition.make_leader(a_state(epoch=1, isr=(ME, OTHER)), now_ms=NOW_MS + 2)
    setup.partition.update_follower_fetch_state(OTHER, 1, 0, now_ms=NOW_MS + 3)
    assert setup.high_watermark == 3


def test_a_follower_refuses_what_is_the_leaders(setup: Setup) -> None:
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    setup.partition.make_follower(a_state(leader=OTHER, epoch=1))
    with pytest.raises(NotLeaderOrFollowerError, match="led by 2"):
        setup.append()
    with pytest.raises(NotLeaderOrFollowerError, match="led by 2"):
        setup.partition.low_watermark([])
    assert not setup.partition.update_follower_fetch_state(OTHER, 0, 0, now_ms=NOW_MS)


def test_acks_all_needs_enough_replicas_in_sync(setup: Setup) -> None:
    setup.open(min_insync_replicas=2)
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    setup.append(acks=1)
    with pytest.raises(NotEnoughReplicasError, match=r"ISR \[1\] is insufficient .* of 2 for"):
        setup.append(acks=ACKS_ALL)
    setup.partition.make_leader(a_state(epoch=1, isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(acks=ACKS_ALL)


def test_an_offset_is_reached_when_the_high_watermark_is_there(setup: Setup) -> None:
    setup.open(min_insync_replicas=2)
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(2, acks=ACKS_ALL)
    assert not setup.partition.has_reached(2)
    setup.partition.update_follower_fetch_state(OTHER, 2, 0, now_ms=NOW_MS + 1)
    assert setup.partition.has_reached(2)
    setup.partition.make_leader(a_state(epoch=1, isr=(ME,)), now_ms=NOW_MS + 2)
    with pytest.raises(NotEnoughReplicasAfterAppendError, match="only 1 replicas"):
        setup.partition.has_reached(2)
    setup.partition.make_follower(a_state(leader=OTHER, epoch=2))
    with pytest.raises(NotLeaderOrFollowerError):
        setup.partition.has_reached(2)


def test_an_asker_with_another_epoch_is_told_so(setup: Setup) -> None:
    setup.partition.make_leader(a_state(epoch=5), now_ms=NOW_MS)
    with pytest.raises(FencedLeaderEpochError, match="epoch 4 is older than 5"):
        setup.partition.local_log_with_epoch(4, only_from_leader=True)
    with pytest.raises(UnknownLeaderEpochError, match="epoch 6 is newer than 5"):
        setup.partition.local_log_with_epoch(6, only_from_leader=True)
    for epoch in (5, -1):
        log = setup.partition.local_log_with_epoch(epoch, only_from_leader=True)
        assert log is setup.partition.log


def test_a_follower_answers_only_who_does_not_ask_for_the_leader(setup: Setup) -> None:
    setup.partition.make_follower(a_state(leader=OTHER))
    setup.partition.local_log_with_epoch(-1, only_from_leader=False)
    with pytest.raises(NotLeaderOrFollowerError):
        setup.partition.local_log_with_epoch(-1, only_from_leader=True)


def test_an_offline_log_is_a_storage_error(setup: Setup) -> None:
    setup.partition.local_log.close()
    setup.partition.log = None
    with pytest.raises(KafkaStorageError, match="t-0: its log directory is offline"):
        setup.partition.make_leader(a_state(), now_ms=NOW_MS)


def test_a_read_gives_records_and_the_offsets_of_that_moment(setup: Setup) -> None:
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(2)
    setup.partition.update_follower_fetch_state(OTHER, 2, 0, now_ms=NOW_MS + 1)
    setup.append(3)
    follower = setup.partition.read(0, 10_000, FetchIsolation.LOG_END)
    consumer = setup.partition.read(0, 10_000, FetchIsolation.HIGH_WATERMARK)
    assert (follower.high_watermark, follower.log_end_offset, follower.log_start_offset) == (
        2,
        5,
        0,
    )
    assert len(follower.data.records) > len(consumer.data.records) > 0
    with pytest.raises(OffsetOutOfRangeError):
        setup.partition.read(6, 10_000, FetchIsolation.LOG_END)


def test_a_follower_that_diverged_is_told_where_to_truncate(setup: Setup) -> None:
    setup.partition.make_leader(a_state(epoch=1), now_ms=NOW_MS)
    setup.append(3)
    setup.partition.make_leader(a_state(epoch=3), now_ms=NOW_MS)
    setup.append(2)

    def diverging(offset: int, epoch: int) -> OffsetAndEpoch | None:
        result = setup.partition.read(offset, 10_000, FetchIsolation.LOG_END, -1, epoch)
        assert bool(result.diverging_epoch) != bool(result.data.records)
        return result.diverging_epoch

    assert diverging(3, 1) is None
    assert diverging(4, 3) is None
    assert diverging(4, 1) == OffsetAndEpoch(3, 1)
    assert diverging(4, 2) == OffsetAndEpoch(3, 1)


def test_offsets_are_found_by_time(setup: Setup) -> None:
    """M5: the first offset at or after a timestamp."""
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(2, timestamp=1000)
    setup.append(2, timestamp=2000)
    setup.partition.update_follower_fetch_state(OTHER, 2, 0, now_ms=NOW_MS + 1)

    def offset(timestamp: int, isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK) -> Any:
        found = setup.partition.fetch_offset_for_timestamp(
            timestamp, isolation, -1, only_from_leader=True
        )
        return None if found is None else found.offset

    assert offset(EARLIEST) == 0
    assert offset(LATEST) == 2
    assert offset(LATEST, FetchIsolation.LOG_END) == 4
    assert offset(1001) == 1
    # What a consumer cannot read yet it does not find either.
    assert offset(1500) is None
    assert offset(1500, FetchIsolation.LOG_END) == 2
    assert offset(9999, FetchIsolation.LOG_END) is None


def test_a_new_leader_does_not_know_the_latest_offset_before_its_followers_came(
    setup: Setup,
) -> None:
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(2)
    setup.partition.make_leader(a_state(epoch=1, isr=(ME, OTHER)), now_ms=NOW_MS)

    def latest(isolation: FetchIsolation) -> Any:
        return setup.partition.fetch_offset_for_timestamp(
            LATEST, isolation, -1, only_from_leader=True
        )

    with pytest.raises(OffsetNotAvailableError, match="lagging behind the start offset 2"):
        latest(FetchIsolation.HIGH_WATERMARK)
    assert latest(FetchIsolation.LOG_END).offset == 2
    setup.partition.update_follower_fetch_state(OTHER, 2, 0, now_ms=NOW_MS + 1)
    assert latest(FetchIsolation.HIGH_WATERMARK).offset == 2


def test_the_end_of_an_epoch_is_the_start_of_the_next(setup: Setup) -> None:
    setup.partition.make_leader(a_state(epoch=1), now_ms=NOW_MS)
    setup.append(3)
    setup.partition.make_leader(a_state(epoch=4), now_ms=NOW_MS)
    setup.append(1)

    def end(epoch: int) -> OffsetAndEpoch | None:
        return setup.partition.last_offset_for_leader_epoch(-1, epoch, only_from_leader=True)

    assert end(1) == OffsetAndEpoch(3, 1)
    assert end(3) == OffsetAndEpoch(3, 1)
    assert end(4) == OffsetAndEpoch(4, 4)


def test_records_are_deleted_up_to_an_offset_below_the_high_watermark(setup: Setup) -> None:
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(5)
    setup.partition.update_follower_fetch_state(OTHER, 4, 0, now_ms=NOW_MS + 1)
    assert setup.partition.delete_records_on_leader(2) == 2
    assert setup.partition.delete_records_on_leader(-1) == 4
    assert setup.partition.local_log.log_start_offset == 4
    for offset in (5, -2):
        with pytest.raises(OffsetOutOfRangeError, match=f"offset {offset} is not between"):
            setup.partition.delete_records_on_leader(offset)
    assert setup.partition.low_watermark([]) == 4
    assert setup.partition.low_watermark([OTHER]) == 0
    setup.partition.make_follower(a_state(leader=OTHER, epoch=1))
    with pytest.raises(NotLeaderOrFollowerError):
        setup.partition.delete_records_on_leader(-1)


def test_records_of_a_compacted_topic_are_not_deleted(setup: Setup) -> None:
    setup.open(cleanup_policy=("compact",))
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    with pytest.raises(PolicyViolationError, match="t-0 can not be deleted"):
        setup.partition.delete_records_on_leader(0)


def test_a_follower_that_caught_up_asks_to_join_the_isr_and_counts_at_once(setup: Setup) -> None:
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    setup.append(3)
    setup.partition.update_follower_fetch_state(OTHER, 2, 0, now_ms=NOW_MS)
    assert setup.partition.maybe_expand_isr(OTHER) is None
    setup.partition.update_follower_fetch_state(OTHER, 3, 0, now_ms=NOW_MS)
    wanted = setup.partition.maybe_expand_isr(OTHER)
    assert wanted == LeaderAndIsr(ME, 0, (ME, OTHER), 0)
    assert setup.partition.maybe_expand_isr(OTHER) is None  # one question at a time
    setup.append(1)
    assert setup.high_watermark == 3
    assert setup.partition.isr == (ME,)
    setup.partition.isr_altered(wanted.with_zk_version(1), now_ms=NOW_MS)
    assert setup.partition.isr == (ME, OTHER)


def test_the_high_watermark_waits_for_who_has_caught_up_before_it_is_in_the_isr(
    setup: Setup,
) -> None:
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    setup.append(3)
    setup.partition.update_follower_fetch_state(OTHER, 3, 0, now_ms=NOW_MS)
    setup.append(1, now_ms=NOW_MS + MAX_LAG_MS)
    assert setup.high_watermark == 3
    setup.append(1, now_ms=NOW_MS + MAX_LAG_MS + 1)
    assert setup.high_watermark == 5


def test_the_high_watermark_waits_for_whom_the_controller_may_have_let_in(setup: Setup) -> None:
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    setup.append(3)
    setup.partition.update_follower_fetch_state(OTHER, 3, 0, now_ms=NOW_MS)
    setup.partition.maybe_expand_isr(OTHER)
    setup.append(1, now_ms=NOW_MS + MAX_LAG_MS + 1)
    assert setup.high_watermark == 3


def test_the_high_watermark_does_not_wait_for_whom_the_controller_did_not_let_in(
    setup: Setup,
) -> None:
    """It is about to stop: its last fetch must not hold up acks=all until it has lagged enough."""
    setup.partition.make_leader(a_state(), now_ms=NOW_MS)
    setup.append(3)
    setup.partition.update_follower_fetch_state(OTHER, 3, 0, now_ms=NOW_MS)
    setup.partition.maybe_expand_isr(OTHER)
    setup.append(1)
    assert setup.high_watermark == 3
    assert setup.partition.isr_altered(LeaderAndIsr(ME, 0, (ME,), 0), now_ms=NOW_MS)
    assert setup.high_watermark == 4
    setup.append(1)
    assert setup.high_watermark == 5
    # One that goes on fetching is asked for again, but not at once.
    setup.partition.update_follower_fetch_state(OTHER, 5, 0, now_ms=NOW_MS)
    assert setup.partition.maybe_expand_isr(OTHER) is None
    setup.append(1)
    assert setup.high_watermark == 6
    later = NOW_MS + REFUSED_FOR_MS
    setup.partition.update_follower_fetch_state(OTHER, 6, 0, now_ms=later)
    assert setup.partition.maybe_expand_isr(OTHER) == LeaderAndIsr(ME, 0, (ME, OTHER), 0)


def test_a_follower_that_falls_behind_is_put_out_of_the_isr(setup: Setup) -> None:
    setup.partition.make_leader(a_state(isr=(ME, OTHER)), now_ms=NOW_MS)
    setup.append(1)
    assert setup.partition.maybe_shrink_isr(NOW_MS + MAX_LAG_MS) is None
    wanted = setup.partition.maybe_shrink_isr(NOW_MS + MAX_LAG_MS + 1)
    assert wanted == LeaderAndIsr(ME, 0, (ME,), 0)
    # Until the controller has agreed, the high watermark still waits for it.
    assert setup.high_watermark == 0
    late = NOW_MS + MAX_LAG_MS + 2
    assert setup.partition.isr_altered(wanted.with_zk_version(1), now_ms=late)
    assert setup.high_watermark == 1


def test_an_answer_about_the_isr_of_another_epoch_is_ignored(setup: Setup) -> None:
    setup.partition.make_leader(a_state(epoch=2, isr=(ME, OTHER)), now_ms=NOW_MS)
    assert not setup.partition.isr_altered(LeaderAndIsr(ME, 1, (ME,), 5), now_ms=NOW_MS)
    assert setup.partition.isr == (ME, OTHER)
