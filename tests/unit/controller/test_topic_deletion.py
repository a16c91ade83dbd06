"""Topics are deleted replica by replica, and a dead replica only halts it."""

import json

from kafkalike.model.leader_and_isr import LEADER_DURING_DELETE
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkalike.protocol.messages.stop_replica import StopReplicaRequest
from tests.support.controller_cluster import ControllerCluster, sent_to
from tests.support.golden_zk import golden_writes
from tests.support.run import run
from tests.unit.controller.zk_writes import masked

T0 = TopicPartition("t", 0)


def a_cluster(replicas: tuple[int, ...] = (2, 3), **properties: str) -> ControllerCluster:
    cluster = ControllerCluster({k.replace("_", "."): v for k, v in properties.items()})
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: replicas})
    return cluster


def test_deleted_topic_is_gone_from_zookeeper_and_from_brokers() -> None:
    """M71: brokers are told; in the end znodes, configs and the wish itself are gone."""
    cluster = a_cluster()
    cluster.take_sent()
    cluster.delete_topic("t")
    assert not [path for path in cluster.zookeeper.paths() if path.endswith("/t")]
    assert not cluster.has_topic_config("t")
    assert cluster.brokers[2].deleted == [T0]
    assert cluster.brokers[3].deleted == [T0]
    assert cluster.brokers[1].metadata[T0].leader == LEADER_DURING_DELETE
    assert "t" not in cluster.controller.context.all_topics


def test_replicas_are_stopped_before_they_are_deleted() -> None:
    cluster = a_cluster()
    cluster.take_sent()
    cluster.delete_topic("t")
    stops = [
        state
        for request in sent_to(cluster.take_sent(), 2, StopReplicaRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    ]
    assert [state.delete_partition for state in stops] == [False, True]
    assert {state.leader_epoch for state in stops} == {-2}


def test_writes_of_a_deletion_are_kafkas() -> None:
    """The states go down replica by replica, then partitions, topic, configs and wish."""
    golden = [masked(w) for w in golden_writes()]
    begin = golden.index(
        {"op": "create", "path": "/admin/delete_topics/py-topic", "data": None, "ephemeral": False}
    )
    end = next(
        i
        for i, w in enumerate(golden)
        if {"op": "delete", "path": "/admin/delete_topics/py-topic"} in w.get("ops", ())
    )
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("py-topic", _assignment_of("py-topic"))
    already = len(cluster.zookeeper.writes)
    cluster.delete_topic("py-topic")
    ours = [masked(w) for w in cluster.zookeeper.writes[already:]]
    assert ours == [w for w in golden[begin : end + 1] if "py-topic" in str(w)]


def _assignment_of(topic: str) -> dict[int, tuple[int, ...]]:
    (data,) = [
        json.loads(w["data"])
        for w in golden_writes()
        if w.get("path") == f"/brokers/topics/{topic}"
    ]
    return {int(p): tuple(r) for p, r in data["partitions"].items()}


def test_dead_replica_halts_the_deletion_until_its_broker_returns() -> None:
    cluster = a_cluster()
    cluster.kill_broker(3)
    cluster.delete_topic("t")
    assert cluster.has_path("/brokers/topics/t")
    assert cluster.brokers[2].deleted == [T0]
    assert cluster.controller.context.topics_ineligible_for_deletion == {"t"}
    cluster.start_broker(3)
    assert cluster.brokers[3].deleted == [T0]
    assert not cluster.has_path("/brokers/topics/t")
    assert not cluster.has_path("/admin/delete_topics/t")


def test_broker_that_dies_in_the_middle_only_halts_the_deletion() -> None:
    cluster = a_cluster()
    cluster.brokers[3].is_answering = False
    cluster.delete_topic("t")
    assert cluster.has_path("/brokers/topics/t")
    cluster.kill_broker(3)
    cluster.brokers[3].answer_all()
    assert cluster.has_path("/brokers/topics/t")
    cluster.start_broker(3)
    assert not cluster.has_path("/brokers/topics/t")


def test_replica_that_cannot_be_deleted_halts_the_deletion() -> None:
    cluster = a_cluster()
    cluster.brokers[3].storage_errors.add(T0)
    cluster.delete_topic("t")
    assert cluster.has_path("/brokers/topics/t")
    assert cluster.controller.context.topics_ineligible_for_deletion == {"t"}
    cluster.brokers[3].storage_errors.clear()
    cluster.kill_broker(3)
    cluster.start_broker(3)
    assert not cluster.has_path("/brokers/topics/t")


def test_new_controller_goes_on_with_the_deletion() -> None:
    cluster = a_cluster()
    cluster.brokers[3].is_answering = False
    cluster.delete_topic("t")
    cluster.kill_broker(1)
    cluster.brokers[3].answer_all()
    assert cluster.controller is not None
    assert not cluster.has_path("/brokers/topics/t")


def test_topic_of_the_same_name_can_be_created_again() -> None:
    cluster = a_cluster()
    cluster.delete_topic("t")
    cluster.take_sent()
    cluster.create_topic("t", {0: (3, 2), 1: (2, 3)})
    assert cluster.state("t", 0).leader == 3
    assert cluster.state("t", 0).leader_epoch == 0
    (request,) = sent_to(cluster.take_sent(), 3, LeaderAndIsrRequest)
    assert request.topic_states[0].topic_id == cluster.controller.context.topic_ids["t"]
    assert cluster.brokers[2].partitions[TopicPartition("t", 1)].leader == 2


def test_wish_to_delete_an_unknown_topic_is_taken_back() -> None:
    cluster = a_cluster()
    cluster.delete_topic("nowhere")
    assert not cluster.has_path("/admin/delete_topics/nowhere")
    assert cluster.has_path("/brokers/topics/t")


def test_wish_is_taken_back_where_deletion_is_switched_off() -> None:
    cluster = a_cluster(delete_topic_enable="false")
    cluster.delete_topic("t")
    assert not cluster.has_path("/admin/delete_topics/t")
    assert cluster.has_path("/brokers/topics/t")
    assert cluster.state("t", 0).leader == 2


def test_topic_being_deleted_gets_no_more_partitions() -> None:
    cluster = a_cluster()
    cluster.brokers[3].is_answering = False
    cluster.delete_topic("t")
    more = {T0: ReplicaAssignment((2, 3)), TopicPartition("t", 1): ReplicaAssignment((2, 3))}
    topic_id = cluster.controller.context.topic_ids["t"]
    run(cluster.zk.set_topic_assignment("t", topic_id, more))
    found = run(cluster.zk.get_replica_assignment_for_topics(["t"]))
    assert list(found) == [T0]
    assert not cluster.has_path("/brokers/topics/t/partitions/1")
    cluster.brokers[3].answer_all()
    assert not cluster.has_path("/brokers/topics/t")
