"""Every state of a group and every request: what is answered, and which state follows."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from kafkalike.coordinator.group.group_metadata import DEAD
from kafkalike.coordinator.group.group_state import GroupState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.errors import ErrorCode
from tests.support.group_world import ORDERS, GroupWorld
from tests.support.run import result_of, run

OTHER_TOPIC = TopicPartition("other", 0)
CHANGED = (("range", encode_subscription(["changed"])),)
WAITS = None
"""The request is held back."""


class Setup(NamedTuple):
    """A group in some state, with a member (the leader), a follower, and their generation."""

    world: GroupWorld
    leader: str
    follower: str
    generation: int


def stable() -> Setup:
    world = GroupWorld()
    leader, follower = world.stable_group(members=2, session_ms=600_000)
    world.commit(3, leader.member_id, 1)
    return Setup(world, leader.member_id, follower.member_id, 1)


def empty() -> Setup:
    setup = stable()
    for member in (setup.leader, setup.follower):
        setup.world.leave(member)
    return setup._replace(generation=setup.world.group().generation_id)


def preparing() -> Setup:
    setup = stable()
    setup.world.join(setup.follower, protocols=CHANGED)
    return setup


def completing() -> Setup:
    setup = preparing()
    setup.world.join(setup.leader)
    return setup._replace(generation=2)


def dead() -> Setup:
    setup = stable()
    setup.world.group().transition_to(DEAD, 0)
    return setup


SETUPS: dict[str, Callable[[], Setup]] = {
    "Empty": empty,
    "PreparingRebalance": preparing,
    "CompletingRebalance": completing,
    "Stable": stable,
    "Dead": dead,
}


# --- requests: each returns its error code, or WAITS


def join_new(setup: Setup) -> ErrorCode | None:
    joining = setup.world.join()
    return result_of(joining).error_code if joining.called else WAITS


def join_new_with_id_required(setup: Setup) -> ErrorCode | None:
    return result_of(setup.world.join(requires_id=True)).error_code


def rejoin_leader(setup: Setup) -> ErrorCode | None:
    joining = setup.world.join(setup.leader)
    return result_of(joining).error_code if joining.called else WAITS


def rejoin_follower_changed(setup: Setup) -> ErrorCode | None:
    joining = setup.world.join(setup.follower, protocols=(("range", b"again"),))
    return result_of(joining).error_code if joining.called else WAITS


def sync_follower(setup: Setup) -> ErrorCode | None:
    syncing = setup.world.sync(setup.follower, setup.generation)
    return result_of(syncing).error_code if syncing.called else WAITS


def sync_leader(setup: Setup) -> ErrorCode | None:
    syncing = setup.world.sync(setup.leader, setup.generation, {})
    return result_of(syncing).error_code if syncing.called else WAITS


def heartbeat(setup: Setup) -> ErrorCode | None:
    return setup.world.heartbeat(setup.leader, setup.generation)


def leave(setup: Setup) -> ErrorCode | None:
    return setup.world.leave(setup.follower)


def commit_as_member(setup: Setup) -> ErrorCode | None:
    return setup.world.commit(9, setup.leader, setup.generation)


def commit_without_group(setup: Setup) -> ErrorCode | None:
    return setup.world.commit(9)


def commit_in_transaction(setup: Setup) -> ErrorCode | None:
    return setup.world.commit(9, producer_id=1, producer_epoch=0)


def delete_group(setup: Setup) -> ErrorCode | None:
    return run(setup.world.coordinator.delete_groups(["g"]))["g"]


def delete_offset(setup: Setup) -> ErrorCode | None:
    return run(setup.world.coordinator.delete_offsets("g", [OTHER_TOPIC]))[0]


def expire(setup: Setup) -> ErrorCode | None:
    setup.world.expire()
    return ErrorCode.NONE


def unload(setup: Setup) -> ErrorCode | None:
    group = setup.world.group()
    setup.world.coordinator.on_resignation(setup.world.coordinator.partition_for("g"), 1)
    setup.world.advance_ms(0)
    assert group.state is DEAD
    return setup.world.heartbeat(setup.leader, setup.generation)


E = ErrorCode
# What each request is answered in Empty, Preparing, Completing, Stable, Dead, and the state after
# it ("-": as before).
TABLE: dict[Callable[[Setup], ErrorCode | None], list[tuple[ErrorCode | None, str]]] = {
    join_new: [
        (WAITS, "PreparingRebalance"),
        (WAITS, "-"),
        (WAITS, "PreparingRebalance"),
        (WAITS, "PreparingRebalance"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    join_new_with_id_required: [
        (E.MEMBER_ID_REQUIRED, "-"),
        (E.MEMBER_ID_REQUIRED, "-"),
        (E.MEMBER_ID_REQUIRED, "-"),
        (E.MEMBER_ID_REQUIRED, "-"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    rejoin_leader: [
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.NONE, "CompletingRebalance"),
        (E.NONE, "-"),
        (WAITS, "PreparingRebalance"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    rejoin_follower_changed: [
        (E.UNKNOWN_MEMBER_ID, "-"),
        (WAITS, "-"),
        (WAITS, "PreparingRebalance"),
        (WAITS, "PreparingRebalance"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    sync_follower: [
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.REBALANCE_IN_PROGRESS, "-"),
        (WAITS, "-"),
        (E.NONE, "-"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    sync_leader: [
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.REBALANCE_IN_PROGRESS, "-"),
        (E.NONE, "Stable"),
        (E.NONE, "-"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    heartbeat: [
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.REBALANCE_IN_PROGRESS, "-"),
        (E.NONE, "-"),
        (E.NONE, "-"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    leave: [
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.NONE, "-"),
        (E.NONE, "PreparingRebalance"),
        (E.NONE, "PreparingRebalance"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    commit_as_member: [
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.NONE, "-"),
        (E.REBALANCE_IN_PROGRESS, "-"),
        (E.NONE, "-"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    commit_without_group: [
        (E.NONE, "-"),
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.UNKNOWN_MEMBER_ID, "-"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    commit_in_transaction: [
        (E.NONE, "-"),
        (E.NONE, "-"),
        (E.NONE, "-"),
        (E.NONE, "-"),
        (E.COORDINATOR_NOT_AVAILABLE, "-"),
    ],
    delete_group: [
        (E.NONE, "Dead"),
        (E.NON_EMPTY_GROUP, "-"),
        (E.NON_EMPTY_GROUP, "-"),
        (E.NON_EMPTY_GROUP, "-"),
        (E.GROUP_ID_NOT_FOUND, "-"),
    ],
    delete_offset: [
        (E.NONE, "-"),
        (E.NONE, "-"),
        (E.NONE, "-"),
        (E.NONE, "-"),
        (E.GROUP_ID_NOT_FOUND, "-"),
    ],
    expire: [(E.NONE, "-") for _ in GroupState],
    unload: [(E.NOT_COORDINATOR, "") for _ in GroupState],
}


@pytest.mark.parametrize("request_", TABLE, ids=lambda one: one.__name__)
@pytest.mark.parametrize("state", SETUPS)
def test_request_in_state(state: str, request_: Callable[[Setup], ErrorCode | None]) -> None:
    setup = SETUPS[state]()
    assert setup.world.state() == state
    answer, after = TABLE[request_][list(SETUPS).index(state)]
    assert request_(setup) == answer
    assert setup.world.state() == (state if after == "-" else after)


@pytest.mark.parametrize("state", SETUPS)
def test_committed_offsets_can_be_asked_for_in_any_state(state: str) -> None:
    setup = SETUPS[state]()
    assert setup.world.committed(tp=ORDERS) == (None if state == "Dead" else 3)


def test_table_has_all_states() -> None:
    assert list(SETUPS) == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]
    assert set(SETUPS) == {state.value for state in GroupState}
