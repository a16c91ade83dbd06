"""Joining a group: member ids, the initial delay, rebalances, and what is refused."""

import pytest

from kafkalike.coordinator.group.results import JoinGroupResult
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.errors import ErrorCode
from tests.support.group_world import (
    DELAY_MS,
    MOMENT_MS,
    PROTOCOLS,
    REBALANCE_MS,
    SESSION_MS,
    SUBSCRIPTION,
    GroupWorld,
    error_of,
)
from tests.support.run import result_of

OTHER = (("range", encode_subscription(["other"])),)


def ids(answer: JoinGroupResult) -> list[str]:
    return [member.member_id for member in answer.members]


# --- the first generation


def test_first_member_leads_the_first_generation_after_the_initial_delay() -> None:
    world = GroupWorld()
    joining = world.join(client_id="app")
    world.advance_ms(DELAY_MS - MOMENT_MS)
    assert not joining.called
    assert world.state() == "PreparingRebalance"
    world.advance_ms(MOMENT_MS)
    answer = result_of(joining)
    assert answer == JoinGroupResult(
        member_id="app-1",
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader_id="app-1",
        members=answer.members,
    )
    assert [(m.member_id, m.metadata) for m in answer.members] == [("app-1", SUBSCRIPTION)]
    assert world.state() == "CompletingRebalance"


def test_only_the_leader_learns_of_the_members() -> None:
    world = GroupWorld()
    leader, follower = world.joined(world.join(), world.join())
    assert leader.leader_id == follower.leader_id == leader.member_id
    assert ids(leader) == [leader.member_id, follower.member_id]
    assert ids(follower) == []


def test_member_that_comes_during_the_initial_delay_prolongs_it() -> None:
    world = GroupWorld()
    first = world.join()
    world.advance_ms(DELAY_MS - MOMENT_MS)
    second = world.join()
    world.advance_ms(DELAY_MS)
    assert not first.called
    world.advance_ms(MOMENT_MS)
    assert {result_of(first).generation_id, result_of(second).generation_id} == {1}


def test_initial_delay_ends_with_the_rebalance_timeout_however_many_come() -> None:
    world = GroupWorld()
    joining = [world.join(rebalance_ms=2 * DELAY_MS)]
    for _ in range(2):
        world.advance_ms(DELAY_MS - MOMENT_MS)
        joining.append(world.join(rebalance_ms=2 * DELAY_MS))
    world.advance_ms(2 * MOMENT_MS)
    assert all(one.called for one in joining)


def test_without_initial_delay_the_first_generation_comes_at_once() -> None:
    world = GroupWorld({"group.initial.rebalance.delay.ms": "0"})
    assert result_of(world.join()).generation_id == 1


def test_group_that_was_empty_has_an_initial_delay_again() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.leave(member.member_id)
    assert world.state() == "Empty"
    joining = world.join()
    assert not joining.called
    world.advance_ms(DELAY_MS)
    assert result_of(joining).generation_id == 3


# --- member ids (KIP-394)


def test_member_is_told_to_come_back_with_the_id_it_is_given() -> None:
    world = GroupWorld()
    told = result_of(world.join(requires_id=True))
    assert (told.error_code, told.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "client-1")
    assert world.state() == "Empty"
    joining = world.join("client-1", requires_id=True)
    (answer,) = world.joined(joining)
    assert answer.member_id == "client-1"
    assert world.group().pending_members == set()


def test_rebalance_waits_for_a_member_that_was_told_to_come_back() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    pending = result_of(world.join(requires_id=True)).member_id
    rejoining = world.join(member.member_id, protocols=OTHER)
    assert not rejoining.called
    world.join(pending, protocols=OTHER)
    assert rejoining.called


def test_member_that_does_not_come_back_in_its_session_timeout_is_forgotten() -> None:
    world = GroupWorld()
    (member,) = world.stable_group(session_ms=30_000)
    pending = result_of(world.join(requires_id=True)).member_id
    rejoining = world.join(member.member_id, protocols=OTHER)
    world.advance_ms(SESSION_MS - MOMENT_MS)
    assert not rejoining.called
    world.advance_ms(MOMENT_MS)
    assert rejoining.called
    assert error_of(world.join(pending, protocols=OTHER)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_with_an_id_that_nobody_gave_is_unknown() -> None:
    world = GroupWorld()
    assert error_of(world.join("made-up")) is ErrorCode.UNKNOWN_MEMBER_ID
    world.stable_group()
    assert error_of(world.join("made-up")) is ErrorCode.UNKNOWN_MEMBER_ID


# --- rejoining


def test_new_member_makes_the_others_join_again() -> None:
    world = GroupWorld()
    (first,) = world.stable_group()
    joining = world.join()
    assert world.heartbeat(first.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert not joining.called
    rejoining = world.join(first.member_id)
    assert result_of(joining).generation_id == 2
    answer = result_of(rejoining)
    assert (answer.generation_id, answer.leader_id) == (2, first.member_id)


def test_member_that_does_not_rejoin_in_the_rebalance_timeout_is_out() -> None:
    world = GroupWorld()
    first, second = world.stable_group(members=2, session_ms=600_000)
    joining = world.join(second.member_id, protocols=OTHER)
    world.advance_ms(REBALANCE_MS - MOMENT_MS)
    assert not joining.called
    world.advance_ms(MOMENT_MS)
    answer = result_of(joining)
    assert ids(answer) == [second.member_id]
    assert answer.leader_id == second.member_id
    assert world.heartbeat(first.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_leader_that_joins_again_makes_all_join_again() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group(members=2)
    joining = world.join(leader.member_id)
    assert not joining.called
    assert world.heartbeat(follower.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_follower_that_joins_again_unchanged_is_told_the_present_generation() -> None:
    world = GroupWorld()
    _, follower = world.stable_group(members=2)
    answer = result_of(world.join(follower.member_id))
    assert (answer.generation_id, answer.members) == (1, ())
    assert world.state() == "Stable"


def test_follower_with_other_metadata_makes_all_join_again() -> None:
    world = GroupWorld()
    _, follower = world.stable_group(members=2)
    assert not world.join(follower.member_id, protocols=OTHER).called
    assert world.state() == "PreparingRebalance"


def test_join_whose_answer_was_lost_is_answered_again_before_the_assignment() -> None:
    world = GroupWorld()
    leader, follower = world.joined(world.join(), world.join())
    assert result_of(world.join(leader.member_id)).members == leader.members
    assert result_of(world.join(follower.member_id)) == follower
    assert world.state() == "CompletingRebalance"


def test_other_metadata_before_the_assignment_begins_again() -> None:
    world = GroupWorld()
    leader, follower = world.joined(world.join(), world.join())
    syncing = world.sync(follower.member_id, 1)
    joining = world.join(leader.member_id, protocols=OTHER)
    assert error_of(syncing) is ErrorCode.REBALANCE_IN_PROGRESS
    world.join(follower.member_id)
    assert result_of(joining).generation_id == 2


def test_second_join_of_a_waiting_member_replaces_its_first() -> None:
    world = GroupWorld()
    first, _ = world.stable_group(members=2)
    lost = world.join(first.member_id, protocols=OTHER)
    again = world.join(first.member_id, protocols=OTHER)
    world.advance_ms(REBALANCE_MS)
    assert not lost.called
    assert result_of(again).generation_id == 2


def test_new_member_that_gives_up_is_taken_out_after_five_minutes() -> None:
    world = GroupWorld()
    (first,) = world.stable_group(session_ms=600_000, rebalance_ms=900_000)
    joining = world.join(rebalance_ms=900_000)
    world.advance_ms(5 * 60_000 - MOMENT_MS)
    assert not joining.called
    world.advance_ms(MOMENT_MS)
    answer = result_of(joining)
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(world.group().members) == [first.member_id]


# --- refused


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_session_timeout_out_of_bounds_is_refused(session_ms: int) -> None:
    world = GroupWorld()
    code = error_of(world.join(session_ms=session_ms))
    assert code is ErrorCode.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("connect", PROTOCOLS), ("consumer", (("sticky", b""),)), ("consumer", ())],
)
def test_member_that_has_nothing_in_common_with_the_group_is_refused(
    protocol_type: str, protocols: tuple[tuple[str, bytes], ...]
) -> None:
    world = GroupWorld()
    world.stable_group()
    joining = world.join(protocol_type=protocol_type, protocols=protocols)
    assert error_of(joining) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", PROTOCOLS), ("consumer", ())])
def test_first_member_must_have_a_protocol(
    protocol_type: str, protocols: tuple[tuple[str, bytes], ...]
) -> None:
    joining = GroupWorld().join(protocol_type=protocol_type, protocols=protocols)
    assert error_of(joining) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_group_without_name_is_refused() -> None:
    assert error_of(GroupWorld().join(group_id="")) is ErrorCode.INVALID_GROUP_ID


# --- group.max.size


def test_group_takes_no_more_members_than_it_may_have() -> None:
    world = GroupWorld({"group.max.size": "2"})
    joining = [world.join() for _ in range(3)]
    assert error_of(joining[2]) is ErrorCode.GROUP_MAX_SIZE_REACHED
    answers = world.joined(*joining[:2])
    world.settle(answers)
    assert error_of(world.join()) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.state() == "Stable"


def test_group_that_is_too_large_after_a_restart_keeps_those_who_rejoin_first() -> None:
    big = GroupWorld()
    members = [one.member_id for one in big.stable_group(members=3)]
    small = GroupWorld({"group.max.size": "2"}, replicas=big.replicas)
    assert small.state() == "PreparingRebalance"
    joining = [small.join(member_id) for member_id in members]
    assert error_of(joining[2]) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert {result_of(one).error_code for one in joining[:2]} == {ErrorCode.NONE}
    assert list(small.group().members) == members[:2]


# --- protocols


def test_group_changes_to_the_protocol_that_all_have() -> None:
    world = GroupWorld()
    (first,) = world.stable_group()
    assert first.protocol_name == "range"
    joining = world.join(protocols=PROTOCOLS[1:])
    rejoined = result_of(world.join(first.member_id))
    assert rejoined.protocol_name == result_of(joining).protocol_name == "roundrobin"
