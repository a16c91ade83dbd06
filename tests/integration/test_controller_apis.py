"""What the controller is asked over the wire: elections, moves, shutdowns, features."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalike.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafkalike.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalike.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalike.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.broker import Broker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

PREFERRED = 0


@pytest.fixture(scope="module")
def brokers(broker_factory: Callable[..., Broker]) -> dict[int, Broker]:
    return {number: broker_factory(broker_id=number) for number in (1, 2)}


@pytest.fixture
def controller(brokers: dict[int, Broker]) -> Iterator[SimpleClient]:
    with SimpleClient("127.0.0.1", brokers[1].port) as client:
        found = wait_until(lambda: _controller_id(client), 20, "a controller")
    with closing(SimpleClient("127.0.0.1", brokers[found].port)) as client:
        yield client


def _controller_id(client: SimpleClient) -> int | None:
    metadata = client.send(MetadataRequest(topics=[]), 9)
    return metadata.controller_id if len(metadata.brokers) == 2 else None


def create(client: SimpleClient, topic: str, *replicas: int) -> None:
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))
    wanted = CreatableTopic(
        name=topic, num_partitions=-1, replication_factor=-1, assignments=[assignment]
    )
    answer = client.send(CreateTopicsRequest(topics=[wanted], timeout_ms=20_000))
    assert answer.topics[0].error_code == ErrorCode.NONE


def partition(client: SimpleClient, topic: str) -> tuple[int, list[int], set[int]]:
    """Return leader, replicas and ISR of a topic's only partition."""
    wanted = MetadataRequestTopic(name=topic)
    answer = client.send(MetadataRequest(topics=[wanted], allow_auto_topic_creation=False), 9)
    found = answer.topics[0].partitions[0]
    return found.leader_id, found.replica_nodes, set(found.isr_nodes)


def move(client: SimpleClient, topic: str, replicas: list[int] | None) -> tuple[int, str | None]:
    wanted = ReassignablePartition(partition_index=0, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=[wanted])]
    )
    answer = client.send(request, 0)
    assert answer.error_code == ErrorCode.NONE
    result = answer.responses[0].partitions[0]
    return result.error_code, result.error_message


def moves(client: SimpleClient, topic: str | None = None) -> list[str]:
    topics = None
    if topic is not None:
        topics = [ListPartitionReassignmentsTopics(name=topic, partition_indexes=[0])]
    answer = client.send(ListPartitionReassignmentsRequest(topics=topics), 0)
    assert answer.error_code == ErrorCode.NONE
    return [found.name for found in answer.topics]


def test_partition_moves_to_another_broker_with_its_leadership(controller: SimpleClient) -> None:
    create(controller, "moving", 1)
    assert move(controller, "moving", [2]) == (ErrorCode.NONE, None)
    wait_until(
        lambda: partition(controller, "moving") == (2, [2], {2}), 30, "the partition on broker 2"
    )
    wait_until(lambda: moves(controller, "moving") == [], 20, "the end of the move")


def test_move_to_a_broker_that_does_not_exist_is_refused(controller: SimpleClient) -> None:
    create(controller, "staying", 1)
    code, message = move(controller, "staying", [7])
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert message is not None
    assert "7" in message


def test_stopping_a_move_that_is_not_there_is_an_error(controller: SimpleClient) -> None:
    create(controller, "resting", 1)
    assert move(controller, "resting", None)[0] == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert "resting" not in moves(controller)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_preferred_leader_is_elected_again(controller: SimpleClient, version: int) -> None:
    topic = f"preferred-{version}"
    create(controller, topic, 1, 2)
    wait_until(lambda: partition(controller, topic)[2] == {1, 2}, 20, "both replicas in sync")
    # The order of replicas is the preference: turned round, the other one is preferred.
    assert move(controller, topic, [2, 1])[0] == ErrorCode.NONE
    wait_until(lambda: partition(controller, topic)[1] == [2, 1], 20, "the new order")
    request = ElectLeadersRequest(
        election_type=PREFERRED,
        topic_partitions=[TopicPartitions(topic=topic, partition_id=[0])],
        timeout_ms=20_000,
    )
    first = controller.send(request, version).replica_election_results[0].partition_result[0]
    assert first.error_code in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    assert partition(controller, topic)[0] == 2
    again = controller.send(request, version).replica_election_results[0].partition_result[0]
    assert again.error_code == ErrorCode.ELECTION_NOT_NEEDED


def test_election_for_an_unknown_partition_says_so(controller: SimpleClient) -> None:
    request = ElectLeadersRequest(
        election_type=PREFERRED,
        topic_partitions=[TopicPartitions(topic="nowhere", partition_id=[0])],
    )
    result = controller.send(request, 2).replica_election_results[0].partition_result[0]
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_shutdown_of_a_broker_that_is_not_there_is_an_error(
    controller: SimpleClient, version: int
) -> None:
    answer = controller.send(ControlledShutdownRequest(broker_id=77, broker_epoch=-1), version)
    assert answer.error_code == ErrorCode.BROKER_NOT_AVAILABLE


def test_shutdown_with_an_old_broker_epoch_is_refused(controller: SimpleClient) -> None:
    answer = controller.send(ControlledShutdownRequest(broker_id=1, broker_epoch=0), 3)
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_feature_that_nobody_has_cannot_be_finalized(controller: SimpleClient) -> None:
    update = FeatureUpdateKey(feature="teleport", max_version_level=1)
    answer = controller.send(UpdateFeaturesRequest(feature_updates=[update]), 0)
    assert answer.error_code == ErrorCode.NONE
    assert answer.results[0].error_code == ErrorCode.INVALID_REQUEST
