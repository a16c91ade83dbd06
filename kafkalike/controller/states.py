"""The states of partitions and of replicas as the controller sees them, and the legal moves.

Part of Kafka's `PartitionStateMachine` and `ReplicaStateMachine`: the states without the machines.
"""

from enum import Enum
from typing import NamedTuple

from kafkalike.model.topic_partition import TopicPartition


class PartitionAndReplica(NamedTuple):
    """One replica of one partition: the broker `replica` holds it, or shall."""

    tp: TopicPartition
    replica: int

    @property
    def topic(self) -> str:
        """The topic of the partition."""
        return self.tp.topic

    def __str__(self) -> str:
        return f"[Topic={self.tp.topic},Partition={self.tp.partition},Replica={self.replica}]"


class PartitionState(Enum):
    """Where a partition is.

    NON_EXISTENT  never created, or deleted · to NEW
    NEW           action: replicas are assigned, no leader or ISR yet · to ONLINE, OFFLINE
    ONLINE        action: a leader was elected · to ONLINE (another leader), OFFLINE
    OFFLINE       action: the leader died and none could follow · to ONLINE, OFFLINE, NON_EXISTENT
    """

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"

    @property
    def predecessors(self) -> "frozenset[PartitionState]":
        """The states from which this one may be entered."""
        return _PARTITION_PREDECESSORS[self]

    def __str__(self) -> str:
        return self.value


_LIVING_PARTITION = frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE})
_PARTITION_PREDECESSORS = {
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: _LIVING_PARTITION,
    PartitionState.OFFLINE: _LIVING_PARTITION,
}


class ReplicaState(Enum):
    """Where a replica is.

    NON_EXISTENT         never created, or deleted · to NEW
    NEW                  action: follower only, told of the current leader · to ONLINE, OFFLINE
    ONLINE               action: leads or follows · to ONLINE (told again), OFFLINE
    OFFLINE              action: its broker or its directory is away, or it was stopped
                         · to ONLINE, OFFLINE, DELETION_STARTED, DELETION_INELIGIBLE
    DELETION_STARTED     action: told to delete its data · to DELETION_SUCCESSFUL, _INELIGIBLE
    DELETION_SUCCESSFUL  action: it said that its data is gone · to NON_EXISTENT
    DELETION_INELIGIBLE  action: deletion failed or cannot be asked for · to ONLINE, OFFLINE
    """

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"

    @property
    def predecessors(self) -> "frozenset[ReplicaState]":
        """The states from which this one may be entered."""
        return _REPLICA_PREDECESSORS[self]

    def __str__(self) -> str:
        return self.value


_LIVING_REPLICA = frozenset(
    {
        ReplicaState.NEW,
        ReplicaState.ONLINE,
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_INELIGIBLE,
    }
)
_REPLICA_PREDECESSORS = {
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: _LIVING_REPLICA,
    ReplicaState.OFFLINE: _LIVING_REPLICA,
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset(
        {ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}
    ),
}


class IllegalTransitionError(Exception):
    """A partition or replica was to enter a state from one that does not lead there."""


class StateChangeFailedError(Exception):
    """A legal change of state could not be made: no leader to elect, or nothing in ZooKeeper."""
