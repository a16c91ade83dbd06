"""How a follower finds common ground with its leader: every case by hand, then at random."""

from hypothesis import given
from hypothesis import strategies as st

from kafkalike.log.fetch_data_info import OffsetAndEpoch
from kafkalike.replication.fetch_state import (
    NO_EPOCH,
    PartitionFetchState,
    ReplicaState,
    after_truncation,
    initial_state,
    resolve_out_of_range,
    truncation_offset,
)


class EpochLog:
    """A log that is only the epochs of its records."""

    def __init__(self, *epochs: int, high_watermark: int = 0) -> None:
        self.epochs = list(epochs)
        self.high_watermark = high_watermark

    @property
    def log_end_offset(self) -> int:
        return len(self.epochs)

    @property
    def latest_epoch(self) -> int | None:
        return self.epochs[-1] if self.epochs else None

    def end_offset_for_epoch(self, leader_epoch: int) -> OffsetAndEpoch | None:
        if not self.epochs or leader_epoch > self.epochs[-1]:
            return None
        below = [epoch for epoch in self.epochs if epoch <= leader_epoch]
        if not below:
            return OffsetAndEpoch(0, leader_epoch)
        return OffsetAndEpoch(len(below), below[-1])


def test_a_log_with_epochs_begins_at_its_end() -> None:
    state = initial_state(EpochLog(0, 0, 2, high_watermark=1), 5)
    assert state == PartitionFetchState(3, 5, 2)
    assert state.is_ready_for_fetch(0)


def test_a_log_without_epochs_first_goes_back_to_its_high_watermark() -> None:
    state = initial_state(EpochLog(high_watermark=4), 5)
    assert (state.fetch_offset, state.state) == (4, ReplicaState.TRUNCATING)
    assert not state.is_ready_for_fetch(0)


def test_truncates_to_the_end_of_the_common_epoch_at_the_leader() -> None:
    assert truncation_offset(EpochLog(0, 0, 0, 1), OffsetAndEpoch(2, 0)) == 2


def test_truncates_to_its_own_end_of_the_common_epoch_where_that_is_smaller() -> None:
    assert truncation_offset(EpochLog(0, 1, 1), OffsetAndEpoch(3, 0)) == 1


def test_truncates_to_the_largest_smaller_epoch_where_the_leaders_is_unknown() -> None:
    assert truncation_offset(EpochLog(0, 0, 3), OffsetAndEpoch(9, 2)) == 2


def test_takes_the_leaders_word_where_it_knows_no_epoch_so_new() -> None:
    assert truncation_offset(EpochLog(0, 0), OffsetAndEpoch(1, 7)) == 1


def test_goes_on_with_the_epoch_of_what_is_left() -> None:
    log = EpochLog(0, 0)
    state = PartitionFetchState(4, 6, 3)
    assert after_truncation(log, state, 2) == PartitionFetchState(2, 6, 0)
    assert after_truncation(EpochLog(), state, 0).last_fetched_epoch == NO_EPOCH


def test_out_of_range_below_ours_means_truncate_to_the_leaders_end() -> None:
    found = resolve_out_of_range(EpochLog(0, 0, 0), leader_start=0, leader_end=2)
    assert (found.fetch_offset, found.truncate_to, found.start_over_at) == (2, 2, None)


def test_out_of_range_beyond_ours_means_start_over_at_the_leaders_start() -> None:
    found = resolve_out_of_range(EpochLog(0), leader_start=5, leader_end=9)
    assert (found.fetch_offset, found.truncate_to, found.start_over_at) == (5, None, 5)


def test_out_of_range_that_is_over_already_changes_nothing() -> None:
    found = resolve_out_of_range(EpochLog(0, 0), leader_start=1, leader_end=9)
    assert (found.fetch_offset, found.truncate_to, found.start_over_at) == (2, None, None)


def test_delayed_partition_is_not_ready_before_its_time() -> None:
    state = PartitionFetchState(0, 0).delayed(100)
    assert not state.is_ready_for_fetch(99)
    assert state.is_ready_for_fetch(100)


def grow(base: list[int], steps: list[int]) -> list[int]:
    """Append records whose epochs never go back."""
    epochs = list(base)
    for step in steps:
        epochs.append((epochs[-1] if epochs else 0) + step)
    return epochs


@given(
    common=st.lists(st.integers(0, 1), max_size=6),
    leader=st.lists(st.integers(0, 2), max_size=6),
    follower=st.lists(st.integers(0, 2), max_size=6),
)
def test_logs_agree_after_as_many_truncations_as_there_are_epochs(
    common: list[int], leader: list[int], follower: list[int]
) -> None:
    shared = grow([], common)
    # One leader per epoch: what diverges was written in different epochs (odd here, even there).
    own = [epoch * 2 + 1 for epoch in grow(shared, follower)[len(shared) :]]
    theirs = [epoch * 2 + 2 for epoch in grow(shared, leader)[len(shared) :]]
    shared = [epoch * 2 for epoch in shared]
    leader_log, follower_log = EpochLog(*shared, *theirs), EpochLog(*shared, *own)
    rounds = 0
    while follower_log.epochs:
        last = follower_log.epochs[-1]
        found = leader_log.end_offset_for_epoch(last)
        if found is None:  # the leader knows no epoch so new: its own end is what is in common
            found = OffsetAndEpoch(leader_log.log_end_offset, leader_log.latest_epoch or 0)
        if found.leader_epoch >= last and found.offset >= follower_log.log_end_offset:
            break
        del follower_log.epochs[truncation_offset(follower_log, found) :]
        rounds += 1
        assert rounds <= len(own) + len(shared) + 1
    assert follower_log.epochs == leader_log.epochs[: len(follower_log.epochs)]
    assert len(follower_log.epochs) >= len(shared) or not leader_log.epochs
