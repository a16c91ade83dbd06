"""Partitions move to other brokers: by the API, by the znode, over fail-overs and cancelled."""

import json

import pytest

from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    InvalidReplicaAssignmentError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)
from kafkalike.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrRequestTopicData,
)
from tests.support.controller_cluster import ControllerCluster
from tests.support.run import run

T0 = TopicPartition("t", 0)


def a_cluster(*replicas: int) -> ControllerCluster:
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3, 4)
    cluster.create_topic("t", {0: replicas or (1, 2)})
    return cluster


def reassign(cluster: ControllerCluster, target: tuple[int, ...] | None) -> object:
    return run(cluster.controller.alter_partition_reassignments({T0: target}))[T0]


def ongoing(cluster: ControllerCluster) -> dict[TopicPartition, ReplicaAssignment]:
    return run(cluster.controller.list_partition_reassignments())


def in_sync(cluster: ControllerCluster, *isr: int) -> None:
    """Let the leader report these replicas as in sync."""
    state = cluster.state("t", 0)
    partition = AlterIsrRequestPartitionData(
        partition_index=0,
        leader_epoch=state.leader_epoch,
        new_isr=isr,
        current_isr_version=state.zk_version,
    )
    request = AlterIsrRequest(
        broker_id=state.leader,
        broker_epoch=cluster.brokers[state.leader].epoch,
        topics=[AlterIsrRequestTopicData(name="t", partitions=[partition])],
    )
    assert run(cluster.controller.alter_isr(request)).topics[0].partitions[0].error_code == 0


def assignment(cluster: ControllerCluster) -> tuple[list[int], list[int], list[int]]:
    """Replicas, adding and removing replicas in ZooKeeper."""
    data = json.loads(cluster.zookeeper.data("/brokers/topics/t") or b"")
    return (
        data["partitions"]["0"],
        data["adding_replicas"].get("0", []),
        data["removing_replicas"].get("0", []),
    )


def test_new_replicas_catch_up_before_the_old_ones_go() -> None:
    cluster = a_cluster()
    assert reassign(cluster, (3, 4)) is None
    assert assignment(cluster) == ([3, 4, 1, 2], [3, 4], [1, 2])
    assert cluster.brokers[3].partitions[T0].is_new
    assert list(cluster.brokers[3].partitions[T0].adding_replicas) == [3, 4]
    assert cluster.brokers[1].partitions[T0].leader_epoch == 1
    assert ongoing(cluster) == {T0: ReplicaAssignment((3, 4, 1, 2), (3, 4), (1, 2))}

    in_sync(cluster, 1, 2, 3)
    assert ongoing(cluster)
    in_sync(cluster, 1, 2, 3, 4)
    assert not ongoing(cluster)
    assert assignment(cluster) == ([3, 4], [], [])
    state = cluster.state("t", 0)
    assert (state.leader, set(state.isr)) == (3, {3, 4})
    for gone in (1, 2):
        assert cluster.brokers[gone].deleted == [T0]
        assert T0 not in cluster.brokers[gone].partitions
    assert cluster.brokers[4].partitions[T0].leader == 3
    assert list(cluster.brokers[1].metadata[T0].replicas) == [3, 4]


def test_leader_that_stays_goes_on_leading_in_a_new_epoch() -> None:
    cluster = a_cluster(1, 2)
    reassign(cluster, (3, 1))
    epoch = cluster.state("t", 0).leader_epoch
    in_sync(cluster, 1, 2, 3)
    state = cluster.state("t", 0)
    assert (state.leader, set(state.isr)) == (1, {1, 3})
    assert state.leader_epoch > epoch
    assert cluster.brokers[2].deleted == [T0]


def test_fewer_replicas_need_no_waiting() -> None:
    cluster = a_cluster(1, 2, 3)
    assert reassign(cluster, (1,)) is None
    assert assignment(cluster) == ([1], [], [])
    assert cluster.state("t", 0).isr == (1,)
    assert cluster.brokers[3].deleted == [T0]


def test_other_order_is_a_reassignment_too() -> None:
    cluster = a_cluster(1, 2)
    assert reassign(cluster, (2, 1)) is None
    assert assignment(cluster) == ([2, 1], [], [])
    assert cluster.state("t", 0).leader == 1


def test_cancelled_move_takes_the_new_replicas_back() -> None:
    cluster = a_cluster()
    reassign(cluster, (3, 4))
    assert reassign(cluster, None) is None
    assert not ongoing(cluster)
    assert assignment(cluster) == ([1, 2], [], [])
    assert cluster.brokers[3].deleted == [T0]
    assert cluster.brokers[4].deleted == [T0]
    assert cluster.state("t", 0).isr == (1, 2)


def test_move_is_not_cancelled_where_that_would_lose_records() -> None:
    """The old replicas fell out of the ISR: only a new one has all acknowledged records."""
    cluster = a_cluster(2, 3)
    reassign(cluster, (4, 1))
    in_sync(cluster, 2, 3, 4)
    cluster.kill_broker(3)
    cluster.kill_broker(2)
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (4, (4,))
    refusal = reassign(cluster, None)
    assert isinstance(refusal, InvalidReplicaAssignmentError)
    assert "in sync" in str(refusal)
    assert cluster.state("t", 0).leader == 4
    assert cluster.brokers[4].deleted == []
    assert reassign(cluster, (1, 4)) is None


def test_redirected_move_drops_replicas_that_are_not_wanted_any_more() -> None:
    cluster = a_cluster()
    reassign(cluster, (3, 2))
    reassign(cluster, (4, 2))
    assert assignment(cluster) == ([4, 2, 1], [4], [1])
    assert cluster.brokers[3].deleted == [T0]
    in_sync(cluster, 1, 2, 4)
    assert assignment(cluster) == ([4, 2], [], [])


@pytest.mark.parametrize(
    ("target", "message"),
    [((), "Empty"), ((1, 1), "Duplicate"), ((1, -2), "Invalid broker id"), ((1, 9), "not alive")],
)
def test_impossible_targets_are_refused(target: tuple[int, ...], message: str) -> None:
    cluster = a_cluster()
    refusal = reassign(cluster, target)
    assert isinstance(refusal, InvalidReplicaAssignmentError)
    assert message in str(refusal)
    assert assignment(cluster) == ([1, 2], [], [])


def test_unknown_partition_and_missing_move_are_refused() -> None:
    cluster = a_cluster()
    nowhere = TopicPartition("nowhere", 0)
    outcome = run(cluster.controller.alter_partition_reassignments({nowhere: (1,), T0: None}))
    assert isinstance(outcome[nowhere], UnknownTopicOrPartitionError)
    assert isinstance(outcome[T0], NoReassignmentInProgressError)


def test_listing_is_limited_to_what_is_asked() -> None:
    cluster = a_cluster()
    cluster.create_topic("still", {0: (1,)})
    reassign(cluster, (3, 4))
    controller = cluster.controller
    assert list(run(controller.list_partition_reassignments([T0]))) == [T0]
    still = TopicPartition("still", 0)
    assert run(controller.list_partition_reassignments([still])) == {}


def test_new_controller_goes_on_with_the_move() -> None:
    cluster = a_cluster(2, 3)
    reassign(cluster, (4, 3))
    cluster.kill_broker(1)
    assert list(ongoing(cluster)) == [T0]
    in_sync(cluster, 2, 3, 4)
    assert assignment(cluster) == ([4, 3], [], [])
    assert cluster.state("t", 0).leader == 4
    assert cluster.brokers[2].deleted == [T0]


def test_move_waits_for_a_broker_that_dies_and_goes_on_when_it_returns() -> None:
    cluster = a_cluster(2, 3)
    reassign(cluster, (4, 3))
    cluster.kill_broker(4)
    assert list(ongoing(cluster)) == [T0]
    cluster.start_broker(4)
    assert cluster.brokers[4].partitions[T0].leader == 2
    in_sync(cluster, 2, 3, 4)
    assert not ongoing(cluster)


def test_znode_of_the_old_tools_moves_partitions_and_vanishes_when_done() -> None:
    cluster = a_cluster()
    for target in ((3, 4), (1, 2)):
        run(cluster.zk.create_partition_reassignment({T0: target}))
        assert list(ongoing(cluster)) == [T0]
        assert cluster.has_path("/admin/reassign_partitions")
        in_sync(cluster, 1, 2, 3, 4)
        assert assignment(cluster) == (list(target), [], [])
        assert not cluster.has_path("/admin/reassign_partitions")


def test_znode_that_names_what_is_not_there_vanishes() -> None:
    cluster = a_cluster()
    run(cluster.zk.create_partition_reassignment({TopicPartition("nowhere", 0): (1,)}))
    assert not cluster.has_path("/admin/reassign_partitions")


def test_api_overrules_the_znode() -> None:
    cluster = a_cluster()
    run(cluster.zk.create_partition_reassignment({T0: (3, 4)}))
    reassign(cluster, (3, 2))
    assert not cluster.has_path("/admin/reassign_partitions")
    assert assignment(cluster) == ([3, 2, 1], [3], [1])


def test_deletion_ends_a_move_and_deletes_old_and_new_replicas() -> None:
    cluster = a_cluster()
    run(cluster.zk.create_partition_reassignment({T0: (3, 2)}))
    cluster.delete_topic("t")
    assert not cluster.has_path("/brokers/topics/t")
    assert not cluster.has_path("/admin/reassign_partitions")
    assert not ongoing(cluster)
    assert [cluster.brokers[i].deleted for i in (1, 2, 3, 4)] == [[T0], [T0], [T0], []]


def test_new_controller_abandons_moves_of_topics_to_delete() -> None:
    cluster = a_cluster(2, 3)
    cluster.brokers[3].is_answering = False
    reassign(cluster, (4, 3))
    cluster.delete_topic("t")
    cluster.kill_broker(1)
    assert not ongoing(cluster)
    cluster.brokers[3].answer_all()
    assert not cluster.has_path("/brokers/topics/t")


def test_partition_that_never_had_a_leader_can_be_moved_to_a_live_broker() -> None:
    cluster = a_cluster()
    cluster.create_topic("new", {0: (9,)})
    tp = TopicPartition("new", 0)
    assert run(cluster.controller.alter_partition_reassignments({tp: (3, 4)}))[tp] is None
    assert not ongoing(cluster)
    assert (cluster.state("new", 0).leader, cluster.state("new", 0).isr) == (3, (3, 4))
    assert cluster.brokers[4].partitions[tp].leader == 3


def test_older_leaders_complete_a_move_through_zookeeper() -> None:
    cluster = ControllerCluster({"inter.broker.protocol.version": "2.6"})
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: (1, 2)}, has_id=False)
    run(cluster.zk.create_partition_reassignment({T0: (1, 3)}))
    state = cluster.state("t", 0)
    from dataclasses import replace

    run(cluster.zk.conditional_update_isr(T0, replace(state, isr=(1, 2, 3)), 1))
    assert assignment(cluster) == ([1, 3], [], [])
    assert not cluster.has_path("/admin/reassign_partitions")
