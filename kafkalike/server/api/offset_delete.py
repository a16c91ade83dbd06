"""OffsetDelete (47): committed offsets of a group are deleted (KIP-496)."""

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.OFFSET_DELETE, versions="0-0")
async def handle(context: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """Delete offsets of topics that the group does not read."""
    wanted = [
        TopicPartition(topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    snapshot = context.broker.metadata_cache.snapshot
    known = [tp for tp in wanted if snapshot.partition(tp) is not None]
    code, codes = await context.broker.group_coordinator.delete_offsets(request.group_id, known)
    if code is not ErrorCode.NONE:
        return OffsetDeleteResponse(error_code=code)
    topics: dict[str, OffsetDeleteResponseTopic] = {}
    for tp in wanted:
        topic = topics.setdefault(tp.topic, OffsetDeleteResponseTopic(name=tp.topic))
        topic.partitions.append(
            OffsetDeleteResponsePartition(
                partition_index=tp.partition,
                error_code=codes.get(tp, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            )
        )
    return OffsetDeleteResponse(topics=list(topics.values()))
