"""Assignments by hand: what is wrong with them."""

import pytest

from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.protocol.errors import (
    BrokerNotAvailableError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    KafkaError,
    ReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)
from kafkalike.server.topic_assignment import (
    check_added_partitions,
    check_growth,
    check_new_topic,
)

TWO = {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((2, 1))}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ({0: (1,), 1: (1, 2)}, "All partitions should have the same number of replicas"),
        (
            {0: (1, 1)},
            "Duplicate replica assignment found: HashMap(0 -> ArrayBuffer(1, 1))",
        ),
        ({0: (1,), 2: (1,)}, "partitions should be a consecutive 0-based integer sequence"),
        ({1: (1,)}, "partitions should be a consecutive 0-based integer sequence"),
        ({-1: (1,), 0: (1,)}, "partitions should be a consecutive 0-based integer sequence"),
    ],
)
def test_new_topic_with_a_bad_assignment_is_refused(
    assignment: dict[int, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(InvalidReplicaAssignmentError) as caught:
        check_new_topic(assignment)
    assert caught.value.message == message


def test_new_topic_may_name_brokers_that_are_away() -> None:
    check_new_topic({0: (77,), 1: (78,)})


def test_growth_is_counted() -> None:
    assert check_growth("t", TWO, 5) == 3


@pytest.mark.parametrize(
    ("count", "error", "message"),
    [
        (2, InvalidPartitionsError, "Topic already has 2 partitions."),
        (
            1,
            InvalidPartitionsError,
            "Topic currently has 2 partitions, which is higher than the requested 1.",
        ),
    ],
)
def test_count_must_grow(count: int, error: type[KafkaError], message: str) -> None:
    with pytest.raises(error) as caught:
        check_growth("t", TWO, count)
    assert caught.value.message == message


def test_topic_that_is_not_there_cannot_grow() -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match="The topic 't' does not exist"):
        check_growth("t", {}, 5)


def test_topic_that_is_being_moved_cannot_grow() -> None:
    moving = {0: ReplicaAssignment((1, 2, 3), (3,), (1,))}
    with pytest.raises(ReassignmentInProgressError):
        check_growth("t", moving, 5)


def test_added_partitions_are_numbered_on() -> None:
    added = check_added_partitions([[1, 2], [2, 1]], TWO, 2, {1, 2})
    assert added == {2: (1, 2), 3: (2, 1)}


@pytest.mark.parametrize(
    ("assignments", "increment", "message"),
    [
        ([[1, 7]], 1, "Unknown broker(s) in replica assignment: 7."),
        (
            [[1, 2], [2, 1]],
            1,
            "Increasing the number of partitions by 1 but 2 assignments provided.",
        ),
        ([[]], 1, "Cannot have replication factor of 0 for partition id 2."),
        (
            [[1, 1]],
            1,
            "Duplicate brokers not allowed in replica assignment: 1, 1 for partition id 2.",
        ),
        (
            [[1, 2], [1], [1, 2, 3]],
            3,
            (
                "Inconsistent replication factor between partitions, partition 0 has 2 while "
                "partitions [3, 4] have replication factors [1, 3], respectively."
            ),
        ),
    ],
)
def test_added_partitions_with_a_bad_assignment_are_refused(
    assignments: list[list[int]], increment: int, message: str
) -> None:
    with pytest.raises((InvalidReplicaAssignmentError, BrokerNotAvailableError)) as caught:
        check_added_partitions(assignments, TWO, increment, {1, 2, 3})
    assert caught.value.message == message
