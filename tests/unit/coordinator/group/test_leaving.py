"""Leaving a group, alone and in company."""

from kafkalike.coordinator.group.results import JoinGroupResult
from kafkalike.protocol.coordinator_records import decode_group_metadata_value
from kafkalike.protocol.errors import ErrorCode, NotEnoughReplicasError
from tests.support.group_world import GroupWorld, error_of
from tests.support.run import result_of


def test_member_that_leaves_makes_the_others_join_again() -> None:
    world = GroupWorld()
    first, second = world.stable_group(members=2)
    assert world.leave(first.member_id) is ErrorCode.NONE
    assert world.heartbeat(second.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    answer = result_of(world.join(second.member_id))
    assert (answer.generation_id, answer.leader_id) == (2, second.member_id)


def test_last_member_that_leaves_leaves_an_empty_group_which_is_stored() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.leave(member.member_id)
    assert world.state() == "Empty"
    value = world.log_of().records()[-1].value
    assert value is not None
    stored = decode_group_metadata_value(value)
    assert (stored.generation, stored.members, stored.protocol_type) == (2, [], "consumer")


def test_group_is_empty_even_if_that_cannot_be_stored() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.replicas.error = NotEnoughReplicasError()
    world.leave(member.member_id)
    assert world.state() == "Empty"


def test_who_waits_in_a_join_and_leaves_is_answered() -> None:
    world = GroupWorld()
    first, _ = world.stable_group(members=2)
    joining = world.join(first.member_id)
    assert world.leave(first.member_id) is ErrorCode.NONE
    assert result_of(joining) == JoinGroupResult(
        member_id="", error_code=ErrorCode.UNKNOWN_MEMBER_ID
    )


def test_rebalance_goes_on_without_the_member_that_it_waited_for() -> None:
    world = GroupWorld()
    first, second = world.stable_group(members=2)
    joining = world.join(first.member_id)
    world.leave(second.member_id)
    assert result_of(joining).generation_id == 2


def test_member_that_leaves_before_the_assignment_sends_the_others_back() -> None:
    world = GroupWorld()
    leader, follower = world.joined(world.join(), world.join())
    syncing = world.sync(follower.member_id, 1)
    world.leave(leader.member_id)
    assert error_of(syncing) is ErrorCode.REBALANCE_IN_PROGRESS


def test_member_that_was_told_to_come_back_can_leave() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    pending = result_of(world.join(requires_id=True)).member_id
    joining = world.join(member.member_id)
    assert not joining.called
    assert world.leave(pending) is ErrorCode.NONE
    assert joining.called
    assert world.group().pending_members == set()


def test_each_member_of_one_request_has_its_own_answer() -> None:
    world = GroupWorld()
    answers = world.joined(world.join(instance="i"), world.join())
    world.settle(answers)
    code, codes = world.coordinator.leave_group(
        "g", [("", "i"), ("nobody", None), (answers[1].member_id, None), ("wrong", "i")]
    )
    assert code is ErrorCode.NONE
    assert codes == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    world.advance_ms(0)
    assert world.state() == "Empty"


def test_nobody_can_leave_a_group_that_is_not_there() -> None:
    world = GroupWorld()
    assert world.leave("m") is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.leave("m", "") is ErrorCode.INVALID_GROUP_ID
