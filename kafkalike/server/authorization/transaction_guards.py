"""Guards of producers that are idempotent or transactional, and of delegation tokens' listing."""

from typing import Any, Final

from kafkalike.model.topic import is_internal
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafkalike.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafkalike.protocol.messages.end_txn import EndTxnResponse
from kafkalike.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalike.protocol.records.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Proceed, guard

_DENIED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


# Any: each API has request and response classes of its own.
@guard(ApiKey.INIT_PRODUCER_ID)
async def init_producer_id(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for WRITE on the transactional id; without one, to write idempotently somewhere."""
    code = ErrorCode.NONE
    if request.transactional_id is not None:
        if not _may_write(authorization, request):
            code = _DENIED
    elif not (
        authorization.allows_cluster(AclOperation.IDEMPOTENT_WRITE, log_if_denied=False)
        or authorization.allows_somewhere(AclOperation.WRITE, ResourceType.TOPIC)
    ):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if code is not ErrorCode.NONE:
        return InitProducerIdResponse(
            error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
        )
    answer: Message | None = await proceed(request)
    return answer


@guard(ApiKey.ADD_PARTITIONS_TO_TXN)
async def add_partitions_to_txn(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for WRITE on the transactional id and on all topics: it is all or nothing."""
    if not _may_write(authorization, request):
        return _all_refused(request, dict.fromkeys(_partitions(request), _DENIED))
    names = {topic.name for topic in request.topics if not is_internal(topic.name)}
    allowed = authorization.allowed(AclOperation.WRITE, ResourceType.TOPIC, names)
    if allowed == names:  # internal topics are refused by the handler
        answer: Message | None = await proceed(request)
        return answer
    snapshot = context.broker.metadata_cache.snapshot
    codes = {}
    for tp in _partitions(request):
        if tp.topic not in allowed:
            codes[tp] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif snapshot.partition(tp) is None:
            codes[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            codes[tp] = ErrorCode.OPERATION_NOT_ATTEMPTED
    return _all_refused(request, codes)


def _partitions(request: Any) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, partition)
        for topic in request.topics
        for partition in topic.partitions
    ]


def _all_refused(request: Any, codes: dict[TopicPartition, ErrorCode]) -> Message:
    return AddPartitionsToTxnResponse(
        results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=partition,
                        error_code=codes[TopicPartition(topic.name, partition)],
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


@guard(ApiKey.ADD_OFFSETS_TO_TXN)
async def add_offsets_to_txn(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for WRITE on the transactional id and READ on the group."""
    if not _may_write(authorization, request):
        return AddOffsetsToTxnResponse(error_code=_DENIED)
    if not authorization.allows(AclOperation.READ, ResourceType.GROUP, request.group_id):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    answer: Message | None = await proceed(request)
    return answer


@guard(ApiKey.END_TXN)
async def end_txn(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for WRITE on the transactional id."""
    if not _may_write(authorization, request):
        return EndTxnResponse(error_code=_DENIED)
    answer: Message | None = await proceed(request)
    return answer


def _may_write(authorization: Authorization, request: Any) -> bool:
    return authorization.allows(
        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id
    )
