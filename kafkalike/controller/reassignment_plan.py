"""What a partition's assignment becomes when it is moved, or why it cannot be; decisions only."""

from kafkalike.controller.context import ControllerContext
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    InvalidReplicaAssignmentError,
    NoReassignmentInProgressError,
)


def plan(
    context: ControllerContext, tp: TopicPartition, target: tuple[int, ...] | None
) -> ReplicaAssignment:
    """Begin, redirect or (None) cancel a move; raise a KafkaError if that is not possible."""
    current = context.assignment(tp)
    if target is None:
        if not current.is_being_reassigned:
            raise NoReassignmentInProgressError
        return current.reassign_to(current.origin_replicas)
    _check_target(target)
    new = current.reassign_to(target)
    live = context.live_broker_ids
    if not set(new.adding_replicas) <= set(live):
        raise InvalidReplicaAssignmentError(
            "Replica assignment has brokers that are not alive. Replica list: "
            f"{list(new.adding_replicas)}, live broker list: {live}"
        )
    return new


def _check_target(target: tuple[int, ...]) -> None:
    if not target:
        raise InvalidReplicaAssignmentError(
            "Empty replica list specified in partition reassignment."
        )
    if len(set(target)) != len(target):
        raise InvalidReplicaAssignmentError(
            f"Duplicate replica ids in partition reassignment replica list: {list(target)}"
        )
    if any(replica < 0 for replica in target):
        raise InvalidReplicaAssignmentError(f"Invalid broker id in replica list: {list(target)}")


def check_keeps_in_sync_replica(
    context: ControllerContext, tp: TopicPartition, new: ReplicaAssignment
) -> None:
    """Refuse to drop every replica that is in sync: acknowledged records would be lost.

    That is what stopping a move does when the old replicas fell out of the ISR meanwhile. Kafka 2.8
    loses the records; later versions refuse, and so do we.
    """
    known = context.leadership.get(tp)
    if known is None:
        return
    isr = known.leader_and_isr.isr
    if not set(isr) & set(new.replicas):
        raise InvalidReplicaAssignmentError(
            f"{tp}: none of the replicas {list(new.replicas)} is in sync, only {list(isr)} are; "
            "wait until one of them is, or elect it uncleanly first"
        )
