from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.reassignment_plan import Replicas, plan_balance, plan_departure
from kafkalike.model.topic_partition import TopicPartition

Assignments = dict[TopicPartition, Replicas]


def _topic(name: str, *replicas: Replicas) -> Assignments:
    return {TopicPartition(name, number): brokers for number, brokers in enumerate(replicas)}


def _without_racks(*brokers: int) -> dict[int, str | None]:
    return dict.fromkeys(brokers)


def _replica_counts(assignment: Assignments, brokers: set[int]) -> list[int]:
    counts = Counter(broker for replicas in assignment.values() for broker in replicas)
    return [counts[broker] for broker in brokers]


def _leader_counts(assignment: Assignments, brokers: set[int]) -> list[int]:
    counts = Counter(replicas[0] for replicas in assignment.values())
    return [counts[broker] for broker in brokers]


@st.composite
def assignments(draw: st.DrawFn) -> tuple[Assignments, set[int]]:
    """A few topics on up to eight brokers."""
    brokers = set(range(draw(st.integers(2, 8))))
    assignment: Assignments = {}
    for topic in range(draw(st.integers(0, 4))):
        factor = draw(st.integers(1, len(brokers)))
        for partition in range(draw(st.integers(1, 6))):
            replicas = draw(st.permutations(sorted(brokers)))[:factor]
            assignment[TopicPartition(f"t{topic}", partition)] = tuple(replicas)
    return assignment, brokers


def test_only_partitions_of_the_leaving_broker_are_in_the_plan() -> None:
    assignment = _topic("t", (0, 1), (1, 2), (2, 3))
    assert set(plan_departure(assignment, {3}, _without_racks(0, 1, 2))) == {TopicPartition("t", 2)}


def test_other_replicas_keep_their_place() -> None:
    assignment = _topic("t", (0, 3, 1))
    assert plan_departure(assignment, {3}, _without_racks(0, 1, 2)) == _topic("t", (0, 2, 1))


def test_least_loaded_broker_takes_over() -> None:
    assignment = _topic("t", (1, 2), (1, 0), (0, 3))
    plan = plan_departure(assignment, {3}, _without_racks(0, 1, 2))
    assert plan[TopicPartition("t", 2)] == (0, 2)


def test_leadership_goes_to_who_leads_least_and_has_the_data_if_it_can() -> None:
    """M27: leaders move away first, to where they are fewest."""
    assignment = _topic("t", (0, 1), (0, 1), (3, 0, 1))
    plan = plan_departure(assignment, {3}, _without_racks(0, 1, 2))
    assert plan[TopicPartition("t", 2)] == (1, 2, 0)


def test_another_rack_comes_before_an_idle_broker() -> None:
    staying: dict[int, str | None] = {0: "a", 1: "a", 2: "b"}
    assignment = _topic("t", (0, 3)) | _topic("busy", (2,), (2,), (2,))
    assert plan_departure(assignment, {3}, staying) == _topic("t", (0, 2))


def test_dead_replica_never_becomes_the_preferred_leader() -> None:
    assignment = _topic("t", (3, 9, 0))
    plan = plan_departure(assignment, {3}, _without_racks(0, 1, 2))
    assert plan[TopicPartition("t", 0)][0] in {0, 1, 2}


def test_too_few_brokers_are_refused_with_topic_and_numbers() -> None:
    """M27: if too few brokers are left, it refuses and says why."""
    assignment = _topic("orders", (0, 1, 2)) | _topic("logs", (0, 2))
    with pytest.raises(ClusterError) as refused:
        plan_departure(assignment, {2}, _without_racks(0, 1))
    assert str(refused.value) == (
        "broker 2 cannot leave: 2 would stay, but these topics have a larger replication factor:"
        " orders (3). Add brokers first, or lower the replication factor"
    )


def test_topic_that_the_leaving_broker_has_no_part_in_is_no_obstacle() -> None:
    assignment = _topic("wide", (0, 1, 9)) | _topic("t", (2,))
    assert plan_departure(assignment, {2}, _without_racks(0, 1)) == _topic("t", (1,))


def test_many_topics_in_the_way_are_named_in_part() -> None:
    assignment = {TopicPartition(f"t{n}", 0): (0, 1, 2) for n in range(7)}
    with pytest.raises(ClusterError, match=r"t0 \(3\), .*t4 \(3\) and 2 more"):
        plan_departure(assignment, {2}, _without_racks(0, 1))


@given(assignments(), st.data())
def test_after_a_departure_nothing_is_left_and_no_factor_changed(
    cluster: tuple[Assignments, set[int]], data: st.DataObject
) -> None:
    assignment, brokers = cluster
    leaving = data.draw(st.sets(st.sampled_from(sorted(brokers)), max_size=len(brokers) - 1))
    staying = brokers - leaving
    try:
        plan = plan_departure(assignment, leaving, _without_racks(*staying))
    except ClusterError:
        assert any(len(replicas) > len(staying) for replicas in assignment.values())
        return
    for tp, replicas in (assignment | plan).items():
        assert not set(replicas) & leaving
        assert len(set(replicas)) == len(replicas) == len(assignment[tp])
        kept = [broker for broker in assignment[tp] if broker in staying]
        assert set(kept) <= set(replicas)


def test_new_brokers_get_their_share() -> None:
    """M26: load moves onto guests."""
    assignment = _topic("t", *[(0, 1, 2), (1, 2, 0), (2, 0, 1)] * 2)
    balanced = assignment | plan_balance(assignment, _without_racks(0, 1, 2, 3, 4))
    assert sorted(_replica_counts(balanced, {0, 1, 2, 3, 4})) == [3, 3, 4, 4, 4]
    assert sorted(_leader_counts(balanced, {0, 1, 2, 3, 4})) == [1, 1, 1, 1, 2]


def test_balanced_cluster_stays_as_it_is() -> None:
    assert plan_balance(_topic("t", (0, 1), (1, 2), (2, 0)), _without_racks(0, 1, 2)) == {}


def test_leaders_are_evened_out_without_moving_data() -> None:
    assignment = _topic("t", (0, 1, 2), (0, 1, 2), (0, 1, 2))
    plan = plan_balance(assignment, _without_racks(0, 1, 2))
    assert sorted(_leader_counts(assignment | plan, {0, 1, 2})) == [1, 1, 1]
    assert all(set(replicas) == {0, 1, 2} for replicas in plan.values())


def test_balance_does_not_put_two_replicas_into_one_rack() -> None:
    racks: dict[int, str | None] = {0: "a", 1: "b", 2: "b"}
    assignment = _topic("t", (0, 1), (0, 1), (0, 1), (0, 1))
    balanced = assignment | plan_balance(assignment, racks)
    assert all(
        {racks[broker] for broker in replicas} == {"a", "b"} for replicas in balanced.values()
    )
    assert _replica_counts(balanced, {2}) == [2]


@given(assignments(), st.integers(0, 3))
def test_balance_evens_out_and_keeps_every_replication_factor(
    cluster: tuple[Assignments, set[int]], more: int
) -> None:
    assignment, brokers = cluster
    brokers |= set(range(len(brokers), len(brokers) + more))
    balanced = assignment | plan_balance(assignment, _without_racks(*brokers))
    for tp, replicas in balanced.items():
        assert len(set(replicas)) == len(replicas) == len(assignment[tp])
        assert set(replicas) <= brokers
    counts = _replica_counts(balanced, brokers)
    assert max(counts) - min(counts) <= 1
