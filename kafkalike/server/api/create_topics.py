"""CreateTopics (19): topics are created with partitions or assignments and configs.

v1 validate_only, error messages · v2 throttle time · v4 -1 means the broker's defaults (KIP-464)
v5 flexible, configs of the new topic (KIP-525) · v7 topic ids
"""

from collections import Counter

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import ApiError
from kafkalike.server.config_entry import ConfigEntry
from kafkalike.server.topic_admin import CreatedTopic

_DUPLICATE = CreatedTopic(
    ApiError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
)
_NOT_CONTROLLER = CreatedTopic(ApiError(ErrorCode.NOT_CONTROLLER))


@api(ApiKey.CREATE_TOPICS, versions="0-7")
async def handle(context: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Create the topics that are asked for once."""
    broker = context.broker
    if not broker.controller.is_active:
        return CreateTopicsResponse(
            topics=[_result(topic.name, _NOT_CONTROLLER) for topic in request.topics]
        )
    counts = Counter(topic.name for topic in request.topics)
    created = await broker.topic_admin.create_topics(
        [topic for topic in request.topics if counts[topic.name] == 1],
        request.timeout_ms,
        validate_only=request.validate_only,
        record=context.mutations_of(ApiKey.CREATE_TOPICS),
    )
    return CreateTopicsResponse(
        topics=[
            _result(topic.name, created.get(topic.name, _DUPLICATE)) for topic in request.topics
        ]
    )


def _result(name: str, topic: CreatedTopic) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        topic_id=topic.topic_id,
        error_code=topic.error.code,
        error_message=topic.error.message,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        configs=list(map(_config, topic.configs)),
    )


def _config(entry: ConfigEntry) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
    )
