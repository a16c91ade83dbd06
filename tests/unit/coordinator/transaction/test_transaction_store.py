"""The store of transactional ids: loading, writing, and who coordinates."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalike.coordinator.transaction.transaction_metadata import TransactionMetadata
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.protocol.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvalidRequiredAcksError,
    KafkaError,
    KafkaStorageError,
    NotCoordinatorError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    RequestTimedOutError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from tests.support.golden import partition_dir
from tests.support.log_builder import NOW_MS, a_batch, append
from tests.support.run import result_of, start
from tests.support.transactions import (
    OTHER_PARTITION,
    PARTITION,
    TIMEOUT_MS,
    TXN_ID,
    TransactionWorld,
    a_transaction,
)

ONGOING = TransactionState.ONGOING
EPOCH = 4


@pytest.fixture
def world(tmp_path: Path) -> TransactionWorld:
    made = TransactionWorld(tmp_path)
    made.elect(EPOCH)
    return made


@pytest.fixture
def metadata(world: TransactionWorld) -> TransactionMetadata:
    return world.store.put_if_not_exists(a_transaction(ONGOING)).metadata


# --- writing


def test_written_change_takes_effect_when_it_is_acknowledged(
    world: TransactionWorld, metadata: TransactionMetadata
) -> None:
    world.replicas.hold()
    transit = metadata.prepare_add_partitions({OTHER_PARTITION}, NOW_MS)
    appending = start(world.store.append(TXN_ID, EPOCH, transit))
    assert metadata.topic_partitions == {PARTITION}
    assert metadata.pending_state is ONGOING
    world.replicas.release()
    result_of(appending)
    assert metadata.topic_partitions == {PARTITION, OTHER_PARTITION}
    assert metadata.pending_state is None
    assert world.replicas.written() == [(TXN_ID, metadata.current)]
    assert world.replicas.timeouts == [TIMEOUT_MS]


@pytest.mark.parametrize(
    ("of_the_log", "told"),
    [
        (UnknownTopicOrPartitionError, CoordinatorNotAvailableError),
        (NotEnoughReplicasError, CoordinatorNotAvailableError),
        (NotEnoughReplicasAfterAppendError, CoordinatorNotAvailableError),
        (RequestTimedOutError, CoordinatorNotAvailableError),
        (NotLeaderOrFollowerError, NotCoordinatorError),
        (KafkaStorageError, NotCoordinatorError),
        (RecordTooLargeError, UnknownServerError),
        (RecordBatchTooLargeError, UnknownServerError),
        (InvalidRequiredAcksError, InvalidRequiredAcksError),
    ],
)
def test_change_that_cannot_be_written_is_given_up(
    world: TransactionWorld,
    metadata: TransactionMetadata,
    of_the_log: type[KafkaError],
    told: type[KafkaError],
) -> None:
    before = metadata.current
    transit = metadata.prepare_add_partitions({OTHER_PARTITION}, NOW_MS)
    world.replicas.errors.append(of_the_log())
    with pytest.raises(KafkaError) as raised:
        result_of(start(world.store.append(TXN_ID, EPOCH, transit)))
    assert type(raised.value) is told
    assert metadata.current == before
    assert metadata.pending_state is None


@pytest.mark.parametrize(
    ("error", "stays"), [(NotEnoughReplicasError(), True), (NotLeaderOrFollowerError(), False)]
)
def test_change_that_will_be_tried_again_stays_pending(
    world: TransactionWorld, metadata: TransactionMetadata, error: KafkaError, *, stays: bool
) -> None:
    transit = metadata.prepare_add_partitions({OTHER_PARTITION}, NOW_MS)
    world.replicas.errors.append(error)
    with pytest.raises(KafkaError):
        result_of(start(world.store.append(TXN_ID, EPOCH, transit, is_retried=True)))
    assert (metadata.pending_state is ONGOING) == stays


def test_former_coordinator_writes_nothing(
    world: TransactionWorld, metadata: TransactionMetadata
) -> None:
    transit = metadata.prepare_add_partitions({OTHER_PARTITION}, NOW_MS)
    with pytest.raises(NotCoordinatorError):
        result_of(start(world.store.append(TXN_ID, EPOCH - 1, transit)))
    assert world.replicas.written() == []


def _resign(world: TransactionWorld) -> None:
    world.coordinator.on_resignation(0, EPOCH + 1)


def _come_back(world: TransactionWorld) -> None:
    _resign(world)
    world.elect(EPOCH + 2)


def _come_back_and_load(world: TransactionWorld) -> None:
    _resign(world)
    world.coordinator.on_election(0, EPOCH + 2)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (_resign, NotCoordinatorError),
        (_come_back, NotCoordinatorError),
        (_come_back_and_load, CoordinatorLoadInProgressError),
    ],
)
def test_partition_that_moves_during_a_write_is_up_to_the_next_coordinator(
    world: TransactionWorld,
    metadata: TransactionMetadata,
    what: Callable[[TransactionWorld], None],
    told: type[KafkaError],
) -> None:
    world.replicas.hold()
    transit = metadata.prepare_add_partitions({OTHER_PARTITION}, NOW_MS)
    appending = start(world.store.append(TXN_ID, EPOCH, transit))
    what(world)
    world.replicas.release()
    with pytest.raises(told):
        result_of(appending)
    assert metadata.topic_partitions == {PARTITION}


# --- who coordinates


def test_partition_that_is_not_led_here_has_no_coordinator_here(tmp_path: Path) -> None:
    world = TransactionWorld(tmp_path)
    with pytest.raises(NotCoordinatorError, match="__transaction_state-0"):
        world.store.get(TXN_ID)


def test_partition_that_is_loaded_must_be_waited_for(tmp_path: Path) -> None:
    world = TransactionWorld(tmp_path)
    append(world.replicas.lead(0), a_batch([None], keys=[b"\0\0\0\1x"]))
    world.coordinator.on_election(0, EPOCH)
    with pytest.raises(CoordinatorLoadInProgressError, match="__transaction_state-0"):
        world.store.get(TXN_ID)
    world.settle()
    assert world.store.get(TXN_ID) is None


def test_id_is_taken_in_once(world: TransactionWorld, metadata: TransactionMetadata) -> None:
    second = world.store.put_if_not_exists(a_transaction())
    assert second.metadata is metadata
    assert second.coordinator_epoch == EPOCH


# --- loading


def test_last_record_of_each_id_counts(world: TransactionWorld) -> None:
    for name, state in (("a", ONGOING), ("b", ONGOING), ("a", TransactionState.PREPARE_COMMIT)):
        metadata = a_transaction(state, transactional_id=name)
        result_of(start(world.store._append(name, metadata.current)))
    world.coordinator.on_resignation(0, EPOCH + 1)
    world.markers.shutdown()
    world.elect(EPOCH + 2)
    assert {m.transactional_id: m.state for m in world.store.all()} == {
        "a": TransactionState.PREPARE_COMMIT,
        "b": ONGOING,
    }


def test_tombstone_forgets_an_id(world: TransactionWorld) -> None:
    result_of(start(world.store._append("gone", a_transaction().current)))
    append(world.replicas.lead(0), a_batch([None], keys=[b"\0\0\0\4gone"]))
    world.coordinator.on_resignation(0, EPOCH + 1)
    world.elect(EPOCH + 2)
    assert list(world.store.all()) == []


def test_golden_log_is_loaded(tmp_path: Path) -> None:
    shutil.copytree(partition_dir("__transaction_state-1"), tmp_path / "__transaction_state-0")
    world = TransactionWorld(tmp_path)
    world.elect(EPOCH)
    metadata = world.metadata("txn-dangling")
    assert metadata.state is TransactionState.COMPLETE_ABORT
    assert (metadata.producer_id, metadata.producer_epoch) == (2000, 3)


def test_load_that_is_overtaken_leaves_nothing(world: TransactionWorld) -> None:
    result_of(start(world.store._append("a", a_transaction().current)))
    world.coordinator.on_resignation(0, EPOCH + 1)
    world.coordinator.on_election(0, EPOCH + 2)
    world.coordinator.on_resignation(0, EPOCH + 3)
    world.settle()
    with pytest.raises(NotCoordinatorError):
        world.store.get("a")


def test_record_that_cannot_be_read_does_not_stop_the_coordinator(world: TransactionWorld) -> None:
    result_of(start(world.store._append("a", a_transaction().current)))
    append(world.replicas.lead(0), a_batch([b"value"], keys=[b"\0\x09rubbish"]))
    world.coordinator.on_resignation(0, EPOCH + 1)
    world.elect(EPOCH + 2)
    assert [m.transactional_id for m in world.store.all()] == ["a"]


def test_leader_that_stays_leader_keeps_its_epoch_and_its_ids(
    world: TransactionWorld, metadata: TransactionMetadata
) -> None:
    world.elect(EPOCH + 1)
    known = world.store.get(TXN_ID)
    assert known is not None
    assert known.coordinator_epoch == EPOCH
    assert known.metadata is metadata
