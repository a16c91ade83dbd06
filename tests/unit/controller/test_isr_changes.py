"""AlterIsr and the notifications of older leaders."""

import pytest

from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrRequestTopicData,
    AlterIsrResponse,
)
from kafkalike.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.support.controller_cluster import ControllerCluster, sent_to
from tests.support.run import run

T0 = TopicPartition("t", 0)


def a_cluster() -> ControllerCluster:
    """Broker 1 is the controller, broker 2 leads `t-0`."""
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: (2, 3)})
    return cluster


def alter_isr(
    cluster: ControllerCluster,
    *isr: int,
    topic: str = "t",
    leader_epoch: int = 0,
    version: int = 0,
    broker_epoch: int | None = None,
) -> AlterIsrResponse:
    partition = AlterIsrRequestPartitionData(
        partition_index=0, leader_epoch=leader_epoch, new_isr=isr, current_isr_version=version
    )
    request = AlterIsrRequest(
        broker_id=2,
        broker_epoch=cluster.brokers[2].epoch if broker_epoch is None else broker_epoch,
        topics=[AlterIsrRequestTopicData(name=topic, partitions=[partition])],
    )
    response = run(cluster.controller.alter_isr(request))
    return AlterIsrResponse.decode(response.encode(0), 0)


def test_leader_shrinks_and_expands_its_isr() -> None:
    cluster = a_cluster()
    cluster.take_sent()
    (topic,) = alter_isr(cluster, 2).topics
    (partition,) = topic.partitions
    assert (topic.name, partition.error_code) == ("t", ErrorCode.NONE)
    assert (partition.leader_id, list(partition.isr)) == (2, [2])
    assert (partition.leader_epoch, partition.current_isr_version) == (0, 1)
    assert cluster.state("t", 0) == LeaderAndIsr(2, 0, (2,), 1)
    (told,) = sent_to(cluster.take_sent(), 1, UpdateMetadataRequest)
    assert list(told.topic_states[0].partition_states[0].isr) == [2]
    alter_isr(cluster, 2, 3, version=1)
    assert cluster.state("t", 0) == LeaderAndIsr(2, 0, (2, 3), 2)


def test_isr_that_is_there_already_is_answered_without_a_write() -> None:
    """A leader whose answer was lost asks again."""
    cluster = a_cluster()
    alter_isr(cluster, 2)
    writes = len(cluster.zookeeper.writes)
    (topic,) = alter_isr(cluster, 2).topics
    assert topic.partitions[0].error_code == ErrorCode.NONE
    assert topic.partitions[0].current_isr_version == 1
    assert len(cluster.zookeeper.writes) == writes


def test_isr_based_on_an_old_version_is_refused() -> None:
    cluster = a_cluster()
    alter_isr(cluster, 2)
    (topic,) = alter_isr(cluster, 2, 3, version=0).topics
    assert topic.partitions[0].error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert cluster.state("t", 0).isr == (2,)


def test_isr_of_an_old_leader_epoch_is_fenced() -> None:
    cluster = a_cluster()
    cluster.kill_broker(3)
    before = cluster.state("t", 0)
    assert before.leader_epoch == 1
    (topic,) = alter_isr(cluster, 2, 3, version=before.zk_version).topics
    assert topic.partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert cluster.state("t", 0) == before


def test_unknown_partition_is_refused() -> None:
    (topic,) = alter_isr(a_cluster(), 2, topic="nowhere").topics
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_replica_that_is_stopping_or_gone_does_not_join_the_isr() -> None:
    """Acks=all would wait for it until it has lagged for long enough."""
    cluster = a_cluster()
    alter_isr(cluster, 2)
    cluster.controller.context.shutting_down_broker_ids.add(3)
    (topic,) = alter_isr(cluster, 2, 3, version=1).topics
    (partition,) = topic.partitions
    assert (partition.error_code, list(partition.isr)) == (ErrorCode.NONE, [2])
    assert partition.current_isr_version == 1, "the leader may ask again at once"
    assert cluster.state("t", 0) == LeaderAndIsr(2, 0, (2,), 1)
    cluster.kill_broker(3)
    before = cluster.state("t", 0)
    epoch, version = before.leader_epoch, before.zk_version
    (topic,) = alter_isr(cluster, 2, 3, leader_epoch=epoch, version=version).topics
    assert list(topic.partitions[0].isr) == [2]
    assert cluster.state("t", 0) == before


@pytest.mark.parametrize("difference", [-1, 1])
def test_broker_of_another_epoch_is_refused_altogether(difference: int) -> None:
    cluster = a_cluster()
    epoch = cluster.brokers[2].epoch + difference
    response = alter_isr(cluster, 2, broker_epoch=epoch)
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.state("t", 0).isr == (2, 3)


def test_isr_written_by_an_older_leader_is_told_to_all_brokers() -> None:
    cluster = a_cluster()
    new = LeaderAndIsr(2, 0, (2,), 0)
    run(cluster.members[2].zk.conditional_update_isr(T0, new, 1))
    cluster.take_sent()
    run(cluster.members[2].zk.propagate_isr_changes([T0]))
    assert list(cluster.brokers[1].metadata[T0].isr) == [2]
    assert cluster.controller.context.leadership[T0].leader_and_isr.isr == (2,)
    assert not [p for p in cluster.zookeeper.paths() if "isr_change_0" in p]
