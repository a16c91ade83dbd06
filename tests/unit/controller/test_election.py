"""Elections, one table per kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.controller.context import ControllerContext
from kafkalike.controller.election import (
    controlled_shutdown_leader,
    initial_leader_and_isr,
    leader_for_controlled_shutdown,
    leader_for_offline,
    leader_for_preferred_replica,
    leader_for_reassign,
    offline_leader,
    preferred_leader,
    reassign_leader,
    without_replica,
)
from kafkalike.model.broker import Broker
from kafkalike.model.leader_and_isr import NO_LEADER, LeaderAndIsr
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition

TP = TopicPartition("t", 0)
Ids = tuple[int, ...]


def a_context(live: Ids, assignment: ReplicaAssignment) -> ControllerContext:
    context = ControllerContext()
    context.set_live_brokers({Broker(broker_id, ()): 1 for broker_id in live})
    context.update_assignment(TP, assignment)
    return context


@pytest.mark.parametrize(
    ("assignment", "isr", "live", "is_unclean_allowed", "leader"),
    [
        ((2, 4), (2, 4), (4,), False, 4),
        ((2, 4), (2, 4), (2, 4), False, 2),
        ((2, 4), (2,), (4,), False, None),
        ((2, 4), (2,), (4,), True, 4),
        ((2, 4), (4,), (2, 4), True, 4),  # a clean one is preferred even where unclean is allowed
        ((2, 4), (2,), (), True, None),
        ((2, 4), (9,), (9,), True, None),  # only those that are assigned
    ],
)
def test_offline_leader(
    assignment: Ids, isr: Ids, live: Ids, is_unclean_allowed: bool, leader: int | None
) -> None:
    chosen = offline_leader(assignment, isr, live, is_unclean_allowed=is_unclean_allowed)
    assert chosen == leader


@pytest.mark.parametrize(
    ("target", "isr", "live", "leader"),
    [
        ((2, 4), (2, 4), (4,), 4),
        ((2, 4), (2,), (4,), None),
        ((2, 4), (2, 4), (), None),
        ((2, 4), (2, 4), (2, 4), 2),
    ],
)
def test_reassign_leader(target: Ids, isr: Ids, live: Ids, leader: int | None) -> None:
    assert reassign_leader(target, isr, live) == leader


@pytest.mark.parametrize(
    ("assignment", "isr", "live", "leader"),
    [
        ((2, 4), (2, 4), (2, 4), 2),
        ((2, 4), (2, 4), (4,), None),
        ((2, 4), (4,), (2, 4), None),
        ((), (4,), (4,), None),
    ],
)
def test_preferred_leader(assignment: Ids, isr: Ids, live: Ids, leader: int | None) -> None:
    assert preferred_leader(assignment, isr, live) == leader


@pytest.mark.parametrize(
    ("assignment", "isr", "live", "going", "leader"),
    [
        ((2, 4), (2, 4), (2, 4), (2,), 4),
        ((2, 4), (2,), (2, 4), (2,), None),
        ((2, 4), (2, 4), (2, 4), (2, 4), None),
        ((2, 4), (2, 4), (2,), (2,), None),
    ],
)
def test_controlled_shutdown_leader(
    assignment: Ids, isr: Ids, live: Ids, going: Ids, leader: int | None
) -> None:
    assert controlled_shutdown_leader(assignment, isr, live, going) == leader


def test_new_partition_is_led_by_its_first_live_replica() -> None:
    assert initial_leader_and_isr((3, 1)) == LeaderAndIsr(3, 0, (3, 1), 0)
    assert initial_leader_and_isr(()) is None


def test_replica_leaves_isr_and_lead_but_the_last_stays_in_the_isr() -> None:
    state = LeaderAndIsr(1, 4, (1, 2), 9)
    assert without_replica(state, 2) == LeaderAndIsr(1, 5, (1,), 9)
    assert without_replica(state, 1) == LeaderAndIsr(NO_LEADER, 5, (2,), 9)
    assert without_replica(LeaderAndIsr(1, 4, (1,), 9), 1) == LeaderAndIsr(NO_LEADER, 5, (1,), 9)


def test_offline_election_keeps_live_replicas_in_sync() -> None:
    context = a_context((2, 3), ReplicaAssignment((1, 2, 3)))
    result = leader_for_offline(
        context, TP, LeaderAndIsr(1, 4, (1, 2, 3), 9), is_unclean_allowed=False
    )
    assert result.leader_and_isr == LeaderAndIsr(2, 5, (2, 3), 9)
    assert result.recipients == (2, 3)
    assert not result.is_unclean


def test_unclean_election_begins_a_new_isr() -> None:
    context = a_context((2, 3), ReplicaAssignment((1, 2, 3)))
    result = leader_for_offline(context, TP, LeaderAndIsr(1, 4, (1,), 9), is_unclean_allowed=True)
    assert result.leader_and_isr == LeaderAndIsr(2, 5, (2,), 9)
    assert result.is_unclean


def test_reassign_election_tells_all_targets() -> None:
    context = a_context((3, 4), ReplicaAssignment((3, 4, 1), (3, 4), (1,)))
    result = leader_for_reassign(context, TP, LeaderAndIsr(1, 4, (1, 4), 9))
    assert result.leader_and_isr == LeaderAndIsr(4, 5, (1, 4), 9)
    assert result.recipients == (3, 4)


def test_preferred_election_tells_all_replicas() -> None:
    context = a_context((1, 2), ReplicaAssignment((1, 2)))
    result = leader_for_preferred_replica(context, TP, LeaderAndIsr(2, 4, (1, 2), 9))
    assert result.leader_and_isr == LeaderAndIsr(1, 5, (1, 2), 9)
    assert result.recipients == (1, 2)
    away = a_context((2,), ReplicaAssignment((1, 2)))
    assert leader_for_preferred_replica(away, TP, LeaderAndIsr(2, 4, (1, 2))).leader_and_isr is None


def test_controlled_shutdown_election_takes_the_going_out_of_the_isr_and_tells_it() -> None:
    context = a_context((1, 2, 3), ReplicaAssignment((1, 2, 3)))
    context.shutting_down_broker_ids.add(1)
    result = leader_for_controlled_shutdown(context, TP, LeaderAndIsr(1, 4, (1, 2, 3), 9))
    assert result.leader_and_isr == LeaderAndIsr(2, 5, (2, 3), 9)
    assert result.recipients == (1, 2, 3)


replica_lists = st.lists(st.integers(0, 6), unique=True).map(tuple)


@given(replica_lists, replica_lists, replica_lists)
def test_clean_election_chooses_only_live_replicas_in_sync(
    assignment: Ids, isr: Ids, live: Ids
) -> None:
    context = a_context(live, ReplicaAssignment(assignment))
    before = LeaderAndIsr(9, 4, isr, 1)
    elected = leader_for_offline(context, TP, before, is_unclean_allowed=False).leader_and_isr
    eligible = set(assignment) & set(isr) & set(live)
    assert (elected is None) == (not eligible)
    if elected is not None:
        assert elected.leader in eligible
        assert elected.leader in elected.isr
        assert set(elected.isr) <= set(isr) & set(live)
        assert elected.leader_epoch == before.leader_epoch + 1
