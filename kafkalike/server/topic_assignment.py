"""Assignments of replicas to brokers that somebody wrote by hand: what is wrong with them.

The checks of Kafka's `AdminZkClient`, decisions only, in Kafka's words.
"""

from collections.abc import Iterable, Mapping, Sequence

from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.protocol.errors import (
    BrokerNotAvailableError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    ReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)

Assignment = Mapping[int, Sequence[int]]
"""The brokers of each partition, by its number."""


_MAX_ZNODE_BYTES = 1_000_000
"""ZooKeeper's jute.maxbuffer is 0xfffff bytes by default, for a whole request."""


def check_new_topic(assignment: Assignment) -> None:
    """Refuse what a new topic cannot have; unknown brokers are let pass, as in Kafka."""
    if len({len(replicas) for replicas in assignment.values()}) != 1:
        raise InvalidReplicaAssignmentError(
            "All partitions should have the same number of replicas"
        )
    if any(_has_duplicates(replicas) for replicas in assignment.values()):
        shown = ", ".join(
            f"{partition} -> ArrayBuffer({_listed(replicas)})"
            for partition, replicas in sorted(assignment.items())
        )
        raise InvalidReplicaAssignmentError(f"Duplicate replica assignment found: HashMap({shown})")
    if sorted(assignment) != list(range(len(assignment))):
        raise InvalidReplicaAssignmentError(
            "partitions should be a consecutive 0-based integer sequence"
        )


def check_growth(topic: str, existing: Mapping[int, ReplicaAssignment], count: int) -> int:
    """Tell how many partitions are to be added, or refuse to."""
    if any(assignment.is_being_reassigned for assignment in existing.values()):
        raise ReassignmentInProgressError(
            f"A partition reassignment is in progress for the topic '{topic}'."
        )
    if not existing:
        raise UnknownTopicOrPartitionError(f"The topic '{topic}' does not exist.")
    if count < len(existing):
        raise InvalidPartitionsError(
            f"Topic currently has {len(existing)} partitions, which is higher than the requested "
            f"{count}."
        )
    if count == len(existing):
        raise InvalidPartitionsError(f"Topic already has {len(existing)} partitions.")
    return count - len(existing)


def check_added_partitions(
    assignments: Sequence[Sequence[int]],
    existing: Mapping[int, ReplicaAssignment],
    increment: int,
    broker_ids: set[int],
) -> dict[int, tuple[int, ...]]:
    """Number the added partitions, or refuse what they cannot have."""
    unknown = {broker for replicas in assignments for broker in replicas} - broker_ids
    if unknown:
        raise InvalidReplicaAssignmentError(
            f"Unknown broker(s) in replica assignment: {_listed(sorted(unknown))}."
        )
    if len(assignments) != increment:
        raise InvalidReplicaAssignmentError(
            f"Increasing the number of partitions by {increment} but {len(assignments)} "
            "assignments provided."
        )
    added = {len(existing) + i: tuple(replicas) for i, replicas in enumerate(assignments)}
    for partition, replicas in added.items():
        _check_replicas(partition, replicas, broker_ids)
    _check_same_factor(added, len(existing[0].replicas))
    return added


def _check_replicas(partition: int, replicas: Sequence[int], broker_ids: set[int]) -> None:
    if not replicas:
        raise InvalidReplicaAssignmentError(
            f"Cannot have replication factor of 0 for partition id {partition}."
        )
    if _has_duplicates(replicas):
        raise InvalidReplicaAssignmentError(
            f"Duplicate brokers not allowed in replica assignment: {_listed(replicas)} for "
            f"partition id {partition}."
        )
    if not broker_ids.issuperset(replicas):
        raise BrokerNotAvailableError(
            f"Some brokers specified for partition id {partition} are not available. Specified "
            f"brokers: {_listed(replicas)}, available brokers: {_listed(sorted(broker_ids))}."
        )


def _check_same_factor(added: Assignment, factor: int) -> None:
    odd = {partition: len(r) for partition, r in sorted(added.items()) if len(r) != factor}
    if odd:
        raise InvalidReplicaAssignmentError(
            f"Inconsistent replication factor between partitions, partition 0 has {factor} while "
            f"partitions [{_listed(odd)}] have replication factors [{_listed(odd.values())}], "
            "respectively."
        )


def _has_duplicates(replicas: Sequence[int]) -> bool:
    return len(set(replicas)) != len(replicas)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def check_fits_znode(partitions: int, replication_factor: int) -> None:
    """Refuse a topic whose assignment ZooKeeper would not take: it is one znode."""
    # `"12345":[1,2,3],`: at least so many characters a partition, with ids of one digit.
    size = partitions * (len(str(partitions)) + 5 + 2 * max(1, replication_factor))
    if size > _MAX_ZNODE_BYTES:
        raise InvalidPartitionsError(
            f"{partitions} partitions with {replication_factor} replicas make a znode of about "
            f"{size} bytes, ZooKeeper takes {_MAX_ZNODE_BYTES}: use several topics."
        )
