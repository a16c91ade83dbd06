"""Guards of committed offsets: of the group, and of each topic."""

from copy import copy
from typing import Any, Final

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkalike.protocol.messages.offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafkalike.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafkalike.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Proceed, guard
from kafkalike.server.authorization.partial import by_topic

_GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_FIRST_FETCH_VERSION_WITH_GROUP_ERROR: Final = 2
_INVALID_OFFSET: Final = -1


# Any: each API has request and response classes of its own.
def _commit_refusal(topic: Any, code: ErrorCode = _TOPIC_DENIED) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            OffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
            for one in topic.partitions
        ],
    )


@guard(ApiKey.OFFSET_COMMIT)
async def offset_commit(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for READ on the group and on topics."""
    if not authorization.allows(AclOperation.READ, ResourceType.GROUP, request.group_id):
        return OffsetCommitResponse(
            topics=[_commit_refusal(topic, _GROUP_DENIED) for topic in request.topics]
        )
    return await by_topic(
        authorization, AclOperation.READ, request, proceed, _commit_refusal, OffsetCommitResponse
    )


def _txn_refusal(topic: Any, code: ErrorCode = _TOPIC_DENIED) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
            for one in topic.partitions
        ],
    )


@guard(ApiKey.TXN_OFFSET_COMMIT)
async def txn_offset_commit(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for WRITE on the transactional id, READ on the group and on topics."""
    code = ErrorCode.NONE
    if not authorization.allows(
        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id
    ):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not authorization.allows(AclOperation.READ, ResourceType.GROUP, request.group_id):
        code = _GROUP_DENIED
    if code is not ErrorCode.NONE:
        return TxnOffsetCommitResponse(
            topics=[_txn_refusal(topic, code) for topic in request.topics]
        )
    return await by_topic(
        authorization, AclOperation.READ, request, proceed, _txn_refusal, TxnOffsetCommitResponse
    )


@guard(ApiKey.OFFSET_DELETE)
async def offset_delete(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for DELETE on the group and READ on topics."""
    if not authorization.allows(AclOperation.DELETE, ResourceType.GROUP, request.group_id):
        return OffsetDeleteResponse(error_code=_GROUP_DENIED)

    def refuse(topic: Any) -> OffsetDeleteResponseTopic:
        return OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=one.partition_index, error_code=_TOPIC_DENIED
                )
                for one in topic.partitions
            ],
        )

    return await by_topic(authorization, AclOperation.READ, request, proceed, refuse)


def _fetch_refusal(topic: Any, code: ErrorCode = _TOPIC_DENIED) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=index,
                committed_offset=_INVALID_OFFSET,
                metadata="",
                error_code=code,
            )
            for index in topic.partition_indexes
        ],
    )


@guard(ApiKey.OFFSET_FETCH)
async def offset_fetch(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for DESCRIBE on the group and on topics; of all topics, show those that are allowed."""
    if not authorization.allows(AclOperation.DESCRIBE, ResourceType.GROUP, request.group_id):
        return _group_refusal(context, request)
    if request.topics is not None:
        return await by_topic(
            authorization, AclOperation.DESCRIBE, request, proceed, _fetch_refusal
        )
    answer = await proceed(copy(request))
    names = [topic.name for topic in answer.topics]
    allowed = authorization.allowed(AclOperation.DESCRIBE, ResourceType.TOPIC, names)
    answer.topics = [topic for topic in answer.topics if topic.name in allowed]
    whole: Message = answer
    return whole


def _group_refusal(context: RequestContext, request: Any) -> OffsetFetchResponse:
    if context.api_version >= _FIRST_FETCH_VERSION_WITH_GROUP_ERROR:
        return OffsetFetchResponse(error_code=_GROUP_DENIED)
    return OffsetFetchResponse(
        topics=[_fetch_refusal(topic, _GROUP_DENIED) for topic in request.topics or ()]
    )
