"""The machines over every (state, target) pair, and what they write and say on the way."""

from itertools import product

import pytest

from kafkalike.controller.election import ElectionStrategy
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.states import (
    PartitionAndReplica,
    PartitionState,
    ReplicaState,
    StateChangeFailedError,
)
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkalike.protocol.messages.stop_replica import StopReplicaRequest
from tests.support.controller_cluster import ControllerCluster, sent_to
from tests.support.run import result_of, run, start

TP, U = TopicPartition("t", 0), TopicPartition("u", 0)
REPLICA = PartitionAndReplica(TP, 2)


def a_cluster() -> tuple[ControllerCluster, ControllerParts]:
    """Broker 1 is the controller; `t-0` is on 3 (leader) and 2."""
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: (3, 2)})
    cluster.take_sent()
    return cluster, cluster.members[1].controller.parts


@pytest.mark.parametrize(
    ("state", "target"), list(product(PartitionState, PartitionState)), ids=str
)
def test_partition_machine_moves_legal_ones_and_leaves_the_others(
    state: PartitionState, target: PartitionState
) -> None:
    cluster, parts = a_cluster()
    parts.context.initialize_partition_state(TP, state)
    if state is PartitionState.NEW:
        run(cluster.zk.delete_path("/brokers/topics/t/partitions"))
    before = len(cluster.zookeeper.writes)
    run(parts.partition_state_machine.handle_state_changes([TP], target, ElectionStrategy.OFFLINE))
    if state in target.predecessors:
        assert parts.context.partition_state(TP) is target
    else:
        assert parts.context.partition_state(TP) is state
    has_written = len(cluster.zookeeper.writes) > before
    assert has_written == (target is PartitionState.ONLINE and state in target.predecessors)
    assert bool(sent_to(cluster.sent, 3, LeaderAndIsrRequest)) == has_written


@pytest.mark.parametrize(("state", "target"), list(product(ReplicaState, ReplicaState)), ids=str)
def test_replica_machine_moves_legal_ones_and_leaves_the_others(
    state: ReplicaState, target: ReplicaState
) -> None:
    cluster, parts = a_cluster()
    parts.context.initialize_replica_state(REPLICA, state)
    run(parts.replica_state_machine.handle_state_changes([REPLICA], target))
    is_legal = state in target.predecessors
    assert parts.context.replica_state(REPLICA) is (target if is_legal else state)
    sent = cluster.take_sent()
    stops = [
        partition.delete_partition
        for request in sent_to(sent, 2, StopReplicaRequest)
        for topic in request.topic_states
        for partition in topic.partition_states
    ]
    expected = {ReplicaState.OFFLINE: [False], ReplicaState.DELETION_STARTED: [True]}
    assert stops == (expected.get(target, []) if is_legal else [])
    is_told = is_legal and (
        target is ReplicaState.NEW
        or (target is ReplicaState.ONLINE and state is not ReplicaState.NEW)
    )
    assert bool(sent_to(sent, 2, LeaderAndIsrRequest)) == is_told
    is_out = is_legal and target is ReplicaState.OFFLINE
    assert cluster.state("t", 0).isr == ((3,) if is_out else (3, 2))
    is_gone = is_legal and target is ReplicaState.NON_EXISTENT
    assert parts.context.replicas(TP) == ((3,) if is_gone else (3, 2))


def test_leader_is_not_made_a_new_replica() -> None:
    _, parts = a_cluster()
    leader = PartitionAndReplica(TP, 3)
    parts.context.initialize_replica_state(leader, ReplicaState.NON_EXISTENT)
    run(parts.replica_state_machine.handle_state_changes([leader], ReplicaState.NEW))
    assert parts.context.replica_state(leader) is ReplicaState.NON_EXISTENT


def test_election_needs_a_strategy() -> None:
    _, parts = a_cluster()
    with pytest.raises(ValueError, match="strategy"):
        run(parts.partition_state_machine.handle_state_changes([TP], PartitionState.ONLINE))


def test_election_without_candidate_says_why_and_leaves_the_state() -> None:
    cluster, parts = a_cluster()
    cluster.members[1].session.unregister_znode_child_change_handler("/brokers/ids")
    parts.context.remove_live_brokers([2, 3])
    before = cluster.state("t", 0)
    outcome = run(
        parts.partition_state_machine.handle_state_changes(
            [TP], PartitionState.ONLINE, ElectionStrategy.OFFLINE
        )
    )
    assert isinstance(outcome[TP], StateChangeFailedError)
    assert cluster.state("t", 0) == before


def test_election_is_held_again_when_a_leader_changed_the_isr_meanwhile() -> None:
    """M69: a leader is written only on the state that the election has seen."""
    cluster, parts = a_cluster()
    cluster.zookeeper.is_delayed = True
    running = start(
        parts.partition_state_machine.handle_state_changes(
            [TP], PartitionState.ONLINE, ElectionStrategy.OFFLINE
        )
    )
    # The leader's write arrives after the election has read, before it writes.
    shrunk = start(cluster.members[3].zk.conditional_update_isr(TP, LeaderAndIsr(3, 0, (3,)), 1))
    cluster.zookeeper.pump()
    assert result_of(shrunk) == LeaderAndIsr(3, 0, (3,), 1)
    assert result_of(running) == {TP: LeaderAndIsr(3, 1, (3,), 2)}
    assert cluster.state("t", 0) == LeaderAndIsr(3, 1, (3,), 2)
    refused = [w for w in cluster.zookeeper.writes if "-103" in str(w)]
    assert len(refused) == 1


def test_state_of_a_later_controller_is_not_touched() -> None:
    cluster, parts = a_cluster()
    later = LeaderAndIsr(3, 5, (3, 2), 0)
    run(cluster.zk.conditional_update_isr(TP, later, 99))
    before = cluster.state("t", 0)
    outcome = run(
        parts.partition_state_machine.handle_state_changes(
            [TP], PartitionState.ONLINE, ElectionStrategy.PREFERRED
        )
    )
    assert isinstance(outcome[TP], StateChangeFailedError)
    run(parts.replica_state_machine.handle_state_changes([REPLICA], ReplicaState.OFFLINE))
    assert parts.context.replica_state(REPLICA) is ReplicaState.ONLINE
    assert cluster.state("t", 0) == before


def test_machine_of_a_former_controller_stops_at_the_first_write() -> None:
    """M68: the version of `/controller_epoch` fences every write."""
    cluster, parts = a_cluster()
    parts.context.epoch_zk_version -= 1
    before = cluster.state("t", 0)
    with pytest.raises(ControllerMovedError):
        run(
            parts.partition_state_machine.handle_state_changes(
                [TP], PartitionState.ONLINE, ElectionStrategy.OFFLINE
            )
        )
    with pytest.raises(ControllerMovedError):
        run(parts.replica_state_machine.handle_state_changes([REPLICA], ReplicaState.OFFLINE))
    assert cluster.state("t", 0) == before
    assert not cluster.sent
    parts.context.epoch_zk_version += 1
    run(parts.replica_state_machine.handle_state_changes([REPLICA], ReplicaState.OFFLINE))
    assert cluster.state("t", 0).isr == (3,)


def test_partition_gone_from_zookeeper_fails_alone() -> None:
    cluster, parts = a_cluster()
    cluster.create_topic("u", {0: (3, 2)})
    other = TopicPartition("u", 0)
    run(cluster.zk.delete_path("/brokers/topics/t/partitions/0/state"))
    outcome = run(
        parts.partition_state_machine.handle_state_changes(
            [TP, other], PartitionState.ONLINE, ElectionStrategy.OFFLINE
        )
    )
    assert isinstance(outcome[TP], StateChangeFailedError)
    assert isinstance(outcome[other], LeaderAndIsr)
    known = parts.context.leadership[other]
    assert known == LeaderIsrAndControllerEpoch(cluster.state("u", 0), 1)


def test_lost_answer_to_the_first_state_does_not_leave_a_partition_new() -> None:
    """It is sent again, refused as existing, and recognised as our own."""
    cluster, parts = a_cluster()
    session = cluster.members[1].session
    cluster.zookeeper.is_delayed = True
    start(cluster.members[3].zk.create_topic_assignment("u", bytes(15) + b"u", {U: (2, 3)}))
    while not cluster.has_path("/brokers/topics/u/partitions/0"):
        cluster.zookeeper.pump(1)
    session.lose_answer_of_next_multi()
    cluster.zookeeper.pump(5)
    assert cluster.has_path("/brokers/topics/u/partitions/0/state")
    session.resume()
    cluster.zookeeper.pump()
    assert parts.context.partition_state(U) is PartitionState.ONLINE
    assert cluster.brokers[2].partitions[U].is_new
    assert cluster.state("u", 0) == LeaderAndIsr(2, 0, (2, 3))


def test_state_that_stood_already_is_taken_over_by_an_election() -> None:
    cluster, parts = a_cluster()
    parts.context.initialize_partition_state(TP, PartitionState.NEW)
    del parts.context.leadership[TP]
    parts.context.replicas_on_offline_dirs[3] = {TP}
    run(parts.partition_state_machine.handle_state_changes([TP], PartitionState.ONLINE))
    assert cluster.state("t", 0) == LeaderAndIsr(2, 1, (2,), 1)
    assert parts.context.partition_state(TP) is PartitionState.ONLINE
