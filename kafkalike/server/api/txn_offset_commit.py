"""TxnOffsetCommit (28): a transaction stores the offsets of a group.

v2 leader epoch, COORDINATOR_LOAD_IN_PROGRESS · v3 member and generation (KIP-447), flexible
"""

from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.coordinator.group.offset_commits import Codes, CommitOffsets
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

_NO_LEADER_EPOCH = -1
_FIRST_VERSION_WITH_LOADING = 2

_Partitions = dict[TopicPartition, TxnOffsetCommitRequestPartition]


@api(ApiKey.TXN_OFFSET_COMMIT, versions="0-3")
async def handle(
    context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse:
    """Store offsets of partitions that exist; they take effect with the transaction."""
    wanted = {
        TopicPartition(topic.name, partition.partition_index): partition
        for topic in request.topics
        for partition in topic.partitions
    }
    snapshot = context.broker.metadata_cache.snapshot
    known = {tp: one for tp, one in wanted.items() if snapshot.partition(tp) is not None}
    codes = dict.fromkeys(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if known:
        codes.update(await _commit(context, request, known))
    return _response(request, codes)


async def _commit(
    context: RequestContext, request: TxnOffsetCommitRequest, partitions: _Partitions
) -> Codes:
    now_ms = context.broker.time.now_ms()
    codes = await context.broker.group_coordinator.commit_offsets(
        CommitOffsets(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            generation_id=request.generation_id,
            offsets={tp: _offset(one, now_ms) for tp, one in partitions.items()},
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
        )
    )
    return {tp: _code(context, code) for tp, code in codes.items()}


def _offset(partition: TxnOffsetCommitRequestPartition, now_ms: int) -> OffsetAndMetadata:
    epoch = partition.committed_leader_epoch
    return OffsetAndMetadata(
        offset=partition.committed_offset,
        leader_epoch=None if epoch == _NO_LEADER_EPOCH else epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
    )


def _code(context: RequestContext, code: ErrorCode) -> ErrorCode:
    # Producers before 2.0 would fail for good if told that the group is being loaded (KAFKA-7296).
    is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if is_loading and context.api_version < _FIRST_VERSION_WITH_LOADING:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _response(request: TxnOffsetCommitRequest, codes: Codes) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=codes[TopicPartition(topic.name, partition.partition_index)],
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
