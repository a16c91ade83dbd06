"""ControllerContext: all that the controller knows of the cluster, and nothing that it does.

Owned by `KafkaController`; filled from ZooKeeper when it is elected, emptied when it resigns.
Everything is kept in the order in which it became known, so that the same history gives the same
requests and writes.
"""

from collections.abc import Iterable

from kafkalike.controller.live_brokers import LiveBrokers
from kafkalike.controller.states import (
    IllegalTransitionError,
    PartitionAndReplica,
    PartitionState,
    ReplicaState,
)
from kafkalike.model.leader_and_isr import LeaderIsrAndControllerEpoch
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.znodes import ControllerEpochZNode

_UNASSIGNED = ReplicaAssignment(())


class ControllerContext(LiveBrokers):
    """The cluster in memory. The states change through `move_partition` and `move_replica` only."""

    def __init__(self) -> None:
        super().__init__()
        self.unclean_leader_elections = 0
        self._forget_all()

    def reset(self) -> None:
        """Forget everything, for this broker is no longer the controller."""
        self.clear_brokers()
        self._forget_all()

    def _forget_all(self) -> None:
        self.epoch = ControllerEpochZNode.INITIAL_EPOCH
        self.epoch_zk_version = ControllerEpochZNode.INITIAL_ZK_VERSION
        self.all_topics: dict[str, None] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.topic_names: dict[bytes, str] = {}
        self.leadership: dict[TopicPartition, LeaderIsrAndControllerEpoch] = {}
        self.partitions_being_reassigned: dict[TopicPartition, None] = {}
        self.topics_to_be_deleted: dict[str, None] = {}
        self.topics_with_deletion_started: set[str] = set()
        self.topics_ineligible_for_deletion: set[str] = set()
        self._assignments: dict[str, dict[int, ReplicaAssignment]] = {}
        self._partition_states: dict[TopicPartition, PartitionState] = {}
        self._replica_states: dict[PartitionAndReplica, ReplicaState] = {}

    # Topics and assignments

    def set_all_topics(self, topics: Iterable[str]) -> None:
        """Replace the list of topics."""
        self.all_topics = dict.fromkeys(topics)

    def add_topic_id(self, topic: str, topic_id: bytes) -> None:
        """Note a topic's id; ValueError if it has another, or if the id is another topic's."""
        if topic not in self.all_topics:
            raise ValueError(f"{topic} has an id but is not among the topics")
        if self.topic_ids.get(topic, topic_id) != topic_id:
            raise ValueError(f"{topic} has another id in memory than in ZooKeeper")
        if self.topic_names.get(topic_id, topic) != topic:
            raise ValueError(f"the id of {topic} is that of {self.topic_names[topic_id]}")
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def remove_topic(self, topic: str) -> None:
        """Forget a topic that is gone."""
        self.topics_to_be_deleted.pop(topic, None)
        self.topics_with_deletion_started.discard(topic)
        self.topics_ineligible_for_deletion.discard(topic)
        self.all_topics.pop(topic, None)
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            del self.topic_names[topic_id]
        for partition, assignment in self._assignments.pop(topic, {}).items():
            tp = TopicPartition(topic, partition)
            self.leadership.pop(tp, None)
            self.partitions_being_reassigned.pop(tp, None)
            self._partition_states.pop(tp, None)
            for replica in assignment.replicas:
                self._replica_states.pop(PartitionAndReplica(tp, replica), None)

    def assignment(self, tp: TopicPartition) -> ReplicaAssignment:
        """Give the full assignment of a partition; an empty one if it is not known."""
        return self._assignments.get(tp.topic, {}).get(tp.partition, _UNASSIGNED)

    def replicas(self, tp: TopicPartition) -> tuple[int, ...]:
        """Give the brokers that hold a partition, in order of preference."""
        return self.assignment(tp).replicas

    def update_assignment(self, tp: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Note the assignment of a partition."""
        self._assignments.setdefault(tp.topic, {})[tp.partition] = assignment

    def assignment_of_topic(self, topic: str) -> dict[TopicPartition, ReplicaAssignment]:
        """Give the assignments of all partitions of a topic."""
        partitions = self._assignments.get(topic, {})
        return {TopicPartition(topic, p): assignment for p, assignment in partitions.items()}

    @property
    def all_partitions(self) -> list[TopicPartition]:
        """All partitions of all topics."""
        return [TopicPartition(topic, p) for topic, ps in self._assignments.items() for p in ps]

    def partitions_of_topic(self, topic: str) -> list[TopicPartition]:
        """All partitions of one topic."""
        return [TopicPartition(topic, p) for p in self._assignments.get(topic, {})]

    def partitions_on_broker(self, broker_id: int) -> list[TopicPartition]:
        """All partitions of which this broker has a replica."""
        return [tp for tp in self.all_partitions if broker_id in self.replicas(tp)]

    # Replicas

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[PartitionAndReplica]:
        """All replicas of these partitions."""
        return [PartitionAndReplica(tp, r) for tp in partitions for r in self.replicas(tp)]

    def replicas_of_topic(self, topic: str) -> list[PartitionAndReplica]:
        """All replicas of all partitions of a topic."""
        return self.replicas_of(self.partitions_of_topic(topic))

    def replicas_on_brokers(self, broker_ids: Iterable[int]) -> list[PartitionAndReplica]:
        """All replicas that these brokers hold."""
        return [
            PartitionAndReplica(tp, broker_id)
            for broker_id in broker_ids
            for tp in self.partitions_on_broker(broker_id)
        ]

    def live_replicas(self, tp: TopicPartition) -> tuple[int, ...]:
        """Give the replicas of a partition that are online, in order of preference."""
        return tuple(r for r in self.replicas(tp) if self.is_replica_online(r, tp))

    # Leaders

    def leader(self, tp: TopicPartition) -> int | None:
        """Give who leads a partition as far as known; -1 is nobody."""
        known = self.leadership.get(tp)
        return None if known is None else known.leader_and_isr.leader

    @property
    def partitions_with_leaders(self) -> list[TopicPartition]:
        """All partitions that have leader and ISR and are not to be deleted."""
        return [tp for tp in self.leadership if tp.topic not in self.topics_to_be_deleted]

    @property
    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        """All partitions, not to be deleted, whose leader is away."""
        return [
            tp
            for tp in self.partitions_with_leaders
            if not self.is_replica_online(self.leadership[tp].leader_and_isr.leader, tp)
        ]

    def partition_leaders_on_broker(self, broker_id: int) -> list[TopicPartition]:
        """All replicated partitions, not to be deleted, that this broker leads."""
        return [
            tp
            for tp in self.partitions_with_leaders
            if self.leader(tp) == broker_id and len(self.replicas(tp)) > 1
        ]

    @property
    def preferred_replica_imbalance_count(self) -> int:
        """How many partitions are not led by their first replica."""
        return sum(not self._has_preferred_leader(tp) for tp in self.partitions_with_leaders)

    def _has_preferred_leader(self, tp: TopicPartition) -> bool:
        assignment = self.assignment(tp)
        if not assignment.replicas:
            return True
        preferred = assignment.replicas[0]
        leader_and_isr = self.leadership[tp].leader_and_isr
        if preferred in assignment.adding_replicas:
            # Not imbalanced before the new replica could lead.
            return preferred not in leader_and_isr.isr
        return leader_and_isr.leader == preferred

    # States

    def partition_state(self, tp: TopicPartition) -> PartitionState:
        """Where a partition is."""
        return self._partition_states.get(tp, PartitionState.NON_EXISTENT)

    def initialize_partition_state(self, tp: TopicPartition, state: PartitionState) -> None:
        """Set the state in which a new controller finds a partition."""
        self._partition_states[tp] = state

    def move_partition(self, tp: TopicPartition, target: PartitionState) -> None:
        """Change a partition's state, or raise IllegalTransitionError."""
        state = self.partition_state(tp)
        if state not in target.predecessors:
            raise IllegalTransitionError(_illegal(f"Partition {tp}", state, target))
        self._partition_states[tp] = target

    def partitions_in(self, *states: PartitionState) -> list[TopicPartition]:
        """All partitions in one of these states."""
        return [tp for tp, state in self._partition_states.items() if state in states]

    @property
    def offline_partition_count(self) -> int:
        """How many partitions are offline, those being deleted not counted."""
        return sum(
            tp.topic not in self.topics_with_deletion_started
            for tp in self.partitions_in(PartitionState.OFFLINE)
        )

    def replica_state(self, replica: PartitionAndReplica) -> ReplicaState:
        """Where a replica is."""
        return self._replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def initialize_replica_state(self, replica: PartitionAndReplica, state: ReplicaState) -> None:
        """Set the state in which a new controller finds a replica."""
        self._replica_states[replica] = state

    def move_replica(self, replica: PartitionAndReplica, target: ReplicaState) -> None:
        """Change a replica's state, or raise IllegalTransitionError."""
        state = self.replica_state(replica)
        if state not in target.predecessors:
            raise IllegalTransitionError(_illegal(f"Replica {replica}", state, target))
        if target is ReplicaState.NON_EXISTENT:
            del self._replica_states[replica]
        else:
            self._replica_states[replica] = target

    def replicas_in(self, topic: str, state: ReplicaState) -> list[PartitionAndReplica]:
        """All replicas of a topic in this state."""
        return [r for r in self.replicas_of_topic(topic) if self.replica_state(r) is state]

    def are_all_replicas_in(self, topic: str, state: ReplicaState) -> bool:
        """Whether every replica of a topic is in this state."""
        return all(self.replica_state(r) is state for r in self.replicas_of_topic(topic))

    # Deletion

    def is_topic_queued_for_deletion(self, topic: str) -> bool:
        """Whether somebody wants the topic deleted."""
        return topic in self.topics_to_be_deleted


def _illegal(
    what: str, state: PartitionState | ReplicaState, target: PartitionState | ReplicaState
) -> str:
    legal = ", ".join(sorted(map(str, target.predecessors)))
    return f"{what} should be in one of {legal} before moving to {target}, but it is in {state}"
