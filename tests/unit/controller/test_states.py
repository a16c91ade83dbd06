"""Every (state, target) pair of partitions and replicas, the illegal ones included."""

from itertools import product

import pytest

from kafkalike.controller.context import ControllerContext
from kafkalike.controller.states import (
    IllegalTransitionError,
    PartitionAndReplica,
    PartitionState,
    ReplicaState,
)
from kafkalike.model.topic_partition import TopicPartition

TP = TopicPartition("t", 0)
REPLICA = PartitionAndReplica(TP, 1)

# Kafka 2.8's validPreviousStates, written down a second time, from its documentation.
LEGAL_PARTITION_MOVES = {
    ("NonExistentPartition", "NewPartition"),
    ("NewPartition", "OnlinePartition"),
    ("OnlinePartition", "OnlinePartition"),
    ("OfflinePartition", "OnlinePartition"),
    ("NewPartition", "OfflinePartition"),
    ("OnlinePartition", "OfflinePartition"),
    ("OfflinePartition", "OfflinePartition"),
    ("OfflinePartition", "NonExistentPartition"),
}
LEGAL_REPLICA_MOVES = {
    ("NonExistentReplica", "NewReplica"),
    ("NewReplica", "OnlineReplica"),
    ("OnlineReplica", "OnlineReplica"),
    ("OfflineReplica", "OnlineReplica"),
    ("ReplicaDeletionIneligible", "OnlineReplica"),
    ("NewReplica", "OfflineReplica"),
    ("OnlineReplica", "OfflineReplica"),
    ("OfflineReplica", "OfflineReplica"),
    ("ReplicaDeletionIneligible", "OfflineReplica"),
    ("OfflineReplica", "ReplicaDeletionStarted"),
    ("ReplicaDeletionStarted", "ReplicaDeletionSuccessful"),
    ("ReplicaDeletionStarted", "ReplicaDeletionIneligible"),
    ("OfflineReplica", "ReplicaDeletionIneligible"),
    ("ReplicaDeletionSuccessful", "NonExistentReplica"),
}


@pytest.mark.parametrize(
    ("state", "target"), list(product(PartitionState, PartitionState)), ids=str
)
def test_partition_moves_only_where_kafka_lets_it(
    state: PartitionState, target: PartitionState
) -> None:
    context = ControllerContext()
    context.initialize_partition_state(TP, state)
    if (str(state), str(target)) in LEGAL_PARTITION_MOVES:
        context.move_partition(TP, target)
        assert context.partition_state(TP) is target
    else:
        with pytest.raises(IllegalTransitionError, match=f"t-0 .*{target}.*{state}"):
            context.move_partition(TP, target)
        assert context.partition_state(TP) is state


@pytest.mark.parametrize(("state", "target"), list(product(ReplicaState, ReplicaState)), ids=str)
def test_replica_moves_only_where_kafka_lets_it(state: ReplicaState, target: ReplicaState) -> None:
    context = ControllerContext()
    context.initialize_replica_state(REPLICA, state)
    if (str(state), str(target)) in LEGAL_REPLICA_MOVES:
        context.move_replica(REPLICA, target)
        assert context.replica_state(REPLICA) is target
    else:
        with pytest.raises(IllegalTransitionError, match=f"Replica=1.*{target}.*{state}"):
            context.move_replica(REPLICA, target)
        assert context.replica_state(REPLICA) is state
