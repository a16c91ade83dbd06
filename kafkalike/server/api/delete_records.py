"""DeleteRecords (21): records before an offset are deleted.

v2 flexible
"""

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

INVALID_LOW_WATERMARK = -1
_UNKNOWN = (INVALID_LOW_WATERMARK, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@api(ApiKey.DELETE_RECORDS, versions="0-2")
async def handle(context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Raise the log start offsets of the partitions that exist."""
    broker = context.broker
    snapshot = broker.metadata_cache.snapshot
    wanted = {
        TopicPartition(topic.name, partition.partition_index): partition.offset
        for topic in request.topics
        for partition in topic.partitions
    }
    known = {tp: offset for tp, offset in wanted.items() if snapshot.partition(tp) is not None}
    reached = (
        await broker.replica_manager.delete_records(known, request.timeout_ms) if known else {}
    )
    topics: dict[str, DeleteRecordsTopicResult] = {}
    for tp in wanted:
        low_watermark, code = reached.get(tp, _UNKNOWN)
        topics.setdefault(tp.topic, DeleteRecordsTopicResult(name=tp.topic)).partitions.append(
            DeleteRecordsPartitionResult(
                partition_index=tp.partition, low_watermark=low_watermark, error_code=code
            )
        )
    return DeleteRecordsResponse(topics=list(topics.values()))
