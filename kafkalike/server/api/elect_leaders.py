"""ElectLeaders (43): elect the preferred replicas, or any that live (unclean), as leaders.

v1 unclean elections, an error code for the whole · v2 flexible
"""

from collections import defaultdict

from kafkalike.controller.events import ElectionType
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, InvalidRequestError, KafkaError
from kafkalike.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import NO_ERROR, TIMED_OUT, ApiError


@api(ApiKey.ELECT_LEADERS, versions="0-2")
async def handle(context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Let the controller elect, and answer once the new leaders are known here."""
    outcome = await _elect(context, request)
    if request.topic_partitions is None:
        # Of all partitions only those are told for which something happened.
        outcome = {
            tp: error
            for tp, error in outcome.items()
            if error.code is not ErrorCode.ELECTION_NOT_NEEDED
        }
    topics: dict[str, list[PartitionResult]] = defaultdict(list)
    for tp, error in outcome.items():
        topics[tp.topic].append(
            PartitionResult(
                partition_id=tp.partition, error_code=error.code, error_message=error.message
            )
        )
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=results)
            for topic, results in topics.items()
        ]
    )


async def _elect(
    context: RequestContext, request: ElectLeadersRequest
) -> dict[TopicPartition, ApiError]:
    try:
        election_type = ElectionType(request.election_type)
    except ValueError:
        raise InvalidRequestError(f"unknown election type {request.election_type}") from None
    partitions = _partitions(context, request)
    try:
        elected = await context.broker.controller.elect_leaders(partitions, election_type)
    except KafkaError as error:
        return dict.fromkeys(partitions, ApiError.of(error))
    leaders = {tp: leader for tp, leader in elected.items() if isinstance(leader, int)}
    late = await context.broker.topic_admin.waits.for_elected(leaders, request.timeout_ms)
    return {
        tp: ApiError.of(result)
        if isinstance(result, KafkaError)
        else (TIMED_OUT if tp.topic in late else NO_ERROR)
        for tp, result in elected.items()
    }


def _partitions(context: RequestContext, request: ElectLeadersRequest) -> list[TopicPartition]:
    if request.topic_partitions is None:
        topics = context.broker.metadata_cache.snapshot.topics
        return [TopicPartition(topic, number) for topic in topics for number in topics[topic]]
    return [
        TopicPartition(topic.topic, number)
        for topic in request.topic_partitions
        for number in topic.partition_id
    ]
