"""ListPartitionReassignments (46): which partitions are on the move, and how far they are."""

from collections import defaultdict

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import ApiError


@api(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0")
async def handle(
    context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Answer all moves, or those of the partitions named."""
    try:
        moves = await context.broker.controller.list_partition_reassignments(_partitions(request))
    except KafkaError as error:
        top = ApiError.of(error)
        return ListPartitionReassignmentsResponse(error_code=top.code, error_message=top.message)
    topics: dict[str, list[OngoingPartitionReassignment]] = defaultdict(list)
    for tp, assignment in moves.items():
        topics[tp.topic].append(
            OngoingPartitionReassignment(
                partition_index=tp.partition,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding_replicas),
                removing_replicas=list(assignment.removing_replicas),
            )
        )
    return ListPartitionReassignmentsResponse(
        topics=[OngoingTopicReassignment(name=t, partitions=found) for t, found in topics.items()]
    )


def _partitions(request: ListPartitionReassignmentsRequest) -> list[TopicPartition] | None:
    if request.topics is None:
        return None
    return [
        TopicPartition(topic.name, index)
        for topic in request.topics
        for index in topic.partition_indexes
    ]
