"""Static members (KIP-345): a restart makes no rebalance, a double is fenced."""

import pytest

from kafkalike.coordinator.group.results import JoinGroupResult
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.errors import ErrorCode, NotLeaderOrFollowerError
from tests.support.group_world import (
    MOMENT_MS,
    PROTOCOLS,
    REBALANCE_MS,
    SESSION_MS,
    GroupWorld,
    error_of,
)
from tests.support.run import result_of

OTHER = (("range", encode_subscription(["other"])), ("roundrobin", b""))


def static_pair(world: GroupWorld) -> tuple[JoinGroupResult, JoinGroupResult]:
    """Have a stable group of two static members, a (the leader) and b."""
    answers = world.joined(world.join(instance="a"), world.join(instance="b"))
    world.settle(answers)
    return answers[0], answers[1]


def test_static_member_gets_an_id_that_begins_with_its_instance_id() -> None:
    world = GroupWorld()
    first, second = static_pair(world)
    assert (first.member_id, second.member_id) == ("a-1", "b-2")


def test_static_member_that_restarts_keeps_its_assignment_without_a_rebalance() -> None:
    world = GroupWorld()
    leader, old = static_pair(world)
    back = result_of(world.join(instance="b"))
    assert (back.error_code, back.generation_id) == (ErrorCode.NONE, 1)
    assert back.member_id != old.member_id
    assert back.leader_id == leader.member_id
    assert world.state() == "Stable"
    answer = result_of(world.sync(back.member_id, 1))
    assert answer.assignment == old.member_id.encode()


def test_leader_that_restarts_is_told_its_old_id_as_leader_so_that_it_does_not_assign() -> None:
    world = GroupWorld()
    old, _ = static_pair(world)
    back = result_of(world.join(instance="a"))
    assert back.leader_id == old.member_id
    assert back.members == ()
    assert world.group().leader_id == back.member_id


def test_old_process_of_a_static_member_is_fenced_everywhere() -> None:
    world = GroupWorld()
    _, old = static_pair(world)
    world.join(instance="b")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat(old.member_id, 1, instance="b") is fenced
    assert world.commit(1, old.member_id, 1, group_instance_id="b") is fenced
    assert error_of(world.sync(old.member_id, 1, group_instance_id="b")) is fenced
    assert error_of(world.join(old.member_id, instance="b")) is fenced
    assert world.leave(old.member_id, instance="b") is fenced


def test_old_process_that_says_nothing_of_its_instance_is_unknown() -> None:
    world = GroupWorld()
    _, old = static_pair(world)
    world.join(instance="b")
    assert world.heartbeat(old.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_new_id_of_a_static_member_survives_the_coordinator() -> None:
    world = GroupWorld()
    static_pair(world)
    back = result_of(world.join(instance="b"))
    other = GroupWorld(replicas=world.replicas)
    assert other.heartbeat(back.member_id, 1, instance="b") is ErrorCode.NONE


def test_static_member_is_not_answered_before_its_new_id_is_stored() -> None:
    world = GroupWorld()
    static_pair(world)
    world.replicas.is_holding = True
    joining = world.join(instance="b")
    assert not joining.called
    world.replicas.release()
    world.advance_ms(0)
    assert result_of(joining).generation_id == 1


def test_static_member_keeps_its_old_id_if_the_new_one_cannot_be_stored() -> None:
    world = GroupWorld()
    _, old = static_pair(world)
    world.replicas.error = NotLeaderOrFollowerError()
    answer = result_of(world.join(instance="b"))
    assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    world.replicas.error = None
    assert world.heartbeat(old.member_id, 1, instance="b") is ErrorCode.NONE
    world.advance_ms(SESSION_MS - MOMENT_MS)
    assert old.member_id in world.group().members


def test_third_process_with_the_same_instance_id_fences_the_second_while_it_waits() -> None:
    world = GroupWorld()
    static_pair(world)
    world.replicas.is_holding = True
    second = world.join(instance="b")
    third = world.join(instance="b")
    assert error_of(second) is ErrorCode.FENCED_INSTANCE_ID
    world.replicas.release()
    world.advance_ms(0)
    answer = result_of(third)
    assert answer.error_code is ErrorCode.NONE
    assert world.group().static_members["b"] == answer.member_id


def test_static_member_with_another_protocol_makes_a_rebalance() -> None:
    world = GroupWorld()
    leader, _ = static_pair(world)
    joining = world.join(instance="b", protocols=PROTOCOLS[1:])
    assert not joining.called
    world.join(leader.member_id, instance="a")
    assert result_of(joining).protocol_name == "roundrobin"


def test_static_member_that_restarts_before_its_sync_is_waited_for_under_its_new_id() -> None:
    world = GroupWorld()
    leader, _ = world.joined(world.join(instance="a"), world.join(instance="b"))
    assignment = {one.member_id: b"" for one in leader.members}
    assert error_of(world.sync(leader.member_id, 1, assignment)) is ErrorCode.NONE
    back = result_of(world.join(instance="b"))
    assert error_of(world.sync(back.member_id, 1, group_instance_id="b")) is ErrorCode.NONE
    for _ in range(REBALANCE_MS // MOMENT_MS):
        for member_id in (leader.member_id, back.member_id):
            assert world.heartbeat(member_id, 1) is ErrorCode.NONE
        world.advance_ms(MOMENT_MS)
    assert world.state() == "Stable"


def test_static_member_that_restarts_before_its_sync_and_never_syncs_is_thrown_out() -> None:
    world = GroupWorld()
    leader, _ = world.joined(world.join(instance="a"), world.join(instance="b"))
    assignment = {one.member_id: b"" for one in leader.members}
    world.sync(leader.member_id, 1, assignment)
    back = result_of(world.join(instance="b"))
    for _ in range(REBALANCE_MS // MOMENT_MS):
        for member_id in (leader.member_id, back.member_id):
            world.heartbeat(member_id, 1)
        world.advance_ms(MOMENT_MS)
    assert set(world.group().members) == {leader.member_id}


def test_static_member_that_restarts_before_the_assignment_makes_a_rebalance() -> None:
    world = GroupWorld()
    leader, old = world.joined(world.join(instance="a"), world.join(instance="b"))
    joining = world.join(instance="b")
    assert world.state() == "PreparingRebalance"
    world.join(leader.member_id, instance="a")
    assert result_of(joining).generation_id == 2
    assert old.member_id not in world.group().members


def test_static_member_that_restarts_during_a_rebalance_takes_part_in_it() -> None:
    world = GroupWorld()
    leader, follower = static_pair(world)
    first = world.join(follower.member_id, instance="b", protocols=OTHER)
    again = world.join(instance="b", protocols=OTHER)
    assert error_of(first) is ErrorCode.FENCED_INSTANCE_ID
    world.join(leader.member_id, instance="a")
    assert result_of(again).generation_id == 2


def test_static_member_that_does_not_rejoin_stays_until_its_session_ends() -> None:
    world = GroupWorld()
    answers = world.joined(
        world.join(instance="a", session_ms=120_000), world.join(instance="b", session_ms=120_000)
    )
    world.settle(answers)
    joining = world.join(answers[1].member_id, instance="b", protocols=OTHER)
    world.advance_ms(REBALANCE_MS)
    answer = result_of(joining)
    assert (answer.generation_id, answer.leader_id) == (2, answers[1].member_id)
    assert set(world.group().members) == {one.member_id for one in answers}


def test_rebalance_waits_on_if_no_static_member_has_joined() -> None:
    world = GroupWorld()
    answers = world.joined(
        world.join(instance="a", session_ms=200_000), world.join(session_ms=200_000)
    )
    world.settle(answers)
    world.leave(answers[1].member_id)
    assert world.state() == "PreparingRebalance"
    world.advance_ms(REBALANCE_MS)
    assert world.state() == "PreparingRebalance"
    rejoining = world.join(answers[0].member_id, instance="a")
    assert result_of(rejoining).generation_id == 2


def test_static_member_that_leaves_by_its_instance_id_is_out() -> None:
    world = GroupWorld()
    static_pair(world)
    assert world.leave("", instance="b") is ErrorCode.NONE
    assert world.group().static_members == {"a": "a-1"}
    assert world.leave("", instance="b") is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_id_with_an_instance_that_is_not_in_the_group_is_unknown() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    joining = world.join(member.member_id, instance="new")
    assert error_of(joining) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("requires_id", [False, True])
def test_first_join_of_a_static_member_is_never_sent_back(requires_id: bool) -> None:
    """The handler never asks for it; the coordinator takes an instance id that is there first."""
    world = GroupWorld()
    static_pair(world)
    answer = result_of(world.join(instance="b", requires_id=requires_id))
    assert answer.error_code is ErrorCode.NONE
