"""Committing, fetching, deleting and expiring offsets, on a clock and over logs in memory."""

import pytest

from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import decode_group_key
from kafkalike.protocol.errors import (
    ErrorCode,
    InvalidProducerEpochError,
    KafkaError,
    KafkaStorageError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from kafkalike.protocol.messages.coordinator_records import OffsetCommitKey
from tests.support.group_world import ORDERS, GroupWorld, MemoryLog
from tests.support.run import result_of, run

OTHER = TopicPartition("other", 2)
PID = 42
MINUTE_MS = 60_000
SHORT = {"offsets.retention.minutes": "1"}


# --- who may commit


def test_member_of_the_generation_may_commit() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    assert world.commit(7, member.member_id, 1) is ErrorCode.NONE
    assert world.committed() == 7


def test_who_only_stores_offsets_needs_no_membership() -> None:
    world = GroupWorld()
    assert world.commit(7) is ErrorCode.NONE
    assert world.committed() == 7
    assert world.state() == "Empty"
    assert world.group().generation_id == 0


def test_group_without_a_name_may_store_offsets() -> None:
    world = GroupWorld()
    assert world.commit(7, group_id="") is ErrorCode.NONE
    assert world.committed("") == 7


def test_commit_of_a_generation_that_is_forgotten_is_refused() -> None:
    assert GroupWorld().commit(7, "m", 1) is ErrorCode.ILLEGAL_GENERATION


def test_commit_of_another_generation_is_refused() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    assert world.commit(7, member.member_id, 0) is ErrorCode.ILLEGAL_GENERATION
    assert world.commit(7, member.member_id, 2) is ErrorCode.ILLEGAL_GENERATION
    assert world.committed() is None


def test_stranger_may_not_commit_to_a_group_with_members() -> None:
    world = GroupWorld()
    world.stable_group()
    assert world.commit(7) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit(7, "m", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_may_commit_while_it_is_called_to_join_again() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.join()
    assert world.state() == "PreparingRebalance"
    assert world.commit(7, member.member_id, 1) is ErrorCode.NONE


def test_member_may_not_commit_before_it_knows_its_assignment() -> None:
    world = GroupWorld()
    (member,) = world.joined(world.join())
    assert world.commit(7, member.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


# --- storing


def test_commit_asks_the_log_for_what_is_configured() -> None:
    world = GroupWorld({"offsets.commit.required.acks": "1", "offsets.commit.timeout.ms": "1234"})
    world.commit(7)
    assert world.replicas.asked == [(1, 1234, AppendOrigin.COORDINATOR)]
    world = GroupWorld()
    world.commit(7)
    assert world.replicas.asked == [(-1, 5000, AppendOrigin.COORDINATOR)]


def test_offset_counts_once_all_in_sync_replicas_have_it() -> None:
    """M60: a commit is durable before it is acknowledged."""
    world = GroupWorld()
    world.commit(1)
    world.replicas.is_holding = True
    committing = world.begin_commit(2)
    assert not committing.called
    assert world.committed() == 1
    assert world.committed(require_stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    world.replicas.release()
    assert result_of(committing) == {ORDERS: ErrorCode.NONE}
    assert world.committed(require_stable=True) == 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UnknownTopicOrPartitionError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotEnoughReplicasError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotEnoughReplicasAfterAppendError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotLeaderOrFollowerError(), ErrorCode.NOT_COORDINATOR),
        (KafkaStorageError(), ErrorCode.NOT_COORDINATOR),
        (RecordTooLargeError(), ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (RecordBatchTooLargeError(), ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (RequestTimedOutError(), ErrorCode.REQUEST_TIMED_OUT),
    ],
)
def test_commit_that_the_log_refuses_has_no_effect(error: KafkaError, told: ErrorCode) -> None:
    world = GroupWorld()
    world.commit(1)
    world.replicas.error = error
    assert world.commit(2) is told
    assert world.committed(require_stable=True) == 1


def test_commit_fails_where_the_partition_is_not_here() -> None:
    world = GroupWorld()
    world.replicas.logs.clear()
    assert world.commit(2) is ErrorCode.NOT_COORDINATOR


def test_metadata_that_is_too_long_is_refused_and_leaves_nothing_behind() -> None:
    world = GroupWorld({"offset.metadata.max.bytes": "3"})
    assert world.commit(1, metadata="1234") is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert world.committed(require_stable=True) is None
    assert world.commit(2, metadata="123") is ErrorCode.NONE
    _, found = world.coordinator.fetch_offsets("g", None, require_stable=False)
    value = found[ORDERS]
    assert isinstance(value, OffsetAndMetadata)
    assert value.metadata == "123"


def test_batch_of_a_commit_is_kafkas_to_the_header() -> None:
    world = GroupWorld()
    world.commit(7)
    ((header, (record,)),) = world.log_of().batches()
    assert (header.base_sequence, header.producer_id, header.is_transactional) == (0, -1, False)
    assert record.timestamp == world.now_ms
    assert record.key is not None
    key = decode_group_key(record.key)
    assert isinstance(key, OffsetCommitKey)
    assert (key.group, key.topic, key.partition) == ("g", "orders", 0)


def test_commits_are_compressed_as_configured() -> None:
    world = GroupWorld({"offsets.topic.compression.codec": "1"})
    world.commit(7)
    ((header, _),) = world.log_of().batches()
    assert header.attributes & 7 == 1


def test_message_format_of_the_topic_is_kept() -> None:
    world = GroupWorld()
    partition = TopicPartition("__consumer_offsets", world.coordinator.partition_for("g"))
    world.replicas.logs[partition] = old = OldLog()
    assert world.commit(7) is ErrorCode.NONE
    assert old.magics == [1]
    in_txn = world.commit(8, producer_id=PID, producer_epoch=0)
    assert in_txn is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert world.committed(require_stable=True) == 7


class OldLog(MemoryLog):
    """A log of message format v1, which only looks at what it is given."""

    def __init__(self) -> None:
        super().__init__(message_format_version="0.10.2")
        self.magics: list[int] = []

    def append(self, batch: bytes) -> int:
        self.magics.append(batch[16])
        return 0


# --- fetching


def test_group_that_is_not_there_has_committed_nothing() -> None:
    world = GroupWorld()
    assert world.committed() is None
    assert world.coordinator.fetch_offsets("g", None, require_stable=False) == (
        ErrorCode.NONE,
        {},
    )


def test_all_offsets_of_a_group_can_be_asked_for() -> None:
    world = GroupWorld()
    world.commit(1)
    world.commit(2, tp=OTHER)
    _, found = world.coordinator.fetch_offsets("g", None, require_stable=False)
    assert set(found) == {ORDERS, OTHER}


def test_groups_do_not_see_each_others_offsets() -> None:
    """M59: several groups read the same topic independently."""
    world = GroupWorld()
    world.commit(1, group_id="a")
    world.commit(2, group_id="b")
    assert (world.committed("a"), world.committed("b")) == (1, 2)


# --- transactions


def test_offsets_of_a_transaction_wait_for_its_marker() -> None:
    world = GroupWorld()
    world.commit(1)
    assert world.commit(2, producer_id=PID, producer_epoch=3) is ErrorCode.NONE
    assert world.committed() == 1
    assert world.committed(require_stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    partition = world.coordinator.partition_for("g")
    world.coordinator.complete_transaction(PID, [partition], is_commit=True)
    assert world.committed(require_stable=True) == 2
    header, _ = world.log_of().batches()[-1]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (PID, 3, 0)
    assert header.is_transactional


def test_offsets_of_an_aborted_transaction_never_count() -> None:
    world = GroupWorld()
    world.commit(2, producer_id=PID, producer_epoch=3)
    partition = world.coordinator.partition_for("g")
    world.coordinator.complete_transaction(PID, [partition], is_commit=False)
    assert world.committed(require_stable=True) is None


def test_marker_ends_the_transaction_only_in_its_own_partition() -> None:
    world = GroupWorld()
    groups = ["a", "b"]
    parts = {group: world.coordinator.partition_for(group) for group in groups}
    assert parts["a"] != parts["b"]
    for group in groups:
        world.commit(5, group_id=group, producer_id=PID, producer_epoch=0)
    world.coordinator.complete_transaction(PID, [parts["a"]], is_commit=True)
    assert (world.committed("a"), world.committed("b")) == (5, None)
    world.coordinator.complete_transaction(PID, [parts["b"]], is_commit=True)
    assert world.committed("b") == 5
    world.coordinator.complete_transaction(PID, [parts["b"]], is_commit=True)  # sent once more


def test_transaction_that_the_log_refuses_is_forgotten() -> None:
    world = GroupWorld()
    world.replicas.error = NotLeaderOrFollowerError()
    told = world.commit(5, producer_id=PID, producer_epoch=0)
    assert told is ErrorCode.NOT_COORDINATOR
    world.replicas.error = None
    partition = world.coordinator.partition_for("g")
    world.coordinator.complete_transaction(PID, [partition], is_commit=True)
    assert world.committed(require_stable=True) is None


def test_commit_of_a_zombie_that_the_log_refuses_takes_nothing_away() -> None:
    world = GroupWorld()
    assert world.commit(5, producer_id=PID, producer_epoch=4) is ErrorCode.NONE
    world.replicas.error = InvalidProducerEpochError()
    zombie = world.commit(3, producer_id=PID, producer_epoch=3)
    assert zombie is ErrorCode.INVALID_PRODUCER_EPOCH
    world.replicas.error = None
    partition = world.coordinator.partition_for("g")
    world.coordinator.complete_transaction(PID, [partition], is_commit=True)
    assert world.committed(require_stable=True) == 5


def test_commit_that_comes_behind_the_marker_waits_for_the_next_one() -> None:
    world = GroupWorld()
    partition = world.coordinator.partition_for("g")
    world.replicas.is_holding = True
    late = world.begin_commit(5, producer_id=PID, producer_epoch=3)
    world.coordinator.complete_transaction(PID, [partition], is_commit=True)
    world.replicas.release()
    assert result_of(late) == {ORDERS: ErrorCode.NONE}
    assert world.committed(require_stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    world.coordinator.complete_transaction(PID, [partition], is_commit=True)
    assert world.committed(require_stable=True) == 5


def test_open_transaction_survives_the_coordinator() -> None:
    world = GroupWorld()
    world.commit(5, producer_id=PID, producer_epoch=0)
    other = GroupWorld(replicas=world.replicas)
    assert other.committed(require_stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    partition = other.coordinator.partition_for("g")
    other.coordinator.complete_transaction(PID, [partition], is_commit=True)
    assert other.committed() == 5


def test_producer_that_names_its_member_must_name_the_right_one() -> None:
    """KIP-447."""
    world = GroupWorld()
    (member,) = world.stable_group()
    txn = {"producer_id": PID, "producer_epoch": 0}
    assert world.commit(1, "m", 1, **txn) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit(1, member.member_id, 2, **txn) is ErrorCode.ILLEGAL_GENERATION
    assert world.commit(1, member.member_id, 1, **txn) is ErrorCode.NONE
    assert world.commit(1, **txn) is ErrorCode.NONE


def test_group_without_a_name_has_no_transactions() -> None:
    told = GroupWorld().commit(1, group_id="", producer_id=PID, producer_epoch=0)
    assert told is ErrorCode.INVALID_GROUP_ID


# --- deletion of offsets


def test_offsets_of_an_empty_group_can_be_deleted() -> None:
    world = GroupWorld()
    world.commit(1)
    world.commit(2, tp=OTHER)
    deleting = run(world.coordinator.delete_offsets("g", [OTHER]))
    assert deleting == (ErrorCode.NONE, {OTHER: ErrorCode.NONE})
    assert (world.committed(), world.committed(tp=OTHER)) == (1, None)
    assert world.log_of().records()[-1].value is None
    assert world.replicas.asked[-1][0] == 0


def test_offsets_of_topics_that_members_read_cannot_be_deleted() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.commit(1, member.member_id, 1)
    world.commit(2, member.member_id, 1, tp=OTHER)
    code, codes = run(world.coordinator.delete_offsets("g", [ORDERS, OTHER]))
    assert code is ErrorCode.NONE
    assert codes == {ORDERS: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, OTHER: ErrorCode.NONE}
    assert (world.committed(), world.committed(tp=OTHER)) == (1, None)


def test_offsets_of_a_group_of_another_kind_with_members_cannot_be_deleted() -> None:
    world = GroupWorld()
    world.stable_group(protocol_type="connect")
    assert run(world.coordinator.delete_offsets("g", [ORDERS])) == (
        ErrorCode.NON_EMPTY_GROUP,
        {},
    )


def test_offsets_of_no_group_cannot_be_deleted() -> None:
    delete = GroupWorld().coordinator.delete_offsets
    assert run(delete("g", [ORDERS])) == (ErrorCode.GROUP_ID_NOT_FOUND, {})
    assert run(delete("", [ORDERS])) == (ErrorCode.INVALID_GROUP_ID, {})


def test_offsets_of_deleted_topics_go_with_them() -> None:
    world = GroupWorld()
    world.commit(1)
    world.commit(2, tp=OTHER)
    world.commit(3, group_id="only-other", tp=OTHER)
    world.coordinator.partitions_deleted([OTHER])
    assert (world.committed(), world.committed(tp=OTHER)) == (1, None)
    assert world.coordinator.store.get("only-other") is None


# --- deletion of groups


def test_empty_group_is_deleted_with_its_offsets() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.commit(1, member.member_id, 1)
    world.leave(member.member_id)
    assert run(world.coordinator.delete_groups(["g"])) == {"g": ErrorCode.NONE}
    assert world.state() == "Dead"
    assert world.committed() is None
    assert [one.value for one in world.log_of().records()[-2:]] == [None, None]
    again = GroupWorld(replicas=world.replicas)
    assert again.coordinator.list_groups([]) == (ErrorCode.NONE, [])


def test_group_that_only_stored_offsets_leaves_no_tombstone_of_a_group() -> None:
    world = GroupWorld()
    world.commit(1)
    run(world.coordinator.delete_groups(["g"]))
    assert len(world.log_of().records()) == 2


def test_group_with_members_cannot_be_deleted() -> None:
    world = GroupWorld()
    world.stable_group()
    told = run(world.coordinator.delete_groups(["g", "nobody"]))
    assert told == {"g": ErrorCode.NON_EMPTY_GROUP, "nobody": ErrorCode.GROUP_ID_NOT_FOUND}
    assert world.state() == "Stable"


# --- expiry


def test_offsets_expire_after_the_retention_and_the_group_with_the_last_of_them() -> None:
    world = GroupWorld(SHORT)
    world.commit(1)
    world.advance_ms(MINUTE_MS - 1000)
    world.commit(2, tp=OTHER)
    world.expire()
    assert world.committed() == 1
    world.advance_ms(1000)
    world.expire()
    assert (world.committed(), world.committed(tp=OTHER)) == (None, 2)
    world.advance_ms(MINUTE_MS)
    world.expire()
    assert world.coordinator.store.get("g") is None
    assert GroupWorld(replicas=world.replicas).coordinator.store.groups == {}


def test_offsets_of_a_group_with_members_do_not_expire() -> None:
    world = GroupWorld(SHORT)
    (member,) = world.stable_group(session_ms=600_000)
    world.commit(1, member.member_id, 1)
    world.advance_ms(5 * MINUTE_MS)
    world.expire()
    assert world.committed() == 1
    world.leave(member.member_id)
    world.advance_ms(MINUTE_MS - 1000)
    world.expire()
    assert world.committed() == 1
    world.advance_ms(1000)
    world.expire()
    assert world.committed() is None
    assert world.state() == "Dead"


def test_group_without_offsets_dies_when_it_is_empty() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.leave(member.member_id)
    world.expire()
    assert world.state() == "Dead"
    assert GroupWorld(replicas=world.replicas).coordinator.store.groups == {}


def test_group_with_an_open_transaction_does_not_die() -> None:
    world = GroupWorld(SHORT)
    world.commit(1, producer_id=PID, producer_epoch=0)
    world.advance_ms(10 * MINUTE_MS)
    world.expire()
    assert world.state() == "Empty"


def test_expiry_goes_on_if_the_log_refuses_a_tombstone() -> None:
    world = GroupWorld(SHORT)
    world.commit(1)
    world.advance_ms(MINUTE_MS)
    world.replicas.error = KafkaStorageError()
    world.expire()
    assert world.committed() is None
