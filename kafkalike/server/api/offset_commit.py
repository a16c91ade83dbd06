"""OffsetCommit (8): a group stores how far it has read.

v0 in ZooKeeper · v1 in Kafka, generation · v2 retention time instead of timestamps
v3 throttle time · v5 no retention time · v6 leader epoch · v7 static members · v8 flexible
"""

from twisted.logger import Logger

from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.coordinator.group.offset_commits import Codes, CommitOffsets
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.static_members import are_static_members_supported
from kafkalike.zk.errors import ZkError

log = Logger()

_NONE = -1
"""No leader epoch, no commit time, no retention time."""

_Partitions = dict[TopicPartition, OffsetCommitRequestPartition]


@api(ApiKey.OFFSET_COMMIT, versions="0-8")
async def handle(context: RequestContext, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Store offsets of partitions that exist."""
    wanted = {
        TopicPartition(topic.name, partition.partition_index): partition
        for topic in request.topics
        for partition in topic.partitions
    }
    if not are_static_members_supported(context, request.group_instance_id):
        return _response(request, dict.fromkeys(wanted, ErrorCode.UNSUPPORTED_VERSION))
    snapshot = context.broker.metadata_cache.snapshot
    known = {tp: one for tp, one in wanted.items() if snapshot.partition(tp) is not None}
    codes = dict.fromkeys(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if known:
        # The oldest clients keep their offsets in ZooKeeper.
        commit = _commit_to_zookeeper if context.api_version == 0 else _commit
        codes.update(await commit(context, request, known))
    return _response(request, codes)


async def _commit(
    context: RequestContext, request: OffsetCommitRequest, partitions: _Partitions
) -> Codes:
    now_ms = context.broker.time.now_ms()
    retention_ms = request.retention_time_ms
    expire_timestamp = None if retention_ms == _NONE else now_ms + retention_ms
    return await context.broker.group_coordinator.commit_offsets(
        CommitOffsets(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            generation_id=request.generation_id,
            offsets={
                tp: _offset(partition, now_ms, expire_timestamp)
                for tp, partition in partitions.items()
            },
        )
    )


def _offset(
    partition: OffsetCommitRequestPartition, now_ms: int, expire_timestamp: int | None
) -> OffsetAndMetadata:
    epoch, timestamp = partition.committed_leader_epoch, partition.commit_timestamp
    return OffsetAndMetadata(
        offset=partition.committed_offset,
        leader_epoch=None if epoch == _NONE else epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms if timestamp == _NONE else timestamp,
        expire_timestamp=expire_timestamp,
    )


async def _commit_to_zookeeper(
    context: RequestContext, request: OffsetCommitRequest, partitions: _Partitions
) -> Codes:
    limit = context.broker.config.offset_metadata_max_bytes
    codes: Codes = {}
    for tp, partition in partitions.items():
        if len(partition.committed_metadata or "") > limit:
            codes[tp] = ErrorCode.OFFSET_METADATA_TOO_LARGE
            continue
        try:
            await context.broker.zk.set_or_create_consumer_offset(
                request.group_id, tp, partition.committed_offset
            )
        except ZkError as error:
            log.error("{group}, {tp}: {error}", group=request.group_id, tp=tp, error=error)
            codes[tp] = ErrorCode.UNKNOWN_SERVER_ERROR
        else:
            codes[tp] = ErrorCode.NONE
    return codes


def _response(request: OffsetCommitRequest, codes: Codes) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=codes[TopicPartition(topic.name, partition.partition_index)],
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
