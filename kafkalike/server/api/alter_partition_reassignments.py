"""AlterPartitionReassignments (45): move partitions to other brokers, or stop a move (KIP-455)."""

from collections import defaultdict
from collections.abc import Mapping

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import NO_ERROR, ApiError


@api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0")
async def handle(
    context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Begin, redirect or stop moves; each partition has its own answer."""
    wanted = {
        TopicPartition(topic.name, partition.partition_index): (
            None if partition.replicas is None else tuple(partition.replicas)
        )
        for topic in request.topics
        for partition in topic.partitions
    }
    try:
        outcome = await context.broker.controller.alter_partition_reassignments(wanted)
    except KafkaError as error:
        top = ApiError.of(error)
        return AlterPartitionReassignmentsResponse(error_code=top.code, error_message=top.message)
    return AlterPartitionReassignmentsResponse(responses=_responses(outcome))


def _responses(
    outcome: Mapping[TopicPartition, KafkaError | None],
) -> list[ReassignableTopicResponse]:
    topics: dict[str, list[ReassignablePartitionResponse]] = defaultdict(list)
    for tp, problem in outcome.items():
        error = NO_ERROR if problem is None else ApiError.of(problem)
        topics[tp.topic].append(
            ReassignablePartitionResponse(
                partition_index=tp.partition, error_code=error.code, error_message=error.message
            )
        )
    return [ReassignableTopicResponse(name=t, partitions=found) for t, found in topics.items()]
