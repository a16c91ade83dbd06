"""DeleteTopics (20): topics are deleted, by name or id.

v1 throttle time · v3 TOPIC_DELETION_DISABLED · v4 flexible · v5 error messages · v6 by topic id
"""

from collections.abc import Iterable

from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

_FIRST_VERSION_WITH_DISABLED_ERROR = 3
_FIRST_VERSION_WITH_IDS = 6


@api(ApiKey.DELETE_TOPICS, versions="0-6")
async def handle(context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete the topics that exist, if topics may be deleted at all."""
    broker = context.broker
    topics = _topics(context, request)
    if not broker.controller.is_active:
        return _refuse(topics, ErrorCode.NOT_CONTROLLER)
    if not broker.config.delete_topic_enable:
        # Older clients do not know the error that says so.
        is_known = context.api_version >= _FIRST_VERSION_WITH_DISABLED_ERROR
        code = ErrorCode.TOPIC_DELETION_DISABLED if is_known else ErrorCode.INVALID_REQUEST
        return _refuse(topics, code)
    if any(topic.name is not None and topic.topic_id != ZERO_UUID for topic in topics):
        return _refuse(topics, ErrorCode.INVALID_REQUEST)
    results = [_resolve(context, topic) for topic in topics]
    names = [topic.name for topic in results if topic.error_code == 0 and topic.name is not None]
    errors = await broker.topic_admin.delete_topics(
        list(dict.fromkeys(names)), request.timeout_ms, context.mutations_of(ApiKey.DELETE_TOPICS)
    )
    for result in results:
        if result.error_code == 0 and result.name is not None:
            result.error_code = errors[result.name].code
    return DeleteTopicsResponse(responses=results)


def _topics(context: RequestContext, request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    if context.api_version >= _FIRST_VERSION_WITH_IDS:
        return request.topics
    return [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names]


def _resolve(context: RequestContext, topic: DeleteTopicState) -> DeletableTopicResult:
    """Find the topic's name, and whether it is there."""
    broker = context.broker
    result = DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)
    if topic.topic_id != ZERO_UUID:
        result.name = broker.controller.context.topic_names.get(topic.topic_id)
        if result.name is None:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            return result
    if result.name is None:
        # Kafka asks its authorizer for a topic without a name, and that is denied.
        result.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif result.name not in broker.metadata_cache.snapshot.topics:
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return result


def _refuse(topics: Iterable[DeleteTopicState], code: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code)
            for topic in topics
        ]
    )
