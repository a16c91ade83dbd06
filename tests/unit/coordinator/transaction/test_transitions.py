"""Every state and every event: which change follows, or why there is none."""

from collections.abc import Callable

import pytest

from kafkalike.coordinator.transaction import transitions
from kafkalike.coordinator.transaction.transaction_metadata import (
    IllegalTransitionError,
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.coordinator.transaction.transitions import ProducerIdAndEpoch
from kafkalike.protocol.errors import (
    ConcurrentTransactionsError,
    InvalidPidMappingError,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
)
from tests.support.log_builder import NOW_MS
from tests.support.transactions import OTHER_PARTITION, PARTITION, TIMEOUT_MS, a_transaction

EMPTY = TransactionState.EMPTY
ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
PREPARE_ABORT = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
DEAD = TransactionState.DEAD
PREPARE_EPOCH_FENCE = TransactionState.PREPARE_EPOCH_FENCE
CONCURRENT = ConcurrentTransactionsError
INVALID_STATE = InvalidTxnStateError
ILLEGAL = IllegalTransitionError

PRODUCER = ProducerIdAndEpoch(7, 3)
LATER_MS = NOW_MS + 1000
Event = Callable[[TransactionMetadata], TxnTransitMetadata | None]
Outcome = TransactionState | type[Exception] | None


def init(metadata: TransactionMetadata) -> TxnTransitMetadata:
    return transitions.init_producer_id(metadata, TIMEOUT_MS, None, None, LATER_MS)


def init_again(metadata: TransactionMetadata) -> TxnTransitMetadata:
    return transitions.init_producer_id(metadata, TIMEOUT_MS, PRODUCER, None, LATER_MS)


def add(metadata: TransactionMetadata) -> TxnTransitMetadata | None:
    return transitions.add_partitions(metadata, PRODUCER, {OTHER_PARTITION}, LATER_MS)


def add_known(metadata: TransactionMetadata) -> TxnTransitMetadata | None:
    return transitions.add_partitions(metadata, PRODUCER, {PARTITION}, LATER_MS)


def commit(metadata: TransactionMetadata) -> TxnTransitMetadata | None:
    return transitions.end_transaction(
        metadata, PRODUCER, LATER_MS, is_commit=True, is_from_client=True
    )


def abort(metadata: TransactionMetadata) -> TxnTransitMetadata | None:
    return transitions.end_transaction(
        metadata, PRODUCER, LATER_MS, is_commit=False, is_from_client=True
    )


def complete_commit(metadata: TransactionMetadata) -> TxnTransitMetadata | None:
    return transitions.complete_transaction(metadata, PRODUCER, LATER_MS, is_commit=True)


def complete_abort(metadata: TransactionMetadata) -> TxnTransitMetadata | None:
    return transitions.complete_transaction(metadata, PRODUCER, LATER_MS, is_commit=False)


# What follows: a state that is being written from now on, an error, or None for nothing to do.
TABLE: dict[TransactionState, dict[Event, Outcome]] = {
    EMPTY: {
        init: EMPTY,
        init_again: EMPTY,
        add: ONGOING,
        add_known: ONGOING,
        commit: INVALID_STATE,
        abort: INVALID_STATE,
        complete_commit: INVALID_STATE,
        complete_abort: INVALID_STATE,
    },
    ONGOING: {
        init: PREPARE_EPOCH_FENCE,
        init_again: PREPARE_EPOCH_FENCE,
        add: ONGOING,
        add_known: None,
        commit: PREPARE_COMMIT,
        abort: PREPARE_ABORT,
        complete_commit: INVALID_STATE,
        complete_abort: INVALID_STATE,
    },
    PREPARE_COMMIT: {
        init: CONCURRENT,
        init_again: CONCURRENT,
        add: CONCURRENT,
        add_known: CONCURRENT,
        commit: CONCURRENT,
        abort: INVALID_STATE,
        complete_commit: COMPLETE_COMMIT,
        complete_abort: INVALID_STATE,
    },
    PREPARE_ABORT: {
        init: CONCURRENT,
        init_again: CONCURRENT,
        add: CONCURRENT,
        add_known: CONCURRENT,
        commit: INVALID_STATE,
        abort: CONCURRENT,
        complete_commit: INVALID_STATE,
        complete_abort: COMPLETE_ABORT,
    },
    COMPLETE_COMMIT: {
        init: EMPTY,
        init_again: EMPTY,
        add: ONGOING,
        add_known: ONGOING,
        commit: None,
        abort: INVALID_STATE,
        complete_commit: INVALID_STATE,
        complete_abort: INVALID_STATE,
    },
    COMPLETE_ABORT: {
        init: EMPTY,
        init_again: EMPTY,
        add: ONGOING,
        add_known: ONGOING,
        commit: INVALID_STATE,
        abort: None,
        complete_commit: INVALID_STATE,
        complete_abort: INVALID_STATE,
    },
    # Never written, hence never the state of an id.
    DEAD: {
        init: ILLEGAL,
        init_again: ILLEGAL,
        add: ILLEGAL,
        add_known: ILLEGAL,
        commit: ILLEGAL,
        abort: ILLEGAL,
        complete_commit: INVALID_STATE,
        complete_abort: INVALID_STATE,
    },
    PREPARE_EPOCH_FENCE: {
        init: ILLEGAL,
        init_again: ILLEGAL,
        add: ILLEGAL,
        add_known: ILLEGAL,
        commit: ILLEGAL,
        abort: ILLEGAL,
        complete_commit: INVALID_STATE,
        complete_abort: INVALID_STATE,
    },
}
CASES = [
    pytest.param(state, event, outcome, id=f"{state.kafka_name}-{event.__name__}")
    for state, row in TABLE.items()
    for event, outcome in row.items()
]


def test_table_has_every_state() -> None:
    assert set(TABLE) == set(TransactionState)


@pytest.mark.parametrize(("state", "event", "outcome"), CASES)
def test_every_event_in_every_state(
    state: TransactionState, event: Event, outcome: Outcome
) -> None:
    """What may happen to a transaction."""
    metadata = a_transaction(state)
    before = metadata.current
    if isinstance(outcome, type):
        with pytest.raises(outcome):
            event(metadata)
        assert metadata.pending_state is None
    else:
        transit = event(metadata)
        assert (None if transit is None else transit.txn_state) is outcome
        assert metadata.pending_state is outcome
    assert metadata.current == before


@pytest.mark.parametrize("pending", TransactionState)
@pytest.mark.parametrize("event", [init, init_again, add, add_known])
@pytest.mark.parametrize("state", [EMPTY, ONGOING, COMPLETE_COMMIT])
def test_nothing_changes_while_another_change_is_written(
    state: TransactionState, event: Event, pending: TransactionState
) -> None:
    metadata = a_transaction(state, pending=pending)
    with pytest.raises(ConcurrentTransactionsError):
        event(metadata)
    assert metadata.pending_state is pending


@pytest.mark.parametrize("event", [commit, abort])
@pytest.mark.parametrize("pending", set(TransactionState) - {PREPARE_EPOCH_FENCE})
def test_end_waits_for_other_changes(event: Event, pending: TransactionState) -> None:
    with pytest.raises(ConcurrentTransactionsError):
        event(a_transaction(ONGOING, pending=pending))


@pytest.mark.parametrize("event", [add, commit, abort, complete_commit])
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"producer_id": 8}, InvalidPidMappingError),
        ({"producer_id": 8, "producer_epoch": 2}, InvalidPidMappingError),
        ({"producer_epoch": 2}, ProducerFencedError),
        ({"producer_epoch": 4}, ProducerFencedError),
    ],
)
def test_producer_must_be_the_current_one(
    event: Event, fields: dict[str, int], error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        event(a_transaction(ONGOING, **fields))


# --- adding partitions


def test_first_partition_starts_the_clock_and_later_ones_do_not() -> None:
    metadata = a_transaction(COMPLETE_COMMIT)
    first = transitions.add_partitions(metadata, PRODUCER, {PARTITION}, NOW_MS + 5)
    assert first is not None
    assert first.txn_start_timestamp == first.txn_last_update_timestamp == NOW_MS + 5
    metadata.complete_transition_to(first)
    second = transitions.add_partitions(metadata, PRODUCER, {OTHER_PARTITION}, NOW_MS + 9)
    assert second is not None
    assert second.txn_start_timestamp == NOW_MS + 5
    assert second.txn_last_update_timestamp == NOW_MS + 9
    assert second.topic_partitions == {PARTITION, OTHER_PARTITION}


# --- fencing


def test_fence_raises_the_epoch_and_aborts_with_it() -> None:
    metadata = a_transaction(ONGOING)
    fence = metadata.prepare_fence_producer_epoch()
    assert fence.producer_epoch == 4
    transit = transitions.end_transaction(
        metadata, ProducerIdAndEpoch(7, 4), LATER_MS, is_commit=False, is_from_client=False
    )
    assert transit is not None
    assert (transit.txn_state, transit.producer_epoch) == (PREPARE_ABORT, 4)
    assert metadata.producer_epoch == 4
    metadata.complete_transition_to(transit)
    assert metadata.state is PREPARE_ABORT


def test_epoch_of_a_fence_that_was_not_written_is_used_again() -> None:
    metadata = a_transaction(ONGOING)
    metadata.has_failed_epoch_fence = True
    assert metadata.prepare_fence_producer_epoch().producer_epoch == 3


def test_failed_fence_is_forgotten_when_the_transaction_ends() -> None:
    metadata = a_transaction(PREPARE_ABORT)
    metadata.has_failed_epoch_fence = True
    complete_abort(metadata)
    assert not metadata.has_failed_epoch_fence


def test_client_cannot_come_with_an_epoch_of_the_future() -> None:
    metadata = a_transaction(ONGOING)
    with pytest.raises(ProducerFencedError):
        transitions.end_transaction(
            metadata, ProducerIdAndEpoch(7, 4), LATER_MS, is_commit=False, is_from_client=True
        )


# --- epochs of producers that start, or go on after an error (KIP-360)


def start_of(
    metadata: TransactionMetadata,
    expected: ProducerIdAndEpoch | None,
    new_producer_id: int | None = None,
) -> TxnTransitMetadata:
    transit = transitions.init_producer_id(metadata, 5_000, expected, new_producer_id, LATER_MS)
    metadata.complete_transition_to(transit)
    return metadata.current


def test_new_id_begins_with_epoch_zero() -> None:
    current = start_of(a_transaction(producer_epoch=-1), None)
    assert (current.producer_epoch, current.last_producer_epoch) == (0, -1)
    assert current.txn_timeout_ms == 5_000


def test_id_that_expired_meanwhile_takes_back_its_former_producer() -> None:
    current = start_of(a_transaction(producer_epoch=-1), ProducerIdAndEpoch(99, 12))
    assert (current.producer_id, current.producer_epoch) == (7, 0)


def test_producer_that_starts_locks_out_the_former_one() -> None:
    current = start_of(a_transaction(last_producer_epoch=2), None)
    assert (current.producer_epoch, current.last_producer_epoch) == (4, -1)


def test_producer_that_goes_on_gets_the_next_epoch() -> None:
    current = start_of(a_transaction(), PRODUCER)
    assert (current.producer_epoch, current.last_producer_epoch) == (4, 3)


def test_lost_answer_is_given_again() -> None:
    current = start_of(a_transaction(last_producer_epoch=2), ProducerIdAndEpoch(7, 2))
    assert (current.producer_epoch, current.last_producer_epoch) == (3, 2)


@pytest.mark.parametrize(
    "expected",
    [
        ProducerIdAndEpoch(7, 1),
        ProducerIdAndEpoch(7, 4),
        ProducerIdAndEpoch(8, 3),
        ProducerIdAndEpoch(6, 3),
    ],
)
def test_stranger_is_fenced(expected: ProducerIdAndEpoch) -> None:
    metadata = a_transaction(last_producer_id=6, last_producer_epoch=2)
    with pytest.raises(ProducerFencedError):
        start_of(metadata, expected)
    assert metadata.pending_state is None


# --- epochs are used up

LAST_EPOCH = 32766


@pytest.mark.parametrize("expected", [None, ProducerIdAndEpoch(7, LAST_EPOCH)])
def test_new_producer_id_when_epochs_are_used_up(expected: ProducerIdAndEpoch | None) -> None:
    metadata = a_transaction(COMPLETE_COMMIT, producer_epoch=LAST_EPOCH)
    assert transitions.needs_new_producer_id(metadata, expected)
    current = start_of(metadata, expected, new_producer_id=1234)
    assert (current.producer_id, current.producer_epoch) == (1234, 0)
    assert current.last_producer_id == 7
    assert current.last_producer_epoch == (-1 if expected is None else LAST_EPOCH)


def test_lost_answer_with_a_new_producer_id_is_given_again() -> None:
    metadata = a_transaction(producer_epoch=LAST_EPOCH)
    expected = ProducerIdAndEpoch(7, LAST_EPOCH)
    start_of(metadata, expected, new_producer_id=1234)
    assert not transitions.needs_new_producer_id(metadata, expected)
    current = start_of(metadata, expected)
    assert (current.producer_id, current.producer_epoch) == (1234, 0)


def test_one_epoch_is_kept_to_fence_the_last_producer() -> None:
    metadata = a_transaction(ONGOING, producer_epoch=LAST_EPOCH)
    assert not transitions.needs_new_producer_id(metadata, None)
    assert init(metadata).producer_epoch == LAST_EPOCH + 1


def test_largest_epoch_cannot_be_fenced() -> None:
    metadata = a_transaction(ONGOING, producer_epoch=LAST_EPOCH + 1)
    with pytest.raises(IllegalTransitionError, match="largest epoch"):
        metadata.prepare_fence_producer_epoch()


def test_fence_with_the_largest_epoch_that_was_not_written_is_tried_again() -> None:
    metadata = a_transaction(ONGOING, producer_epoch=LAST_EPOCH + 1)
    metadata.has_failed_epoch_fence = True
    assert metadata.prepare_fence_producer_epoch().producer_epoch == LAST_EPOCH + 1


def test_stale_producer_is_fenced_also_when_epochs_are_used_up() -> None:
    metadata = a_transaction(producer_epoch=LAST_EPOCH, last_producer_epoch=LAST_EPOCH - 1)
    with pytest.raises(ProducerFencedError):
        start_of(metadata, ProducerIdAndEpoch(7, LAST_EPOCH - 2))
    current = start_of(metadata, ProducerIdAndEpoch(7, LAST_EPOCH - 1))
    assert current.producer_epoch == LAST_EPOCH
