"""The states of a transaction: numbers, names, and which may follow which."""

import pytest

from kafkalike.coordinator.transaction.transaction_state import TransactionState

# As Apache Kafka 2.8 has them: number, name, and the states from which it may be entered.
KAFKA = {
    "Empty": (0, {"Empty", "CompleteCommit", "CompleteAbort"}),
    "Ongoing": (1, {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"}),
    "PrepareCommit": (2, {"Ongoing"}),
    "PrepareAbort": (3, {"Ongoing", "PrepareEpochFence"}),
    "CompleteCommit": (4, {"PrepareCommit"}),
    "CompleteAbort": (5, {"PrepareAbort"}),
    "Dead": (6, {"Empty", "CompleteAbort", "CompleteCommit"}),
    "PrepareEpochFence": (7, {"Ongoing"}),
}


def test_there_are_no_other_states() -> None:
    assert {state.kafka_name for state in TransactionState} == set(KAFKA)


@pytest.mark.parametrize("state", TransactionState)
def test_number_and_predecessors_are_kafkas(state: TransactionState) -> None:
    number, predecessors = KAFKA[state.kafka_name]
    assert state.value == number
    assert {one.kafka_name for one in state.valid_previous_states} == predecessors


@pytest.mark.parametrize("state", TransactionState)
def test_only_ids_at_rest_expire(state: TransactionState) -> None:
    at_rest = {"Empty", "CompleteCommit", "CompleteAbort"}
    assert state.is_expiration_allowed == (state.kafka_name in at_rest)


@pytest.mark.parametrize("state", TransactionState)
def test_two_states_are_only_ever_pending(state: TransactionState) -> None:
    assert state.is_never_written == (state.kafka_name in {"Dead", "PrepareEpochFence"})
