"""Transactional ids that nobody uses are forgotten."""

from pathlib import Path

import pytest

from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.model.topic import TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import NotEnoughReplicasError
from tests.support.log_builder import batches_of
from tests.support.run import result_of, run, start
from tests.support.transactions import TXN_ID, TransactionWorld, a_transaction

EXPIRATION_MS = 604_800_000
LOG = TopicPartition(TRANSACTION_STATE_TOPIC, 0)


@pytest.fixture
def world(tmp_path: Path) -> TransactionWorld:
    made = TransactionWorld(tmp_path)
    made.elect()
    return made


def expire(world: TransactionWorld) -> None:
    run(world.coordinator._expiry.remove_expired_transactional_ids())


def ids(world: TransactionWorld) -> set[str]:
    return {metadata.transactional_id for metadata in world.store.all()}


@pytest.mark.parametrize("state", TransactionState)
def test_id_at_rest_is_forgotten_after_a_week(
    world: TransactionWorld, state: TransactionState
) -> None:
    world.store.put_if_not_exists(a_transaction(state))
    world.clock.advance(EXPIRATION_MS / 1000 - 1)
    expire(world)
    assert ids(world) == {TXN_ID}
    world.clock.advance(1)
    expire(world)
    is_at_rest = state.is_expiration_allowed
    assert ids(world) == (set() if is_at_rest else {TXN_ID})
    assert world.replicas.written() == ([(TXN_ID, None)] if is_at_rest else [])


def test_expiry_is_looked_for_every_hour(world: TransactionWorld) -> None:
    world.coordinator.startup()
    world.store.put_if_not_exists(a_transaction(now_ms=world.time.now_ms() - EXPIRATION_MS))
    world.advance_ms(3_599_000, step_ms=1_000)
    assert ids(world) == {TXN_ID}
    world.advance_ms(2_000, step_ms=1_000)
    assert ids(world) == set()
    world.coordinator.shutdown()


def test_id_stays_if_the_tombstone_is_not_written(world: TransactionWorld) -> None:
    world.store.put_if_not_exists(a_transaction())
    world.clock.advance(EXPIRATION_MS / 1000)
    world.replicas.errors.append(NotEnoughReplicasError())
    expire(world)
    assert not world.metadata().is_transition_pending
    expire(world)
    assert ids(world) == set()


def test_nobody_can_use_an_id_while_it_dies(world: TransactionWorld) -> None:
    world.store.put_if_not_exists(a_transaction())
    world.clock.advance(EXPIRATION_MS / 1000)
    world.replicas.hold()
    dying = start(world.coordinator._expiry.remove_expired_transactional_ids())
    assert world.metadata().pending_state is TransactionState.DEAD
    world.replicas.release()
    result_of(dying)
    assert ids(world) == set()


def test_partition_that_moves_away_meanwhile_is_left_alone(world: TransactionWorld) -> None:
    world.store.put_if_not_exists(a_transaction())
    world.clock.advance(EXPIRATION_MS / 1000)
    world.replicas.hold()
    dying = start(world.coordinator._expiry.remove_expired_transactional_ids())
    world.coordinator.on_resignation(0, 1)
    world.replicas.release()
    result_of(dying)
    assert ids(world) == set()


def test_many_ids_go_in_batches_that_the_log_takes(tmp_path: Path) -> None:
    world = TransactionWorld(tmp_path)
    world.replicas.lead(0, max_message_bytes=1_000)
    world.elect()
    for number in range(200):
        world.store.put_if_not_exists(a_transaction(transactional_id=f"id-{number}"))
    world.clock.advance(EXPIRATION_MS / 1000)
    expire(world)
    assert ids(world) == set()
    assert len(world.replicas.written()) == 200
    sizes = [len(batch) for _, batch in batches_of(world.replicas.logs[LOG])]
    assert max(sizes) <= 1_000
    assert len(sizes) < 20


def test_partition_without_a_log_is_skipped(world: TransactionWorld) -> None:
    world.store.put_if_not_exists(a_transaction())
    world.clock.advance(EXPIRATION_MS / 1000)
    world.replicas.logs.clear()
    expire(world)
    assert ids(world) == {TXN_ID}
