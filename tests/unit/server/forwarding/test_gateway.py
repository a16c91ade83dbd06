"""Through a gateway listener a client sees one broker, which is everything."""

from pathlib import Path
from typing import Any

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.forwarding_world import TOPIC, World
from tests.support.run import result_of


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.partition(0, leader=1, epoch=4)
    made.partition(1, leader=2, epoch=7)
    made.tell(2, leader=3, epoch=9)
    return made


def metadata(world: World, listener_name: str, version: int) -> Any:
    topics = [MetadataRequestTopic(name=TOPIC)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    return result_of(world.ask(request, world.connect(listener_name), version=version))


@pytest.mark.parametrize("version", range(12))
def test_metadata_name_one_node_as_leader_of_everything(world: World, version: int) -> None:
    """Rule 9: itself as leader of everything, at its gateway's address, under one node id."""
    answer = metadata(world, "GATEWAY", version)
    assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [(1, "h1", 9092)]
    assert answer.controller_id == 1
    (topic,) = answer.topics
    assert [p.partition_index for p in topic.partitions] == [0, 1, 2]
    for partition in topic.partitions:
        assert partition.error_code == ErrorCode.NONE
        ids = {partition.leader_id, *partition.replica_nodes, *partition.isr_nodes}
        assert ids == {1}


def test_leader_epochs_are_the_true_ones(world: World) -> None:
    """Rule 9: clients check their positions against them (KIP-320)."""
    (topic,) = metadata(world, "GATEWAY", 11).topics
    assert [partition.leader_epoch for partition in topic.partitions] == [4, 7, 9]


def test_partition_without_a_leader_has_none_through_a_gateway_either(world: World) -> None:
    world.tell(1, leader=-1, epoch=8)
    (topic,) = metadata(world, "GATEWAY", 11).topics
    partition = topic.partitions[1]
    assert partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert partition.leader_id == -1


def test_other_listeners_tell_the_truth(world: World) -> None:
    """Rule 9: on that listener only."""
    answer = metadata(world, "PLAINTEXT", 11)
    assert {broker.node_id for broker in answer.brokers} == {1, 2, 3}
    assert answer.controller_id == 2
    (topic,) = answer.topics
    assert [partition.leader_id for partition in topic.partitions] == [1, 2, 3]


def test_cluster_is_described_as_one_broker(world: World) -> None:
    """Rule 9."""
    gateway = result_of(world.ask(DescribeClusterRequest(), world.connect("GATEWAY")))
    assert [(b.broker_id, b.host, b.port) for b in gateway.brokers] == [(1, "h1", 9092)]
    assert gateway.controller_id == 1
    plain = result_of(world.ask(DescribeClusterRequest(), world.connect()))
    assert {broker.broker_id for broker in plain.brokers} == {1, 2, 3}
    assert plain.controller_id == 2


def test_cluster_without_a_controller_has_none_through_a_gateway_either(world: World) -> None:
    world.live(1, 2, 3, controller_id=-1)
    assert metadata(world, "GATEWAY", 11).controller_id == -1
