"""SyncGroup: the leader's assignment reaches every member, once it is stored."""

import pytest

from kafkalike.coordinator.group.results import JoinGroupResult
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    KafkaStorageError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RecordTooLargeError,
    RequestTimedOutError,
)
from tests.support.group_world import MOMENT_MS, REBALANCE_MS, SESSION_MS, GroupWorld, error_of
from tests.support.run import result_of


def two_joined(world: GroupWorld) -> tuple[JoinGroupResult, JoinGroupResult]:
    leader, follower = world.joined(world.join(), world.join())
    return leader, follower


def test_followers_wait_until_the_leader_has_assigned() -> None:
    world = GroupWorld()
    leader, follower = two_joined(world)
    waiting = world.sync(follower.member_id, 1)
    assert not waiting.called
    assignment = {leader.member_id: b"one", follower.member_id: b"two"}
    answer = result_of(world.sync(leader.member_id, 1, assignment))
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"one")
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert result_of(waiting).assignment == b"two"
    assert world.state() == "Stable"


def test_follower_that_syncs_late_gets_its_assignment_at_once() -> None:
    world = GroupWorld()
    leader, follower = two_joined(world)
    world.sync(leader.member_id, 1, {follower.member_id: b"two"})
    assert result_of(world.sync(follower.member_id, 1)).assignment == b"two"


def test_member_that_the_leader_forgot_gets_nothing() -> None:
    world = GroupWorld()
    leader, follower = two_joined(world)
    world.sync(leader.member_id, 1, {leader.member_id: b"all"})
    answer = result_of(world.sync(follower.member_id, 1))
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")


def test_nobody_is_answered_before_the_assignment_is_stored() -> None:
    world = GroupWorld()
    leader, follower = two_joined(world)
    waiting = world.sync(follower.member_id, 1)
    world.replicas.is_holding = True
    syncing = world.sync(leader.member_id, 1, {})
    assert not waiting.called
    assert world.state() == "CompletingRebalance"
    world.replicas.release()
    world.advance_ms(0)
    assert syncing.called
    assert waiting.called
    assert world.state() == "Stable"


def test_assignment_stored_too_late_for_its_generation_is_dropped() -> None:
    """The generation is checked again after the await."""
    world = GroupWorld()
    leader, follower = two_joined(world)
    world.replicas.is_holding = True
    syncing = world.sync(leader.member_id, 1, {leader.member_id: b"stale"})
    world.join()
    assert error_of(syncing) is ErrorCode.REBALANCE_IN_PROGRESS
    world.join(leader.member_id)
    world.join(follower.member_id)
    assert world.group().generation_id == 2
    world.replicas.release()
    world.advance_ms(0)
    assert world.state() == "CompletingRebalance"
    assert world.group().members[leader.member_id].assignment == b""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NotEnoughReplicasError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotLeaderOrFollowerError(), ErrorCode.NOT_COORDINATOR),
        (KafkaStorageError(), ErrorCode.NOT_COORDINATOR),
        (RequestTimedOutError(), ErrorCode.REBALANCE_IN_PROGRESS),
        (RecordTooLargeError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_assignment_that_cannot_be_stored_begins_a_new_rebalance(
    error: KafkaError, told: ErrorCode
) -> None:
    world = GroupWorld()
    leader, follower = two_joined(world)
    waiting = world.sync(follower.member_id, 1)
    world.replicas.error = error
    syncing = world.sync(leader.member_id, 1, {leader.member_id: b"x", follower.member_id: b"y"})
    assert (error_of(syncing), error_of(waiting)) == (told, told)
    assert world.state() == "PreparingRebalance"


def test_member_that_never_syncs_is_out_after_the_rebalance_timeout() -> None:
    world = GroupWorld()
    leader, follower = world.joined(world.join(session_ms=600_000), world.join(session_ms=600_000))
    world.sync(leader.member_id, 1, {})
    assert world.state() == "Stable"
    world.advance_ms(REBALANCE_MS - MOMENT_MS)
    assert world.state() == "Stable"
    world.advance_ms(MOMENT_MS)
    assert world.state() == "PreparingRebalance"
    assert list(world.group().members) == [leader.member_id]
    assert world.heartbeat(follower.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_leader_that_never_syncs_is_out_and_the_others_begin_again() -> None:
    world = GroupWorld()
    leader, follower = world.joined(world.join(session_ms=600_000), world.join(session_ms=600_000))
    waiting = world.sync(follower.member_id, 1)
    world.advance_ms(REBALANCE_MS)
    assert error_of(waiting) is ErrorCode.REBALANCE_IN_PROGRESS
    answer = result_of(world.join(follower.member_id))
    assert answer.leader_id == follower.member_id
    assert leader.member_id not in world.group().members


def test_member_that_waits_for_its_assignment_need_not_send_heartbeats() -> None:
    world = GroupWorld()
    leader, follower = two_joined(world)
    waiting = world.sync(follower.member_id, 1)
    world.advance_ms(SESSION_MS - MOMENT_MS)
    world.heartbeat(leader.member_id, 1)
    world.advance_ms(SESSION_MS - MOMENT_MS)
    assert follower.member_id in world.group().members
    world.sync(leader.member_id, 1, {follower.member_id: b"late"})
    assert result_of(waiting).assignment == b"late"
    world.advance_ms(SESSION_MS)
    assert follower.member_id not in world.group().members


# --- refused


def test_sync_of_another_generation_is_refused() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    assert error_of(world.sync(member.member_id, 2)) is ErrorCode.ILLEGAL_GENERATION


def test_sync_of_somebody_else_is_refused() -> None:
    world = GroupWorld()
    assert error_of(world.sync("m", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    world.stable_group()
    assert error_of(world.sync("m", 1)) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("field", ["protocol_type", "protocol_name"])
def test_sync_with_another_protocol_is_refused(field: str) -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    wrong = world.sync(member.member_id, 1, **{field: "other"})
    assert error_of(wrong) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    right = world.sync(member.member_id, 1, protocol_type="consumer", protocol_name="range")
    assert error_of(right) is ErrorCode.NONE


def test_sync_during_a_rebalance_is_refused() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.join()
    assert error_of(world.sync(member.member_id, 1)) is ErrorCode.REBALANCE_IN_PROGRESS
