"""The whole controller on a FakeZooKeeper: taking office, topics, the order of writes."""

import json
from dataclasses import replace

from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkalike.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.support.controller_cluster import ControllerCluster, sent_to
from tests.support.golden_zk import golden_writes
from tests.support.run import run
from tests.unit.controller.zk_writes import masked

T0 = TopicPartition("t", 0)


def test_first_broker_takes_office_in_kafkas_order_of_writes() -> None:
    """M40, M68: elected through ZooKeeper, as Kafka's own log of writes shows."""
    cluster = ControllerCluster()
    cluster.start_broker(1)
    assert cluster.controller.is_active
    assert cluster.controller.epoch == 1
    ours = [masked(w) for w in cluster.zookeeper.writes]
    golden = [masked(w) for w in golden_writes() if w.get("session") == "s0"]
    office = {"op": "create", "path": "/controller_epoch", "data": "0", "ephemeral": False}
    begin, golden_begin = ours.index(office), golden.index(office)
    by_others = ("/latest_producer_id_block", "/kafka-acl")
    expected = [
        w for w in golden[golden_begin:] if not str(w.get("path", "")).startswith(by_others)
    ]
    assert ours[begin:] == expected[: len(ours) - begin]
    assert [w["op"] for w in ours[begin:]] == ["create", "multi", "create", "multi"]


def test_new_topic_gets_leaders_and_its_znodes_in_kafkas_order() -> None:
    """M15: partitions are led as the assignment says; write for write as Kafka does it."""
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    golden = [masked(w) for w in golden_writes()]
    begin = next(i for i, w in enumerate(golden) if w.get("path") == "/brokers/topics/plain")
    already = len(cluster.zookeeper.writes)
    cluster.create_topic("plain", {0: (3, 2, 1), 1: (1, 3, 2), 2: (2, 1, 3)})
    ours = [masked(w) for w in cluster.zookeeper.writes[already:]]
    ours = ours[[w.get("path") for w in ours].index("/brokers/topics/plain") + 1 :]
    assert ours == golden[begin + 1 : begin + 8]
    assert [cluster.state("plain", p).leader for p in range(3)] == [3, 1, 2]


def test_replicas_of_new_partition_are_told_once_and_all_brokers_know_it() -> None:
    """M71: brokers are told of a new topic, its replicas of their roles."""
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    cluster.take_sent()
    cluster.create_topic("t", {0: (2, 3)})
    sent = cluster.take_sent()
    for broker_id in (2, 3):
        (request,) = sent_to(sent, broker_id, LeaderAndIsrRequest)
        (topic,) = request.topic_states
        (state,) = topic.partition_states
        assert (topic.topic_name, state.leader, state.leader_epoch) == ("t", 2, 0)
        assert (list(state.isr), list(state.replicas)) == ([2, 3], [2, 3])
        assert state.is_new
        assert request.broker_epoch == cluster.brokers[broker_id].epoch
        assert [leader.broker_id for leader in request.live_leaders] == [2]
    assert not sent_to(sent, 1, LeaderAndIsrRequest)
    for broker_id in (1, 2, 3):
        assert sent_to(sent, broker_id, UpdateMetadataRequest)
        assert cluster.brokers[broker_id].metadata[T0].leader == 2


def test_topic_id_is_announced_and_given_to_topics_without_one() -> None:
    cluster = ControllerCluster()
    cluster.start_broker(1)
    cluster.create_topic("t", {0: (1,)}, has_id=False)
    data = json.loads(cluster.zookeeper.data("/brokers/topics/t") or b"")
    assert data["topic_id"]
    (request,) = sent_to(cluster.sent, 1, LeaderAndIsrRequest)
    assert request.topic_states[0].topic_id == cluster.controller.context.topic_ids["t"]


def test_added_partitions_are_brought_online() -> None:
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2)
    cluster.create_topic("t", {0: (1, 2)})
    _set_assignment(cluster, "t", {0: (1, 2), 1: (2, 1), 2: (1, 2)})
    assert [cluster.state("t", p).leader for p in range(3)] == [1, 2, 1]
    assert cluster.brokers[2].partitions[TopicPartition("t", 1)].leader == 2


def test_partition_without_live_replica_waits_for_one() -> None:
    cluster = ControllerCluster()
    cluster.start_broker(1)
    cluster.create_topic("t", {0: (2,)})
    assert not cluster.has_path("/brokers/topics/t/partitions/0/state")
    cluster.start_broker(2)
    assert cluster.state("t", 0).leader == 2


def test_changed_end_points_reach_all_brokers() -> None:
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2)
    cluster.take_sent()
    info = cluster.members[2].info
    moved = replace(info.broker, end_points=(info.broker.end_points[0]._replace(port=7777),))
    run(cluster.members[2].zk.update_broker_info(replace(info, broker=moved)))
    (request,) = sent_to(cluster.take_sent(), 1, UpdateMetadataRequest)
    assert {b.id: b.endpoints[0].port for b in request.live_brokers}[2] == 7777


def _set_assignment(
    cluster: ControllerCluster, topic: str, replicas: dict[int, tuple[int, ...]]
) -> None:
    assignment = {TopicPartition(topic, p): ReplicaAssignment(r) for p, r in replicas.items()}
    topic_id = cluster.controller.context.topic_ids[topic]
    run(cluster.zk.set_topic_assignment(topic, topic_id, assignment))
