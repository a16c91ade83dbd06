"""Requests that change a running cluster: moves of replicas, elections, throttles. Blocking."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kafkalike.client.simple_client import SimpleClient
from kafkalike.launcher.cluster_view import BrokerView, ClusterView
from kafkalike.launcher.reassignment_plan import Replicas
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.errors import error_for
from kafkalike.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalike.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalike.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalike.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from kafkalike.protocol.schema import Message

TOPIC: Final = 2  # resource types of the configuration
BROKER: Final = 4

_SET: Final = 0
_DELETE: Final = 1
_PREFERRED: Final = 0
_TIMEOUT_MS: Final = 30_000


class ClusterAdmin:
    """Sends what only the controller may decide to whoever is the controller now."""

    def __init__(self, view: Callable[[], ClusterView]) -> None:
        self.view = view

    def reassign(self, plan: Mapping[TopicPartition, Replicas]) -> None:
        """Begin to move partitions to new replicas; a KafkaError names the first that cannot."""
        topics = [
            ReassignableTopic(
                name=topic,
                partitions=[
                    ReassignablePartition(partition_index=tp.partition, replicas=list(plan[tp]))
                    for tp in of_topic
                ],
            )
            for topic, of_topic in _by_topic(plan).items()
        ]
        answer = self._ask_controller(
            AlterPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=topics)
        )
        _check(answer.error_code, answer.error_message, "reassignment")
        for topic in answer.responses:
            for partition in topic.partitions:
                what = f"{topic.name}-{partition.partition_index}"
                _check(partition.error_code, partition.error_message, what)

    def moving(self) -> dict[TopicPartition, Replicas]:
        """Return the partitions that are being moved now, with the brokers they come to."""
        answer = self._ask_controller(
            ListPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=None)
        )
        _check(answer.error_code, answer.error_message, "list of reassignments")
        return {
            TopicPartition(topic.name, p.partition_index): tuple(p.adding_replicas)
            for topic in answer.topics
            for p in topic.partitions
        }

    def elect_preferred(self, partitions: Iterable[TopicPartition]) -> None:
        """Let the preferred replicas lead; one that does so already is no error."""
        topics = [
            TopicPartitions(topic=topic, partition_id=[tp.partition for tp in of_topic])
            for topic, of_topic in _by_topic(partitions).items()
        ]
        request = ElectLeadersRequest(
            election_type=_PREFERRED, topic_partitions=topics, timeout_ms=_TIMEOUT_MS
        )
        answer = self._ask_controller(request)
        for topic in answer.replica_election_results:
            for result in topic.partition_result:
                if result.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                    what = f"{topic.topic}-{result.partition_id}"
                    _check(result.error_code, result.error_message, what)

    def alter_config(
        self, broker: BrokerView, kind: int, name: str, values: Mapping[str, str | None]
    ) -> None:
        """Set configs of a topic or broker, at this broker; None takes one back."""
        configs = [
            AlterableConfig(
                name=key, config_operation=_DELETE if value is None else _SET, value=value
            )
            for key, value in values.items()
        ]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        answer = _ask(broker, IncrementalAlterConfigsRequest(resources=[resource]))
        for response in answer.responses:
            _check(response.error_code, response.error_message, f"configuration of {name}")

    # Any: the class of the answer follows from the request's, which mypy cannot see.
    def _ask_controller(self, request: Message) -> Any:
        return _ask(self.view().controller, request)


def _ask(broker: BrokerView, request: Message) -> Any:
    with SimpleClient(broker.host, broker.port, client_id="kafkalike-cluster") as client:
        return client.send(request)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics = defaultdict(list)
    for tp in partitions:
        topics[tp.topic].append(tp)
    return topics


def _check(error_code: int, message: str | None, what: str) -> None:
    if error_code:
        error = error_for(error_code)
        raise error(f"{what}: {message or ErrorCode(error_code).name}")
