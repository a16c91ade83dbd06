"""Sessions: who is silent too long is thrown out, and heartbeats cost next to nothing."""

from twisted.internet.task import Clock

from kafkalike.coordinator.group.delayed_heartbeat import DelayedHeartbeats
from kafkalike.protocol.errors import ErrorCode
from kafkalike.utils.time import Time
from tests.support.group_world import MOMENT_MS, SESSION_MS, GroupWorld


def test_member_that_is_silent_for_its_session_timeout_is_thrown_out() -> None:
    world = GroupWorld()
    quiet, lively = world.stable_group(members=2)
    world.advance_ms(SESSION_MS - MOMENT_MS)
    assert world.heartbeat(lively.member_id, 1) is ErrorCode.NONE
    assert world.state() == "Stable"
    world.advance_ms(MOMENT_MS)
    assert world.heartbeat(quiet.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(lively.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_heartbeats_keep_a_member_in_for_ever() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    for _ in range(100):
        world.advance_ms(SESSION_MS - MOMENT_MS)
        assert world.heartbeat(member.member_id, 1) is ErrorCode.NONE


def test_commit_is_a_sign_of_life_too() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    for _ in range(3):
        world.advance_ms(SESSION_MS - MOMENT_MS)
        assert world.commit(5, member.member_id, 1) is ErrorCode.NONE


def test_last_member_that_is_silent_leaves_the_group_empty() -> None:
    world = GroupWorld()
    world.stable_group()
    world.advance_ms(SESSION_MS)
    assert world.state() == "Empty"
    assert world.group().generation_id == 2


def test_member_must_heartbeat_between_join_and_sync() -> None:
    world = GroupWorld()
    (member,) = world.joined(world.join())
    world.advance_ms(SESSION_MS - MOMENT_MS)
    assert world.heartbeat(member.member_id, 1) is ErrorCode.NONE
    world.advance_ms(SESSION_MS)
    assert world.state() == "Empty"


def test_member_of_another_generation_is_told_so() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    assert world.heartbeat(member.member_id, 2) is ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat(member.member_id, 0) is ErrorCode.ILLEGAL_GENERATION


def test_unknown_member_and_unknown_group_are_told_so() -> None:
    world = GroupWorld()
    assert world.heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    world.stable_group()
    assert world.heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("m", 1, "") is ErrorCode.INVALID_GROUP_ID


# --- timers


class Timers:
    def __init__(self) -> None:
        self.clock = Clock()
        self.expired: list[tuple[str, str]] = []
        self.heartbeats = DelayedHeartbeats(
            Time(self.clock), lambda group, member: self.expired.append((group, member))
        )

    def expect(self, timeout_ms: int, member: str = "m") -> None:
        self.heartbeats.expect("g", member, timeout_ms)

    def advance_ms(self, ms: int) -> None:
        self.clock.advance(ms / 1000)


def test_heartbeats_touch_no_timer() -> None:
    timers = Timers()
    timers.expect(10_000)
    (timer,) = timers.clock.getDelayedCalls()
    for _ in range(9):
        timers.advance_ms(1_000)
        timers.expect(10_000)
        assert timers.clock.getDelayedCalls() == [timer]
    timers.advance_ms(1_000)
    (again,) = timers.clock.getDelayedCalls()
    assert again is not timer
    assert again.getTime() == 19.0
    assert timers.expired == []


def test_deadline_counts_from_the_last_heartbeat() -> None:
    timers = Timers()
    timers.expect(10_000)
    timers.advance_ms(6_000)
    timers.expect(10_000)
    timers.advance_ms(9_000)
    assert timers.expired == []
    timers.advance_ms(MOMENT_MS)
    assert timers.expired == [("g", "m")]
    assert len(timers.heartbeats) == 0
    assert timers.clock.getDelayedCalls() == []


def test_deadline_can_come_nearer() -> None:
    timers = Timers()
    timers.expect(300_000)
    timers.expect(10_000)
    timers.advance_ms(10_000)
    assert timers.expired == [("g", "m")]


def test_member_that_is_forgotten_does_not_expire() -> None:
    timers = Timers()
    timers.expect(10_000)
    timers.expect(10_000, "other")
    timers.heartbeats.forget("g", "m")
    timers.heartbeats.forget("g", "nobody")
    timers.advance_ms(10_000)
    assert timers.expired == [("g", "other")]


def test_nothing_is_left_after_shutdown() -> None:
    timers = Timers()
    timers.expect(10_000)
    timers.heartbeats.shutdown()
    assert timers.clock.getDelayedCalls() == []
