"""Committed offsets: prepared, appended, failed, in transactions, removed, expired."""

import pytest

from kafkalike.coordinator.group.group_metadata import (
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupMetadata,
)
from kafkalike.coordinator.group.group_offsets import (
    CommitRecord,
    GroupOffsets,
    OffsetAndMetadata,
    Offsets,
)
from kafkalike.coordinator.group.group_state import GroupState
from kafkalike.model.topic_partition import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
PID, OTHER_PID = 7, 8


def at(
    offset: int, commit_timestamp: int = 0, expire_timestamp: int | None = None
) -> OffsetAndMetadata:
    return OffsetAndMetadata(
        offset=offset, commit_timestamp=commit_timestamp, expire_timestamp=expire_timestamp
    )


def offset_of(offsets: GroupOffsets, tp: TopicPartition = A) -> int | None:
    found = offsets.get(tp)
    return None if found is None else found.offset


def commit(offsets: GroupOffsets, values: Offsets, batch_offset: int) -> None:
    offsets.prepare(values)
    offsets.appended(values, batch_offset)


# --- plain commits


def test_offset_counts_only_once_it_is_in_the_log() -> None:
    offsets = GroupOffsets()
    values = {A: at(5)}
    offsets.prepare(values)
    assert offset_of(offsets) is None
    assert offsets.is_pending(A)
    assert not offsets.is_empty
    offsets.appended(values, 0)
    assert offset_of(offsets) == 5
    assert not offsets.is_pending(A)


def test_commit_that_failed_leaves_what_was_before() -> None:
    offsets = GroupOffsets()
    commit(offsets, {A: at(5)}, 0)
    lost = {A: at(6)}
    offsets.prepare(lost)
    offsets.failed(lost)
    assert offset_of(offsets) == 5
    assert not offsets.is_pending(A)


def test_later_record_wins_whichever_is_acknowledged_last() -> None:
    offsets = GroupOffsets()
    first, second = {A: at(1)}, {A: at(2)}
    offsets.prepare(first)
    offsets.prepare(second)
    offsets.appended(second, 11)
    offsets.appended(first, 10)
    assert offset_of(offsets) == 2


def test_partition_stays_pending_while_a_later_equal_commit_is_on_its_way() -> None:
    offsets = GroupOffsets()
    first, second = {A: at(1)}, {A: at(1)}
    offsets.prepare(first)
    offsets.prepare(second)
    offsets.appended(first, 10)
    assert offsets.is_pending(A)
    offsets.failed(second)
    assert not offsets.is_pending(A)


def test_commit_that_is_in_the_log_counts_though_a_later_one_failed() -> None:
    offsets = GroupOffsets()
    first, second = {A: at(1)}, {A: at(2)}
    offsets.prepare(first)
    offsets.prepare(second)
    offsets.failed(second)
    assert offsets.is_pending(A)
    offsets.appended(first, 10)
    assert offset_of(offsets) == 1
    assert not offsets.is_pending(A)


def test_commit_of_a_topic_that_was_deleted_meanwhile_has_no_effect() -> None:
    offsets = GroupOffsets()
    values = {A: at(5)}
    offsets.prepare(values)
    assert offsets.remove([A]) == []
    offsets.appended(values, 0)
    assert offsets.is_empty


# --- transactions


def test_offset_of_a_transaction_counts_when_the_transaction_is_committed() -> None:
    offsets = GroupOffsets()
    values = {A: at(5)}
    offsets.prepare_txn(PID, values)
    offsets.appended_txn(PID, values, 0)
    assert offset_of(offsets) is None
    assert offsets.is_pending(A)
    assert offsets.has_pending_from(PID)
    offsets.complete_txn(PID, is_commit=True)
    assert offset_of(offsets) == 5
    assert not offsets.is_pending(A)


def test_offset_of_an_aborted_transaction_is_forgotten() -> None:
    offsets = GroupOffsets()
    commit(offsets, {A: at(1)}, 0)
    values = {A: at(5)}
    offsets.prepare_txn(PID, values)
    offsets.appended_txn(PID, values, 1)
    offsets.complete_txn(PID, is_commit=False)
    assert offset_of(offsets) == 1
    assert offsets.producers == []


def test_transaction_written_before_a_plain_commit_does_not_undo_it() -> None:
    offsets = GroupOffsets()
    values = {A: at(5)}
    offsets.prepare_txn(PID, values)
    offsets.appended_txn(PID, values, 10)
    commit(offsets, {A: at(6)}, 11)
    offsets.complete_txn(PID, is_commit=True)
    assert offset_of(offsets) == 6


def test_two_producers_do_not_end_each_others_transaction() -> None:
    offsets = GroupOffsets()
    for pid, tp in ((PID, A), (OTHER_PID, B)):
        values = {tp: at(pid)}
        offsets.prepare_txn(pid, values)
        offsets.appended_txn(pid, values, pid)
    offsets.complete_txn(PID, is_commit=True)
    assert (offset_of(offsets, A), offset_of(offsets, B)) == (PID, None)
    assert offsets.producers == [OTHER_PID]


def test_last_commit_of_a_transaction_counts() -> None:
    offsets = GroupOffsets()
    for batch_offset, offset in ((0, 5), (1, 9)):
        values = {A: at(offset)}
        offsets.prepare_txn(PID, values)
        offsets.appended_txn(PID, values, batch_offset)
    offsets.complete_txn(PID, is_commit=True)
    assert offset_of(offsets) == 9


def test_commit_of_a_transaction_that_failed_is_forgotten() -> None:
    offsets = GroupOffsets()
    values = {A: at(5)}
    offsets.prepare_txn(PID, values)
    offsets.failed_txn(PID, values)
    assert not offsets.has_pending_from(PID)
    offsets.failed_txn(PID, values)  # of one that is forgotten already
    offsets.complete_txn(PID, is_commit=True)
    assert offsets.is_empty


def test_commit_of_a_zombie_that_is_refused_leaves_that_of_its_successor() -> None:
    offsets = GroupOffsets()
    good, of_zombie = {A: at(5)}, {A: at(3), B: at(3)}
    offsets.prepare_txn(PID, good)
    offsets.appended_txn(PID, good, 10)
    offsets.prepare_txn(PID, of_zombie)  # the same producer id, in a former epoch
    offsets.failed_txn(PID, of_zombie)
    assert offsets.has_pending_from(PID)
    offsets.complete_txn(PID, is_commit=True)
    assert (offset_of(offsets, A), offset_of(offsets, B)) == (5, None)
    assert offsets.producers == []


@pytest.mark.parametrize("is_commit", [False, True])
def test_marker_has_no_say_over_a_commit_that_is_not_in_the_log_yet(*, is_commit: bool) -> None:
    offsets = GroupOffsets()
    values = {A: at(5)}
    offsets.prepare_txn(PID, values)
    offsets.complete_txn(PID, is_commit=is_commit)
    assert offset_of(offsets) is None
    assert offsets.is_pending(A)
    offsets.appended_txn(PID, values, 11)  # behind the marker: of the next transaction
    assert offset_of(offsets) is None
    offsets.complete_txn(PID, is_commit=True)
    assert offset_of(offsets) == 5


def test_later_record_of_a_transaction_wins_whichever_is_acknowledged_last() -> None:
    offsets = GroupOffsets()
    first, second = {A: at(1)}, {A: at(2)}
    offsets.prepare_txn(PID, first)
    offsets.prepare_txn(PID, second)
    offsets.appended_txn(PID, second, 11)
    offsets.appended_txn(PID, first, 10)
    offsets.complete_txn(PID, is_commit=True)
    assert offset_of(offsets) == 2


def test_both_kinds_of_commits_in_one_generation_are_noticed() -> None:
    offsets = GroupOffsets()
    offsets.prepare({A: at(1)})
    assert offsets.is_consistent
    offsets.prepare_txn(PID, {A: at(1)})
    assert not offsets.is_consistent
    offsets.start_generation()
    assert offsets.is_consistent


def test_what_the_log_holds_is_taken_over() -> None:
    offsets = GroupOffsets()
    offsets.load({A: CommitRecord(3, at(5))}, {PID: {B: CommitRecord(4, at(6))}})
    assert offsets.partitions == [A]
    assert len(offsets) == 1
    offsets.complete_txn(PID, is_commit=True)
    assert offset_of(offsets, B) == 6


def test_removing_tells_which_offsets_there_were() -> None:
    offsets = GroupOffsets()
    commit(offsets, {A: at(1)}, 0)
    offsets.prepare_txn(PID, {B: at(1)})
    assert offsets.remove([A, B]) == [A]
    assert not offsets.is_pending(B)


# --- expiry (KIP-211)

RETENTION = 1000


def a_group(
    state: GroupState, protocol_type: str | None, topics: frozenset[str] | None = None
) -> GroupMetadata:
    group = GroupMetadata("g", 0, state)
    group.protocol_type = protocol_type
    group.subscribed_topics = topics
    group.state_timestamp = 500
    commit(group.offsets, {A: at(1, commit_timestamp=100), B: at(1, commit_timestamp=200)}, 0)
    return group


def test_group_that_only_stores_offsets_keeps_each_for_the_retention_after_its_commit() -> None:
    group = a_group(EMPTY, None)
    assert group.remove_expired_offsets(1099, RETENTION) == []
    assert group.remove_expired_offsets(1100, RETENTION) == [A]
    assert group.remove_expired_offsets(1200, RETENTION) == [B]


def test_empty_group_keeps_all_for_the_retention_after_it_became_empty() -> None:
    group = a_group(EMPTY, "consumer")
    assert group.remove_expired_offsets(1499, RETENTION) == []
    assert group.remove_expired_offsets(1500, RETENTION) == [A, B]


def test_empty_group_of_an_old_log_counts_from_the_commit() -> None:
    group = a_group(EMPTY, "consumer")
    group.state_timestamp = None
    assert group.remove_expired_offsets(1100, RETENTION) == [A]


def test_stable_group_keeps_the_topics_that_it_reads() -> None:
    group = a_group(STABLE, "consumer", frozenset({"b"}))
    assert group.remove_expired_offsets(10_000, RETENTION) == [A]


@pytest.mark.parametrize(
    ("state", "protocol_type", "topics"),
    [
        (STABLE, "consumer", None),
        (STABLE, "connect", None),
        (PREPARING_REBALANCE, "consumer", frozenset[str]()),
    ],
)
def test_group_with_members_of_which_too_little_is_known_keeps_all(
    state: GroupState, protocol_type: str, topics: frozenset[str] | None
) -> None:
    group = a_group(state, protocol_type, topics)
    assert group.remove_expired_offsets(10_000, RETENTION) == []


def test_time_that_an_old_client_chose_wins_over_the_retention() -> None:
    group = GroupMetadata("g", 0)
    values = {A: at(1, expire_timestamp=50), B: at(1, expire_timestamp=90_000)}
    commit(group.offsets, values, 0)
    assert group.remove_expired_offsets(49, RETENTION) == []
    assert group.remove_expired_offsets(5000, RETENTION) == [A]


def test_offset_with_a_commit_on_its_way_does_not_expire() -> None:
    group = a_group(EMPTY, None)
    group.offsets.prepare({A: at(2)})
    assert group.remove_expired_offsets(10_000, RETENTION) == [B]
