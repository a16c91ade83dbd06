"""OffsetForLeaderEpoch (23): where an epoch ended, to find where two logs diverged (KIP-101).

v1 leader epochs in the answer · v2 throttle time, current leader epoch
v3 replica id · v4 flexible
"""

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="0-4")
async def handle(
    context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Look up each partition that this broker leads."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _end_offset(context, TopicPartition(topic.topic, wanted.partition), wanted)
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _end_offset(
    context: RequestContext, tp: TopicPartition, wanted: OffsetForLeaderPartition
) -> EpochEndOffset:
    try:
        partition = context.broker.replica_manager.partition_or_error(tp)
        end = partition.last_offset_for_leader_epoch(
            wanted.current_leader_epoch, wanted.leader_epoch, only_from_leader=True
        )
    except KafkaError as error:
        return EpochEndOffset(partition=tp.partition, error_code=error.code)
    if end is None:
        return EpochEndOffset(partition=tp.partition)
    return EpochEndOffset(
        partition=tp.partition, leader_epoch=end.leader_epoch, end_offset=end.offset
    )
