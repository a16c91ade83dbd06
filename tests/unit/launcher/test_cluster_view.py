import socket

import pytest

from kafkalike.launcher.cluster_view import parse_view, view_from_any
from kafkalike.launcher.errors import ClusterError
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ANSWER = MetadataResponse(
    controller_id=2,
    brokers=[
        MetadataResponseBroker(node_id=1, host="a", port=9092, rack="r"),
        MetadataResponseBroker(node_id=2, host="b", port=9093),
    ],
    topics=[
        MetadataResponseTopic(
            name="t",
            partitions=[
                MetadataResponsePartition(
                    partition_index=0, leader_id=1, replica_nodes=[1, 2], isr_nodes=[2, 1]
                ),
                MetadataResponsePartition(
                    partition_index=1, leader_id=1, replica_nodes=[2, 1], isr_nodes=[1]
                ),
                MetadataResponsePartition(
                    partition_index=2, leader_id=-1, replica_nodes=[3], isr_nodes=[3]
                ),
            ],
        )
    ],
)


def test_view_counts_leaders_and_replicas() -> None:
    view = parse_view(ANSWER)
    assert [view.led_by(broker) for broker in (1, 2, 3)] == [2, 0, 0]
    assert [view.replicas_on(broker) for broker in (1, 2, 3)] == [2, 2, 1]


def test_partitions_that_miss_a_replica_are_found_whatever_the_order() -> None:
    assert parse_view(ANSWER).under_replicated() == [TopicPartition("t", 1)]


def test_controller_is_one_of_the_brokers() -> None:
    assert parse_view(ANSWER).controller.host == "b"


def test_no_controller_is_told() -> None:
    without = parse_view(MetadataResponse(controller_id=-1))
    with pytest.raises(ClusterError, match="no controller now"):
        _ = without.controller


def test_nobody_answering_is_told_with_the_last_address() -> None:
    with socket.socket() as bound:  # bound and not listening: nobody else can take it
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(ClusterError, match=rf"no broker answers \(127\.0\.0\.1:{port}: "):
            view_from_any([("127.0.0.1", port)])


def test_no_broker_to_ask_is_told() -> None:
    with pytest.raises(ClusterError, match="no broker runs"):
        view_from_any([])
