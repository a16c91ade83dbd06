"""Decided transactions are ended, whatever brokers do meanwhile."""

from collections import deque
from pathlib import Path

import pytest

from kafkalike.coordinator.transaction.transaction_metadata import TransactionMetadata
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.model.leader_and_isr import LEADER_DURING_DELETE, NO_LEADER
from kafkalike.protocol.errors import (
    ErrorCode,
    NetworkError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
)
from tests.support.transactions import (
    OTHER_PARTITION,
    PARTITION,
    FakeBrokerSender,
    TransactionWorld,
    a_broker,
    a_transaction,
    show_leaders,
)

EPOCH = 4
COMMITTED = TransactionState.COMPLETE_COMMIT


@pytest.fixture
def world(tmp_path: Path) -> TransactionWorld:
    made = TransactionWorld(tmp_path)
    made.elect(EPOCH)
    return made


def end(world: TransactionWorld, *, is_commit: bool = True) -> TransactionMetadata:
    """Begin to end a transaction with two partitions on two brokers."""
    state = TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
    metadata = a_transaction(state, topic_partitions=frozenset({PARTITION, OTHER_PARTITION}))
    world.store.put_if_not_exists(metadata)
    world.markers.add_txn_markers_to_send(
        metadata.transactional_id,
        EPOCH,
        metadata.topic_partitions,
        metadata.prepare_complete(world.time.now_ms()),
    )
    return metadata


@pytest.mark.parametrize("is_commit", [True, False])
def test_all_leaders_get_the_marker_then_the_end_is_written(
    world: TransactionWorld, *, is_commit: bool
) -> None:
    metadata = end(world, is_commit=is_commit)
    assert world.senders[1].markers == [(7, 3, EPOCH, is_commit, [PARTITION])]
    assert world.senders[2].markers == [(7, 3, EPOCH, is_commit, [OTHER_PARTITION])]
    assert metadata.state.kafka_name == ("CompleteCommit" if is_commit else "CompleteAbort")
    assert metadata.topic_partitions == frozenset()
    assert world.replicas.written_states() == [metadata.state.kafka_name]


def test_nothing_is_written_before_the_last_marker(world: TransactionWorld) -> None:
    held = world.senders[2].held = deque()
    metadata = end(world)
    assert len(world.senders[1].requests) == 1
    assert world.replicas.written() == []
    assert metadata.pending_state is COMMITTED
    held.popleft().callback(None)
    assert metadata.state is COMMITTED


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_marker_is_sent_until_it_is_written(world: TransactionWorld, code: ErrorCode) -> None:
    world.senders[2].codes[OTHER_PARTITION] = deque([code] * 3)
    metadata = end(world)
    assert metadata.state is TransactionState.PREPARE_COMMIT
    world.advance_ms(5_000)
    assert len(world.senders[2].requests) == 4
    assert len(world.senders[1].requests) == 1
    assert metadata.state is COMMITTED


@pytest.mark.parametrize(
    "code", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION]
)
def test_partition_that_cannot_have_transactions_needs_no_marker(
    world: TransactionWorld, code: ErrorCode
) -> None:
    world.senders[2].codes[OTHER_PARTITION] = deque([code])
    assert end(world).state is COMMITTED


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
def test_fenced_coordinator_gives_up(world: TransactionWorld, code: ErrorCode) -> None:
    world.senders[2].codes[OTHER_PARTITION] = deque([code])
    metadata = end(world)
    world.advance_ms(5_000)
    assert len(world.senders[2].requests) == 1
    assert metadata.state is TransactionState.PREPARE_COMMIT
    assert world.replicas.written() == []


def test_broker_that_is_away_is_asked_again(world: TransactionWorld) -> None:
    world.senders[2].errors.extend(NetworkError("gone") for _ in range(5))
    metadata = end(world)
    world.advance_ms(5_000)
    assert metadata.state is COMMITTED
    assert len(world.senders[2].requests) == 6


def test_marker_follows_the_leader(world: TransactionWorld) -> None:
    world.senders[2].codes[OTHER_PARTITION] = deque([ErrorCode.NOT_LEADER_OR_FOLLOWER])
    metadata = end(world)
    show_leaders(world.metadata_cache, {OTHER_PARTITION: 1}, [a_broker(1), a_broker(2)])
    world.advance_ms(100)
    assert world.senders[1].markers[-1] == (7, 3, EPOCH, True, [OTHER_PARTITION])
    assert metadata.state is COMMITTED


def test_partitions_whose_leaders_part_are_asked_for_apart(world: TransactionWorld) -> None:
    brokers = [a_broker(1), a_broker(2)]
    show_leaders(world.metadata_cache, {OTHER_PARTITION: 1}, brokers)
    for tp in (PARTITION, OTHER_PARTITION):
        world.senders[1].codes[tp] = deque([ErrorCode.NOT_LEADER_OR_FOLLOWER])
    metadata = end(world)
    show_leaders(world.metadata_cache, {OTHER_PARTITION: 2}, brokers)
    world.advance_ms(100)
    assert world.senders[1].markers[-1][-1] == [PARTITION]
    assert world.senders[2].markers[-1][-1] == [OTHER_PARTITION]
    assert metadata.state is COMMITTED


@pytest.mark.parametrize("leader", [NO_LEADER, 3])
def test_partition_without_a_live_leader_is_waited_for(
    world: TransactionWorld, leader: int
) -> None:
    brokers = [a_broker(1), a_broker(2)]
    show_leaders(world.metadata_cache, {OTHER_PARTITION: leader}, brokers)
    metadata = end(world)
    world.advance_ms(5_000)
    assert metadata.state is TransactionState.PREPARE_COMMIT
    show_leaders(world.metadata_cache, {OTHER_PARTITION: 2}, brokers)
    world.advance_ms(1_500)
    assert metadata.state is COMMITTED


def test_deleted_partition_needs_no_marker(world: TransactionWorld) -> None:
    show_leaders(world.metadata_cache, {OTHER_PARTITION: LEADER_DURING_DELETE}, [a_broker(1)])
    world.deleted.add(OTHER_PARTITION)
    metadata = end(world)
    assert metadata.state is COMMITTED
    assert world.senders[2].requests == []


def test_partition_that_the_metadata_do_not_have_yet_is_waited_for(world: TransactionWorld) -> None:
    """A controller just elected tells who leads the transaction log before all the rest."""
    brokers = [a_broker(1), a_broker(2)]
    show_leaders(world.metadata_cache, {OTHER_PARTITION: LEADER_DURING_DELETE}, brokers)
    metadata = end(world)
    world.advance_ms(5_000)
    assert metadata.state is TransactionState.PREPARE_COMMIT
    show_leaders(world.metadata_cache, {OTHER_PARTITION: 2}, brokers)
    world.advance_ms(1_500)
    assert metadata.state is COMMITTED
    assert len(world.senders[2].requests) == 1


def test_broker_that_comes_back_elsewhere_is_found(world: TransactionWorld) -> None:
    former = world.senders[2]
    former.held = deque()
    metadata = end(world)
    world.senders[2] = FakeBrokerSender()
    show_leaders(world.metadata_cache, {}, [a_broker(1), a_broker(2, port=9099)])
    former.held.popleft().errback(NetworkError("gone"))
    world.advance_ms(100)
    assert former.is_closed
    assert len(world.senders[2].requests) == 1
    assert metadata.state is COMMITTED


def test_end_is_written_until_the_log_takes_it(world: TransactionWorld) -> None:
    world.replicas.errors.extend([NotEnoughReplicasError(), NotEnoughReplicasError()])
    metadata = end(world)
    assert metadata.pending_state is COMMITTED
    world.advance_ms(1_000)
    assert metadata.state is COMMITTED
    assert world.replicas.written_states() == ["CompleteCommit"]
    assert len(world.senders[1].requests) == 1


def test_end_is_not_written_by_one_who_does_not_lead_the_log(world: TransactionWorld) -> None:
    world.replicas.errors.append(NotLeaderOrFollowerError())
    end(world)
    world.advance_ms(1_000)
    assert world.replicas.written() == []


@pytest.mark.parametrize("comes_back", [True, False])
def test_former_coordinator_stops(world: TransactionWorld, *, comes_back: bool) -> None:
    world.senders[2].codes[OTHER_PARTITION] = deque([ErrorCode.NOT_LEADER_OR_FOLLOWER] * 100)
    end(world)
    world.coordinator.on_resignation(0, EPOCH + 1)
    if comes_back:
        world.elect(EPOCH + 2)
    world.advance_ms(5_000)
    assert len(world.senders[2].requests) == 1
    assert world.replicas.written() == []


def test_nothing_goes_on_after_shutdown(world: TransactionWorld) -> None:
    world.senders[2].codes[OTHER_PARTITION] = deque([ErrorCode.NOT_LEADER_OR_FOLLOWER] * 100)
    end(world)
    world.markers.shutdown()
    world.advance_ms(5_000)
    assert len(world.senders[2].requests) == 1
    assert world.senders[2].is_closed
