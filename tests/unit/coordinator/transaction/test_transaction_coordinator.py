"""The transaction coordinator on a clock: producers, transactions, time-outs, elections."""

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.coordinator.transaction.transaction_records import transaction_batch
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.coordinator.transaction.transitions import ProducerIdAndEpoch
from kafkalike.protocol.errors import (
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    ErrorCode,
    InvalidPidMappingError,
    InvalidRequestError,
    InvalidTxnStateError,
    InvalidTxnTimeoutError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    ProducerFencedError,
)
from kafkalike.zk.znodes import ProducerIdBlock
from tests.support.log_builder import append
from tests.support.run import result_of, run, start
from tests.support.transactions import (
    OTHER_PARTITION,
    PARTITION,
    TIMEOUT_MS,
    TXN_ID,
    TransactionWorld,
    a_transaction,
)

BOTH = {PARTITION, OTHER_PARTITION}
EPOCH = 4
LAST_EPOCH = 32766
ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
PREPARE_ABORT = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT


@pytest.fixture
def world(tmp_path: Path) -> TransactionWorld:
    made = TransactionWorld(tmp_path)
    made.elect(EPOCH)
    return made


def begin_init(
    world: TransactionWorld,
    transactional_id: str | None = TXN_ID,
    *,
    timeout_ms: int = TIMEOUT_MS,
    expected: ProducerIdAndEpoch | None = None,
) -> "Deferred[ProducerIdAndEpoch]":
    return start(world.coordinator.init_producer_id(transactional_id, timeout_ms, expected))


def init(world: TransactionWorld, *args: Any, **kwargs: Any) -> ProducerIdAndEpoch:
    return result_of(begin_init(world, *args, **kwargs))


def add(world: TransactionWorld, producer: ProducerIdAndEpoch, partitions: Any = BOTH) -> None:
    run(world.coordinator.add_partitions(TXN_ID, producer, partitions))


def end(world: TransactionWorld, producer: ProducerIdAndEpoch, *, is_commit: bool = True) -> None:
    run(world.coordinator.end_transaction(TXN_ID, producer, is_commit=is_commit))


def hold_markers(world: TransactionWorld) -> None:
    """Let no partition have its marker for the time being."""
    for sender in world.senders.values():
        sender.held = deque()


def release_markers(world: TransactionWorld) -> None:
    for sender in world.senders.values():
        held, sender.held = sender.held, None
        for one in held or ():
            one.callback(None)


# --- producers


def test_idempotent_producers_need_no_partition_of_the_log(tmp_path: Path) -> None:
    world = TransactionWorld(tmp_path)
    assert [init(world, None) for _ in range(3)] == [(0, 0), (1, 0), (2, 0)]
    assert world.replicas.written() == []


def test_new_transactional_id_is_written_down(world: TransactionWorld) -> None:
    assert init(world) == (0, 0)
    ((name, current),) = world.replicas.written()
    assert name == TXN_ID
    assert current is not None
    assert (current.producer_id, current.producer_epoch) == (0, 0)
    assert (current.txn_state, current.txn_timeout_ms) == (TransactionState.EMPTY, TIMEOUT_MS)


def test_every_start_raises_the_epoch(world: TransactionWorld) -> None:
    assert [init(world) for _ in range(3)] == [(0, 0), (0, 1), (0, 2)]


def test_two_producers_that_start_at_the_same_time_get_different_epochs(
    world: TransactionWorld,
) -> None:
    held: Deferred[None] = Deferred()
    world.blocks.held = held
    asking = [begin_init(world), begin_init(world)]
    held.callback(None)
    producers = [result_of(one) for one in asking]
    assert len(set(producers)) == 2
    assert len({one.producer_id for one in producers}) == 1


def test_producer_that_starts_while_another_is_written_tries_again(world: TransactionWorld) -> None:
    world.replicas.hold()
    first = begin_init(world)
    with pytest.raises(ConcurrentTransactionsError):
        init(world)
    world.replicas.release()
    assert result_of(first) == (0, 0)


@pytest.mark.parametrize("transactional_id", [""])
def test_empty_id_is_refused(world: TransactionWorld, transactional_id: str) -> None:
    producer = ProducerIdAndEpoch(0, 0)
    with pytest.raises(InvalidRequestError):
        init(world, transactional_id)
    with pytest.raises(InvalidRequestError):
        run(world.coordinator.add_partitions(transactional_id, producer, BOTH))
    with pytest.raises(InvalidRequestError):
        run(world.coordinator.end_transaction(transactional_id, producer, is_commit=True))


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeout_must_be_possible(world: TransactionWorld, timeout_ms: int) -> None:
    with pytest.raises(InvalidTxnTimeoutError, match="900000"):
        init(world, timeout_ms=timeout_ms)
    assert init(world, timeout_ms=900_000) == (0, 0)


def test_other_broker_coordinates(tmp_path: Path) -> None:
    world = TransactionWorld(tmp_path)
    producer = ProducerIdAndEpoch(0, 0)
    with pytest.raises(NotCoordinatorError):
        init(world)
    with pytest.raises(NotCoordinatorError):
        add(world, producer)
    with pytest.raises(NotCoordinatorError):
        end(world, producer)


def test_answer_that_got_lost_is_given_again(world: TransactionWorld) -> None:
    """A producer goes on after an error (KIP-360)."""
    first = init(world)
    second = init(world, expected=first)
    assert second == (0, 1)
    assert init(world, expected=first) == second
    assert init(world, expected=second) == (0, 2)
    with pytest.raises(ProducerFencedError):
        init(world, expected=first)


def test_id_that_is_not_written_is_given_again(world: TransactionWorld) -> None:
    world.replicas.errors.append(NotEnoughReplicasError())
    with pytest.raises(CoordinatorNotAvailableError):
        init(world)
    assert init(world) == (0, 0)


def test_producer_with_used_up_epochs_gets_another_id(world: TransactionWorld) -> None:
    used_up = a_transaction(COMPLETE_COMMIT, producer_id=500, producer_epoch=LAST_EPOCH)
    world.store.put_if_not_exists(used_up)
    assert init(world) == (0, 0)
    assert init(world) == (0, 1)


def test_id_is_looked_at_again_when_the_new_producer_id_is_there(world: TransactionWorld) -> None:
    used_up = a_transaction(COMPLETE_COMMIT, producer_id=500, producer_epoch=LAST_EPOCH)
    world.store.put_if_not_exists(used_up)
    held: Deferred[None] = Deferred()
    world.blocks.held = held
    asking = [begin_init(world), begin_init(world)]
    held.callback(None)
    assert sorted(map(result_of, asking)) in ([(0, 0), (0, 1)], [(1, 0), (1, 1)])


def test_zookeeper_gives_a_block_before_the_first_producer_comes(world: TransactionWorld) -> None:
    world.coordinator.startup()
    assert world.blocks.latest == ProducerIdBlock(1, 0, 999)
    world.coordinator.shutdown()


# --- transactions


@pytest.mark.parametrize("is_commit", [True, False])
def test_transaction_goes_its_way(world: TransactionWorld, *, is_commit: bool) -> None:
    """The markers reach all partitions, and the log tells every step."""
    producer = init(world)
    add(world, producer, {PARTITION})
    add(world, producer, {OTHER_PARTITION})
    end(world, producer, is_commit=is_commit)
    what = "Commit" if is_commit else "Abort"
    assert world.replicas.written_states() == [
        "Empty",
        "Ongoing",
        "Ongoing",
        f"Prepare{what}",
        f"Complete{what}",
    ]
    assert world.senders[1].markers == [(0, 0, EPOCH, is_commit, [PARTITION])]
    assert world.senders[2].markers == [(0, 0, EPOCH, is_commit, [OTHER_PARTITION])]
    end(world, producer, is_commit=is_commit)
    with pytest.raises(InvalidTxnStateError):
        end(world, producer, is_commit=not is_commit)
    assert len(world.replicas.written()) == 5


def test_end_is_answered_before_the_markers_are_written(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    hold_markers(world)
    end(world, producer)
    assert world.state is PREPARE_COMMIT
    with pytest.raises(ConcurrentTransactionsError):
        add(world, producer)
    with pytest.raises(ConcurrentTransactionsError):
        end(world, producer)
    with pytest.raises(ConcurrentTransactionsError):
        init(world)
    release_markers(world)
    assert world.state is COMPLETE_COMMIT
    add(world, producer)
    assert world.state is ONGOING


def test_partitions_that_are_in_already_are_not_written_again(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    add(world, producer, {PARTITION})
    assert world.replicas.written_states() == ["Empty", "Ongoing"]


def test_end_without_a_transaction_is_refused(world: TransactionWorld) -> None:
    producer = init(world)
    with pytest.raises(InvalidTxnStateError):
        end(world, producer)


def test_unknown_id_has_no_transaction(world: TransactionWorld) -> None:
    producer = ProducerIdAndEpoch(0, 0)
    with pytest.raises(InvalidPidMappingError):
        add(world, producer)
    with pytest.raises(InvalidPidMappingError):
        end(world, producer)


def test_end_that_is_not_written_can_be_tried_again(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    world.replicas.errors.append(NotEnoughReplicasError())
    with pytest.raises(CoordinatorNotAvailableError):
        end(world, producer)
    assert world.state is ONGOING
    assert world.senders[1].requests == []
    end(world, producer)
    assert world.state is COMPLETE_COMMIT


# --- fencing


def test_new_producer_aborts_what_the_former_one_left_open(world: TransactionWorld) -> None:
    """A zombie can neither add to its transaction nor commit it."""
    zombie = init(world)
    add(world, zombie)
    with pytest.raises(ConcurrentTransactionsError):
        init(world)
    assert world.state is COMPLETE_ABORT
    # The marker bears the raised epoch, which fences the zombie's batches in the partitions too.
    assert world.senders[1].markers == [(0, 1, EPOCH, False, [PARTITION])]
    assert init(world) == (0, 2)
    with pytest.raises(ProducerFencedError):
        add(world, zombie)
    with pytest.raises(ProducerFencedError):
        end(world, zombie)


def test_fence_that_is_not_written_is_tried_again_with_the_same_epoch(
    world: TransactionWorld,
) -> None:
    zombie = init(world)
    add(world, zombie)
    for _ in range(3):
        world.replicas.errors.append(NotEnoughReplicasError())
        with pytest.raises(CoordinatorNotAvailableError):
            init(world)
    assert world.state is ONGOING
    assert world.metadata().producer_epoch == 1
    with pytest.raises(ConcurrentTransactionsError):
        init(world)
    assert world.senders[1].markers == [(0, 1, EPOCH, False, [PARTITION])]
    assert init(world) == (0, 2)
    assert not world.metadata().has_failed_epoch_fence


def test_last_epoch_can_be_fenced_and_then_there_is_another_id(world: TransactionWorld) -> None:
    world.store.put_if_not_exists(
        a_transaction(ONGOING, producer_id=500, producer_epoch=LAST_EPOCH)
    )
    with pytest.raises(ConcurrentTransactionsError):
        init(world)
    assert world.senders[1].markers == [(500, LAST_EPOCH + 1, EPOCH, False, [PARTITION])]
    assert init(world) == (0, 0)


def test_fence_of_the_last_epoch_that_is_not_written_is_tried_again(
    world: TransactionWorld,
) -> None:
    """Else the transaction would stay open for ever, and with it all that time out after it."""
    world.store.put_if_not_exists(
        a_transaction(ONGOING, producer_id=500, producer_epoch=LAST_EPOCH)
    )
    world.replicas.errors.append(NotEnoughReplicasError())
    with pytest.raises(CoordinatorNotAvailableError):
        init(world)
    with pytest.raises(ConcurrentTransactionsError):
        init(world)
    assert world.senders[1].markers == [(500, LAST_EPOCH + 1, EPOCH, False, [PARTITION])]
    assert init(world) == (0, 0)


# --- time-outs


def test_transaction_that_takes_too_long_is_aborted(world: TransactionWorld) -> None:
    """Nobody can hold up those who read committed records for ever."""
    world.coordinator.startup()
    producer = init(world, timeout_ms=25_000)
    add(world, producer)
    world.advance_ms(20_000, step_ms=500)
    assert world.state is ONGOING
    world.advance_ms(10_000, step_ms=500)
    assert world.state is COMPLETE_ABORT
    assert world.senders[1].markers == [(0, 1, EPOCH, False, [PARTITION])]
    with pytest.raises(ProducerFencedError):
        end(world, producer)
    world.coordinator.shutdown()


def test_more_partitions_do_not_prolong_a_transaction(world: TransactionWorld) -> None:
    world.coordinator.startup()
    producer = init(world, timeout_ms=25_000)
    add(world, producer, {PARTITION})
    world.advance_ms(20_000, step_ms=500)
    add(world, producer, {OTHER_PARTITION})
    world.advance_ms(10_000, step_ms=500)
    assert world.state is COMPLETE_ABORT
    world.coordinator.shutdown()


def test_abort_that_is_not_written_is_tried_at_the_next_round(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    world.clock.advance(TIMEOUT_MS / 1000 + 1)
    world.replicas.errors.append(NotEnoughReplicasError())
    run(world.coordinator.abort_timed_out_transactions())
    assert world.state is ONGOING
    run(world.coordinator.abort_timed_out_transactions())
    assert world.state is COMPLETE_ABORT
    assert world.metadata().producer_epoch == 1


def test_transaction_that_is_being_committed_does_not_time_out(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    hold_markers(world)
    end(world, producer)
    world.clock.advance(TIMEOUT_MS / 1000 + 1)
    run(world.coordinator.abort_timed_out_transactions())
    release_markers(world)
    assert world.state is COMPLETE_COMMIT


# --- the coordinator moves, in every state


def fail_over(world: TransactionWorld) -> None:
    """Let the broker die, and the next one load what is in the log."""
    world.coordinator.shutdown()
    for sender in world.senders.values():
        sender.requests.clear()
        sender.held = None
    world.start()
    world.elect(EPOCH + 1)


def write(world: TransactionWorld, state: TransactionState, **fields: Any) -> None:
    current = a_transaction(state, **fields).current
    log = next(iter(world.replicas.logs.values()))
    append(log, memoryview(transaction_batch(TXN_ID, current, world.time.now_ms())))


@pytest.mark.parametrize(
    ("state", "becomes", "is_commit"),
    [
        (TransactionState.EMPTY, TransactionState.EMPTY, None),
        (ONGOING, ONGOING, None),
        (PREPARE_COMMIT, COMPLETE_COMMIT, True),
        (PREPARE_ABORT, COMPLETE_ABORT, False),
        (COMPLETE_COMMIT, COMPLETE_COMMIT, None),
        (COMPLETE_ABORT, COMPLETE_ABORT, None),
    ],
)
def test_next_coordinator_goes_on_from_what_is_written(
    world: TransactionWorld,
    state: TransactionState,
    becomes: TransactionState,
    is_commit: bool | None,
) -> None:
    """What was decided is carried out, what was not stays open."""
    write(world, state)
    fail_over(world)
    assert world.state is becomes
    expected = [] if is_commit is None else [(7, 3, EPOCH + 1, is_commit, [PARTITION])]
    assert world.senders[1].markers == expected


def test_open_transaction_can_be_committed_with_the_next_coordinator(
    world: TransactionWorld,
) -> None:
    producer = init(world)
    add(world, producer)
    fail_over(world)
    end(world, producer)
    assert world.state is COMPLETE_COMMIT
    assert world.senders[2].markers == [(0, 0, EPOCH + 1, True, [OTHER_PARTITION])]


def test_open_transaction_times_out_with_the_next_coordinator(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    fail_over(world)
    world.clock.advance(TIMEOUT_MS / 1000 + 1)
    run(world.coordinator.abort_timed_out_transactions())
    assert world.state is COMPLETE_ABORT


def test_markers_that_were_on_their_way_are_sent_again_by_the_next(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    world.senders[2].codes[OTHER_PARTITION] = deque([ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3)
    end(world, producer, is_commit=False)
    fail_over(world)
    world.advance_ms(1_000)
    assert world.state is COMPLETE_ABORT
    assert {marker[2] for marker in world.senders[2].markers} == {EPOCH + 1}


def test_fence_is_lost_with_its_coordinator_unless_it_is_written(world: TransactionWorld) -> None:
    producer = init(world)
    add(world, producer)
    world.replicas.errors.append(NotEnoughReplicasError())
    with pytest.raises(CoordinatorNotAvailableError):
        init(world)
    fail_over(world)
    assert world.metadata().producer_epoch == 0
    end(world, producer)


def test_requests_wait_until_the_partition_is_loaded(world: TransactionWorld) -> None:
    write(world, ONGOING)
    world.coordinator.on_resignation(0, EPOCH + 1)
    world.coordinator.on_election(0, EPOCH + 2)
    with pytest.raises(CoordinatorLoadInProgressError):
        init(world)
    world.settle()
    with pytest.raises(ConcurrentTransactionsError):
        init(world)


def test_stopped_coordinator_does_nothing_more(world: TransactionWorld) -> None:
    world.coordinator.startup()
    producer = init(world)
    add(world, producer)
    world.coordinator.shutdown()
    world.advance_ms(TIMEOUT_MS * 2, step_ms=1000)
    assert world.state is ONGOING
