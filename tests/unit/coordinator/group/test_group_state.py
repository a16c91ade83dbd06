"""Which state may follow which, all pairs of them."""

import itertools

import pytest

from kafkalike.coordinator.group.group_metadata import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupMetadata,
    IllegalTransitionError,
)
from kafkalike.coordinator.group.group_state import GroupState

LEGAL = {
    (EMPTY, PREPARING_REBALANCE),
    (PREPARING_REBALANCE, EMPTY),
    (PREPARING_REBALANCE, COMPLETING_REBALANCE),
    (COMPLETING_REBALANCE, PREPARING_REBALANCE),
    (COMPLETING_REBALANCE, STABLE),
    (STABLE, PREPARING_REBALANCE),
    *((state, DEAD) for state in GroupState),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(GroupState, repeat=2)))
def test_only_legal_transitions_happen(before: GroupState, after: GroupState) -> None:
    group = GroupMetadata("g", 1000, before)
    if (before, after) in LEGAL:
        group.transition_to(after, 2000)
        assert (group.state, group.state_timestamp) == (after, 2000)
    else:
        with pytest.raises(IllegalTransitionError, match=f"is {before.value} and cannot"):
            group.transition_to(after, 2000)
        assert (group.state, group.state_timestamp) == (before, 1000)


@pytest.mark.parametrize("state", GroupState)
def test_rebalance_begins_where_the_table_says(state: GroupState) -> None:
    is_legal = (state, PREPARING_REBALANCE) in LEGAL
    assert GroupMetadata("g", 0, state).can_rebalance == is_legal


def test_names_are_those_that_clients_know() -> None:
    assert [state.value for state in GroupState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]
