"""CreatePartitions (37): topics receive more partitions.

v2 flexible · v3 as v2 (quota errors, KIP-599)
"""

from collections import Counter

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import ApiError

_DUPLICATE = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
_BEING_DELETED = ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
_NOT_CONTROLLER = ApiError(ErrorCode.NOT_CONTROLLER)


@api(ApiKey.CREATE_PARTITIONS, versions="0-3")
async def handle(
    context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Add partitions to the topics that are named once and stay."""
    broker = context.broker
    counts = Counter(topic.name for topic in request.topics)
    if not broker.controller.is_active:
        return _response(dict.fromkeys(counts, _NOT_CONTROLLER))
    errors = {name: _DUPLICATE for name, count in counts.items() if count > 1}
    doomed = broker.controller.context.topics_to_be_deleted
    errors |= {name: _BEING_DELETED for name in counts if name in doomed and name not in errors}
    errors |= await broker.topic_admin.create_partitions(
        [topic for topic in request.topics if topic.name not in errors],
        request.timeout_ms,
        validate_only=request.validate_only,
        record=context.mutations_of(ApiKey.CREATE_PARTITIONS),
    )
    return _response({name: errors[name] for name in counts})


def _response(errors: dict[str, ApiError]) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=name, error_code=error.code, error_message=error.message
            )
            for name, error in errors.items()
        ]
    )
