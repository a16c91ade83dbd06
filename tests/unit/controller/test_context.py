"""ControllerContext: live brokers, assignments, leadership, deletion."""

import pytest

from kafkalike.controller.context import ControllerContext
from kafkalike.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def a_broker(broker_id: int) -> Broker:
    return Broker(broker_id, (EndPoint("h", 9092, "PLAINTEXT", "PLAINTEXT"),))


def a_context() -> ControllerContext:
    context = ControllerContext()
    context.set_live_brokers({a_broker(1): 11, a_broker(2): 12, a_broker(3): 13})
    context.set_all_topics(["a", "b"])
    for tp, replicas in ((A0, (1, 2)), (A1, (2, 3)), (B0, (3,))):
        context.update_assignment(tp, ReplicaAssignment(replicas))
        leader = LeaderAndIsr(replicas[0], 5, replicas)
        context.leadership[tp] = LeaderIsrAndControllerEpoch(leader, 1)
    return context


def test_broker_that_shuts_down_may_be_asked_but_not_lead() -> None:
    context = a_context()
    context.shutting_down_broker_ids.add(2)
    assert context.live_broker_ids == [1, 3]
    assert context.live_or_shutting_down_broker_ids == [1, 2, 3]
    assert context.live_replicas(A0) == (1,)
    assert context.is_replica_online(2, A0, include_shutting_down_brokers=True)


def test_replica_on_failed_directory_is_offline_while_its_broker_lives() -> None:
    context = a_context()
    context.replicas_on_offline_dirs[2] = {A0}
    assert not context.is_replica_online(2, A0)
    assert context.is_replica_online(2, A1)
    assert context.live_replicas(A0) == (1,)


def test_partitions_with_offline_leader_leave_out_topics_to_delete() -> None:
    context = a_context()
    context.remove_live_brokers([3])
    assert context.partitions_with_offline_leader == [B0]
    context.topics_to_be_deleted["b"] = None
    assert context.partitions_with_offline_leader == []


def test_leaders_on_a_broker_leave_out_what_nobody_else_has() -> None:
    context = a_context()
    assert context.partition_leaders_on_broker(2) == [A1]
    assert context.partition_leaders_on_broker(3) == []


def test_replicas_are_found_by_broker_and_topic() -> None:
    context = a_context()
    assert context.replicas_on_brokers([2]) == [
        PartitionAndReplica(A0, 2),
        PartitionAndReplica(A1, 2),
    ]
    assert context.replicas_of_topic("b") == [PartitionAndReplica(B0, 3)]
    assert context.replicas_of_topic("unknown") == []


def test_forgotten_topic_leaves_nothing_behind() -> None:
    context = a_context()
    context.add_topic_id("a", b"\x01" * 16)
    context.topics_to_be_deleted["a"] = None
    context.topics_with_deletion_started.add("a")
    context.topics_ineligible_for_deletion.add("a")
    context.initialize_partition_state(A0, PartitionState.OFFLINE)
    context.initialize_replica_state(PartitionAndReplica(A0, 1), ReplicaState.OFFLINE)
    context.remove_topic("a")
    assert list(context.all_topics) == ["b"]
    assert context.all_partitions == [B0]
    assert not context.topic_ids
    assert not context.topic_names
    assert list(context.leadership) == [B0]
    assert context.partition_state(A0) is PartitionState.NON_EXISTENT
    assert context.replica_state(PartitionAndReplica(A0, 1)) is ReplicaState.NON_EXISTENT
    assert not context.topics_to_be_deleted
    assert not context.topics_ineligible_for_deletion


@pytest.mark.parametrize(
    ("topic", "topic_id"), [("unknown", b"\x02" * 16), ("a", b"\x02" * 16), ("b", b"\x01" * 16)]
)
def test_topic_ids_are_one_to_one(topic: str, topic_id: bytes) -> None:
    context = a_context()
    context.add_topic_id("a", b"\x01" * 16)
    context.add_topic_id("a", b"\x01" * 16)
    with pytest.raises(ValueError, match=topic):
        context.add_topic_id(topic, topic_id)


def test_counts_for_metrics() -> None:
    context = a_context()
    assert context.preferred_replica_imbalance_count == 0
    context.leadership[A0] = LeaderIsrAndControllerEpoch(LeaderAndIsr(2, 6, (1, 2)), 1)
    assert context.preferred_replica_imbalance_count == 1
    # A replica that is being added is not expected to lead before it is in sync.
    context.update_assignment(A1, ReplicaAssignment((4, 2, 3), (4,), (3,)))
    assert context.preferred_replica_imbalance_count == 1
    context.initialize_partition_state(A0, PartitionState.OFFLINE)
    context.initialize_partition_state(B0, PartitionState.OFFLINE)
    assert context.offline_partition_count == 2
    context.topics_with_deletion_started.add("b")
    assert context.offline_partition_count == 1


def test_reset_forgets_everything() -> None:
    context = a_context()
    context.epoch, context.epoch_zk_version = 7, 8
    context.shutting_down_broker_ids.add(1)
    context.reset()
    assert (context.epoch, context.epoch_zk_version) == (0, 0)
    assert not context.live_or_shutting_down_broker_ids
    assert not context.shutting_down_broker_ids
    assert not context.all_partitions
    assert not context.leadership
