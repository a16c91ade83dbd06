"""Guards of topics that are created, grown and deleted."""

from collections import Counter
from copy import copy
from typing import Any, Final

from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kafkalike.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from kafkalike.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Proceed, guard

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_FIRST_DELETE_VERSION_WITH_IDS: Final = 6


# Any: each API has request and response classes of its own.
@guard(ApiKey.CREATE_TOPICS)
async def create_topics(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for CREATE on the cluster or on each topic; configs are shown to who may see them."""
    names = [topic.name for topic in request.topics]
    if authorization.allows_cluster(AclOperation.CREATE, log_if_denied=False):
        allowed = set(names)
    else:
        allowed = authorization.allowed(AclOperation.CREATE, ResourceType.TOPIC, names)
    # What is named twice is refused for that, whoever asks.
    allowed |= {name for name, count in Counter(names).items() if count > 1}
    described = authorization.allowed(
        AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, names, log_if_denied=False
    )
    part = copy(request)
    part.topics = [topic for topic in request.topics if topic.name in allowed]
    answer = await proceed(part) if part.topics else CreateTopicsResponse()
    for result in answer.topics:
        if result.error_code == ErrorCode.NONE and result.name not in described:
            _hide_configs(result)
    answer.topics = [
        *answer.topics,
        *(_refused(name, described) for name in names if name not in allowed),
    ]
    whole: Message = answer
    return whole


def _hide_configs(result: CreatableTopicResult) -> None:
    result.topic_config_error_code = _DENIED
    result.configs = []
    result.num_partitions = result.replication_factor = -1


def _refused(name: str, described: set[str]) -> CreatableTopicResult:
    result = CreatableTopicResult(
        name=name, error_code=_DENIED, error_message="Authorization failed."
    )
    if name not in described:
        result.topic_config_error_code = _DENIED
    return result


@guard(ApiKey.CREATE_PARTITIONS)
async def create_partitions(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for ALTER on each topic."""
    counts = Counter(topic.name for topic in request.topics)
    once = [name for name, count in counts.items() if count == 1]
    allowed = authorization.allowed(AclOperation.ALTER, ResourceType.TOPIC, once)
    denied = [name for name in once if name not in allowed]
    part = copy(request)
    part.topics = [topic for topic in request.topics if topic.name not in denied]
    answer = await proceed(part) if part.topics else CreatePartitionsResponse()
    answer.results = [
        *answer.results,
        *(
            CreatePartitionsTopicResult(
                name=name, error_code=_DENIED, error_message="The topic authorization is failed."
            )
            for name in denied
        ),
    ]
    whole: Message = answer
    return whole


@guard(ApiKey.DELETE_TOPICS)
async def delete_topics(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for DELETE on each topic; one named by its id, of which a name must not be told."""
    has_ids = context.api_version >= _FIRST_DELETE_VERSION_WITH_IDS
    asked = (
        request.topics
        if has_ids
        else [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names]
    )
    judged = [(topic, _judge(authorization, context, topic)) for topic in asked]
    part = copy(request)
    if has_ids:
        part.topics = [topic for topic, refusal in judged if refusal is None]
    else:
        part.topic_names = [topic.name for topic, refusal in judged if refusal is None]
    refused = [refusal for _, refusal in judged if refusal is not None]
    answer = await proceed(part) if len(refused) < len(judged) else DeleteTopicsResponse()
    answer.responses = [*answer.responses, *refused]
    whole: Message = answer
    return whole


def _judge(
    authorization: Authorization, context: RequestContext, topic: DeleteTopicState
) -> DeletableTopicResult | None:
    """Refuse a topic, or let it pass; one with name and id is refused by the handler."""
    name = topic.name
    result = DeletableTopicResult(name=name, topic_id=topic.topic_id, error_code=_DENIED)
    if topic.topic_id != ZERO_UUID:
        known = context.broker.metadata_cache.snapshot.topic_names.get(topic.topic_id)
        if name is not None:
            return None if known == name and _may_delete(authorization, name) else result
        if known is None:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            return result
        if not authorization.allows(AclOperation.DESCRIBE, ResourceType.TOPIC, known):
            return result  # without the name: that the client gave the id tells it nothing
        result.name = name = known
    return None if name is not None and _may_delete(authorization, name) else result


def _may_delete(authorization: Authorization, name: str) -> bool:
    return authorization.allows(AclOperation.DELETE, ResourceType.TOPIC, name)
