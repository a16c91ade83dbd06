"""Preparing and completing changes of a transactional id."""

from dataclasses import replace
from typing import Any

import pytest

from kafkalike.coordinator.transaction.transaction_metadata import (
    IllegalTransitionError,
    TransactionMetadata,
    TxnTransitMetadata,
    new_transaction,
)
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from tests.support.log_builder import NOW_MS
from tests.support.transactions import OTHER_PARTITION, PARTITION, TIMEOUT_MS, a_transaction

LATER_MS = NOW_MS + 1000


def prepared(state: TransactionState) -> tuple[TransactionMetadata, TxnTransitMetadata]:
    """Prepare a change to this state."""
    match state:
        case TransactionState.EMPTY:
            metadata = a_transaction(TransactionState.COMPLETE_ABORT)
            return metadata, metadata.prepare_increment_producer_epoch(TIMEOUT_MS, None, LATER_MS)
        case TransactionState.ONGOING:
            metadata = a_transaction(TransactionState.ONGOING)
            return metadata, metadata.prepare_add_partitions({OTHER_PARTITION}, LATER_MS)
        case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT:
            metadata = a_transaction(TransactionState.ONGOING)
            is_commit = state is TransactionState.PREPARE_COMMIT
            return metadata, metadata.prepare_abort_or_commit(is_commit=is_commit, now_ms=LATER_MS)
        case TransactionState.COMPLETE_COMMIT:
            metadata = a_transaction(TransactionState.PREPARE_COMMIT)
            return metadata, metadata.prepare_complete(LATER_MS)
        case TransactionState.COMPLETE_ABORT:
            metadata = a_transaction(TransactionState.PREPARE_ABORT)
            return metadata, metadata.prepare_complete(LATER_MS)
        case TransactionState.DEAD:
            metadata = a_transaction(TransactionState.EMPTY)
            return metadata, metadata.prepare_dead()
        case TransactionState.PREPARE_EPOCH_FENCE:
            metadata = a_transaction(TransactionState.ONGOING)
            return metadata, metadata.prepare_fence_producer_epoch()


WRITTEN = [state for state in TransactionState if not state.is_never_written]


@pytest.mark.parametrize("state", WRITTEN)
def test_prepared_change_takes_effect_when_it_is_written(state: TransactionState) -> None:
    metadata, transit = prepared(state)
    assert metadata.state is not transit.txn_state or state is TransactionState.ONGOING
    metadata.complete_transition_to(transit)
    assert metadata.state is state
    assert metadata.pending_state is None
    assert metadata.current.txn_last_update_timestamp == LATER_MS
    assert metadata.topic_partitions == transit.topic_partitions


@pytest.mark.parametrize("state", [TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE])
def test_two_states_never_take_effect(state: TransactionState) -> None:
    metadata, transit = prepared(state)
    with pytest.raises(IllegalTransitionError):
        metadata.complete_transition_to(transit)


@pytest.mark.parametrize("state", TransactionState)
def test_change_that_was_given_up_leaves_everything_as_it_was(state: TransactionState) -> None:
    metadata, _ = prepared(state)
    before = metadata.current
    assert metadata.is_transition_pending
    metadata.reset_pending_state()
    assert metadata.current == before
    assert not metadata.is_transition_pending


@pytest.mark.parametrize("state", WRITTEN)
def test_change_that_was_not_prepared_is_refused(state: TransactionState) -> None:
    metadata, transit = prepared(state)
    metadata.reset_pending_state()
    with pytest.raises(IllegalTransitionError, match="not prepared"):
        metadata.complete_transition_to(transit)


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        (TransactionState.EMPTY, {"producer_epoch": 5}),
        (TransactionState.EMPTY, {"producer_id": 8, "producer_epoch": 4}),
        (TransactionState.EMPTY, {"topic_partitions": frozenset({PARTITION})}),
        (TransactionState.EMPTY, {"txn_start_timestamp": NOW_MS}),
        (TransactionState.ONGOING, {"producer_id": 8}),
        (TransactionState.ONGOING, {"producer_epoch": 4}),
        (TransactionState.ONGOING, {"txn_timeout_ms": 1}),
        (TransactionState.ONGOING, {"topic_partitions": frozenset({OTHER_PARTITION})}),
        (TransactionState.PREPARE_COMMIT, {"topic_partitions": frozenset()}),
        (TransactionState.PREPARE_ABORT, {"txn_start_timestamp": NOW_MS + 1}),
        (TransactionState.COMPLETE_COMMIT, {"producer_epoch": 4}),
        (TransactionState.COMPLETE_ABORT, {"txn_start_timestamp": -1}),
    ],
)
def test_change_that_does_not_fit_is_refused(
    state: TransactionState, changes: dict[str, Any]
) -> None:
    metadata, transit = prepared(state)
    before = metadata.current
    with pytest.raises(IllegalTransitionError, match="not prepared"):
        metadata.complete_transition_to(replace(transit, **changes))
    assert metadata.current == before


@pytest.mark.parametrize("previous", TransactionState)
def test_only_legal_changes_can_be_prepared(previous: TransactionState) -> None:
    is_legal = previous is TransactionState.ONGOING
    metadata = a_transaction(previous)
    if is_legal:
        metadata.prepare_abort_or_commit(is_commit=True, now_ms=LATER_MS)
    else:
        with pytest.raises(IllegalTransitionError, match="cannot become"):
            metadata.prepare_abort_or_commit(is_commit=True, now_ms=LATER_MS)


def test_second_change_cannot_be_prepared() -> None:
    metadata, _ = prepared(TransactionState.ONGOING)
    with pytest.raises(IllegalTransitionError, match="another is pending"):
        metadata.prepare_add_partitions({PARTITION}, LATER_MS)


def test_id_and_epoch_are_never_negative() -> None:
    metadata = new_transaction("new", 12, TIMEOUT_MS, NOW_MS)
    with pytest.raises(IllegalTransitionError):
        metadata.prepare_add_partitions({PARTITION}, LATER_MS)


def test_only_a_producer_that_starts_changes_the_last_producer_id() -> None:
    metadata = a_transaction(TransactionState.ONGOING, last_producer_id=5)
    metadata.complete_transition_to(metadata.prepare_add_partitions({OTHER_PARTITION}, LATER_MS))
    assert metadata.current.last_producer_id == 5


# --- time


@pytest.mark.parametrize("state", TransactionState)
@pytest.mark.parametrize("pending", [None, TransactionState.PREPARE_COMMIT])
def test_only_open_transactions_time_out(
    state: TransactionState, pending: TransactionState | None
) -> None:
    metadata = a_transaction(state, pending=pending)
    can_time_out = state is TransactionState.ONGOING and pending is None
    assert not metadata.is_timed_out(NOW_MS + TIMEOUT_MS)
    assert metadata.is_timed_out(NOW_MS + TIMEOUT_MS + 1) == can_time_out


@pytest.mark.parametrize("state", TransactionState)
@pytest.mark.parametrize("pending", [None, TransactionState.EMPTY])
def test_only_ids_at_rest_expire(state: TransactionState, pending: TransactionState | None) -> None:
    metadata = a_transaction(state, pending=pending)
    can_expire = state.is_expiration_allowed and pending is None
    assert not metadata.is_expired(NOW_MS + 99, 100)
    assert metadata.is_expired(NOW_MS + 100, 100) == can_expire
