"""The states of a partition with respect to cleaning: every event in every state."""

from collections.abc import Callable

import pytest

from kafkalike.log.cleaner_states import CleaningPhase, CleaningState, CleaningStates
from kafkalike.model.topic_partition import TopicPartition

TP = TopicPartition("orders", 0)
IN_PROGRESS = CleaningState(CleaningPhase.IN_PROGRESS)

WAYS: dict[str, tuple[str, ...]] = {
    "none": (),
    "in progress": ("begin",),
    "aborted": ("begin", "abort_and_pause"),
    "aborted twice": ("begin", "abort_and_pause", "abort_and_pause"),
    "aborted, pause over": ("begin", "abort_and_pause", "resume"),
    "paused": ("abort_and_pause",),
    "paused twice": ("abort_and_pause", "abort_and_pause"),
}
STATES: dict[str, CleaningState | None] = {
    "none": None,
    "in progress": IN_PROGRESS,
    "aborted": CleaningState(CleaningPhase.ABORTED, 1),
    "aborted twice": CleaningState(CleaningPhase.ABORTED, 2),
    "aborted, pause over": CleaningState(CleaningPhase.ABORTED, 0),
    "paused": CleaningState(CleaningPhase.PAUSED, 1),
    "paused twice": CleaningState(CleaningPhase.PAUSED, 2),
}
ILLEGAL = "illegal"
TABLE = {
    ("none", "begin"): "in progress",
    ("none", "end"): ILLEGAL,
    ("none", "abort_and_pause"): "paused",
    ("none", "resume"): ILLEGAL,
    ("in progress", "begin"): ILLEGAL,
    ("in progress", "end"): "none",
    ("in progress", "abort_and_pause"): "aborted",
    ("in progress", "resume"): ILLEGAL,
    ("aborted", "begin"): ILLEGAL,
    ("aborted", "end"): "paused",
    ("aborted", "abort_and_pause"): "aborted twice",
    ("aborted", "resume"): "aborted, pause over",
    ("aborted twice", "end"): "paused twice",
    ("aborted twice", "resume"): "aborted",
    ("aborted, pause over", "begin"): ILLEGAL,
    ("aborted, pause over", "end"): "none",
    ("aborted, pause over", "abort_and_pause"): "aborted",
    ("aborted, pause over", "resume"): ILLEGAL,
    ("paused", "begin"): ILLEGAL,
    ("paused", "end"): ILLEGAL,
    ("paused", "abort_and_pause"): "paused twice",
    ("paused", "resume"): "none",
    ("paused twice", "resume"): "paused",
}


def states_in(name: str) -> CleaningStates:
    states = CleaningStates()
    for event in WAYS[name]:
        getattr(states, event)(TP)
    assert states.get(TP) == STATES[name]
    return states


@pytest.mark.parametrize(("before", "event"), sorted(TABLE))
def test_every_event_in_every_state(before: str, event: str) -> None:
    states = states_in(before)
    act: Callable[[TopicPartition], object] = getattr(states, event)
    after = TABLE[before, event]
    if after == ILLEGAL:
        with pytest.raises(ValueError, match="orders-0 cannot be"):
            act(TP)
        after = before
    else:
        act(TP)
    assert states.get(TP) == STATES[after]


@pytest.mark.parametrize("name", sorted(WAYS))
def test_only_one_state_lets_a_cleaning_go_on(name: str) -> None:
    assert states_in(name).is_in_progress(TP) == (name == "in progress")


@pytest.mark.parametrize(("before", "is_good"), [("in progress", True), ("aborted", False)])
def test_end_tells_whether_the_cleaning_counts(before: str, is_good: bool) -> None:
    assert states_in(before).end(TP) is is_good


def test_partitions_do_not_know_each_other() -> None:
    states = states_in("in progress")
    assert states.get(TopicPartition("orders", 1)) is None
