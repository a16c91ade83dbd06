"""Guards of requests about partitions: those of topics that the client may not use are refused."""

from typing import Any, Final

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.describe_producers import PartitionResponse, TopicResponse
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.protocol.records.record_batch import is_transactional_batch
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.api.context import CloseConnection, RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Proceed, guard
from kafkalike.server.authorization.partial import by_topic
from kafkalike.server.forwarding import layout
from kafkalike.server.forwarding.layout import Layout

_DENIED: Final = 0
"""Who answers for partitions that are denied; the others have no such number."""


# Any: each API has request and response classes of its own.
async def _allowed_part(
    authorization: Authorization,
    operation: AclOperation,
    shape: Layout,
    request: Any,
    proceed: Proceed,
) -> tuple[Message | None, bool]:
    """Have what is allowed answered, refuse the rest; and say whether there was a rest."""
    names = shape.topic_names(request)
    allowed = authorization.allowed(operation, ResourceType.TOPIC, names)
    if len(allowed) == len(set(names)):
        return await proceed(request), False
    parts = shape.split(request, lambda tp: None if tp.topic in allowed else _DENIED)
    answers = [shape.refuse(parts[_DENIED], ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    if None in parts:
        answer = await proceed(parts[None])
        if answer is None:
            return None, True
        answers.append(answer)
    return shape.merge(request, answers), True


@guard(ApiKey.PRODUCE)
async def produce(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for WRITE on topics, and on the transactional id of transactional batches."""
    if not _is_transaction_allowed(authorization, request):
        answer: Message | None = layout.PRODUCE.refuse(
            request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        )
        is_partial = True
    else:
        answer, is_partial = await _allowed_part(
            authorization, AclOperation.WRITE, layout.PRODUCE, request, proceed
        )
    if request.acks == 0 and is_partial:
        raise CloseConnection("a produce with acks=0 was not authorized")
    return answer


def _is_transaction_allowed(authorization: Authorization, request: ProduceRequest) -> bool:
    is_transactional = any(
        partition.records is not None and is_transactional_batch(partition.records)
        for topic in request.topic_data
        for partition in topic.partition_data
    )
    if not is_transactional:
        return True
    transactional_id = request.transactional_id
    return transactional_id is not None and authorization.allows(
        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
    )


@guard(ApiKey.LIST_OFFSETS)
async def list_offsets(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for DESCRIBE on topics."""
    answer, _ = await _allowed_part(
        authorization, AclOperation.DESCRIBE, layout.LIST_OFFSETS, request, proceed
    )
    return answer


@guard(ApiKey.DELETE_RECORDS)
async def delete_records(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for DELETE on topics."""
    answer, _ = await _allowed_part(
        authorization, AclOperation.DELETE, layout.DELETE_RECORDS, request, proceed
    )
    return answer


@guard(ApiKey.OFFSET_FOR_LEADER_EPOCH)
async def offset_for_leader_epoch(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Let brokers pass; ask others for DESCRIBE on topics (KIP-320)."""
    if authorization.allows_cluster(AclOperation.CLUSTER_ACTION, log_if_denied=False):
        passed: Message | None = await proceed(request)
        return passed
    answer, _ = await _allowed_part(
        authorization, AclOperation.DESCRIBE, layout.OFFSET_FOR_LEADER_EPOCH, request, proceed
    )
    return answer


@guard(ApiKey.DESCRIBE_PRODUCERS)
async def describe_producers(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for READ on topics."""

    def refuse(topic: Any) -> TopicResponse:
        return TopicResponse(
            name=topic.name,
            partitions=[
                PartitionResponse(
                    partition_index=index, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
                )
                for index in topic.partition_indexes
            ],
        )

    return await by_topic(authorization, AclOperation.READ, request, proceed, refuse)
