"""Guards of what is told about the cluster: topics that a client may not see, it does not see."""

from copy import copy
from typing import Any, Final

from kafkalike.model.topic import is_internal
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataResponseTopic
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import CLUSTER_NAME, ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Proceed, guard

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


# Any: the answer is that of the API.
@guard(ApiKey.METADATA)
async def metadata(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for DESCRIBE on topics, and for CREATE where a topic would be created."""
    if request.topics is None or (context.api_version == 0 and not request.topics):
        answer = await proceed(request)
        names = [topic.name for topic in answer.topics]
        allowed = authorization.allowed(
            AclOperation.DESCRIBE, ResourceType.TOPIC, names, log_if_denied=False
        )
        answer.topics = [topic for topic in answer.topics if topic.name in allowed]
        denied: list[MetadataResponseTopic] = []
    else:
        part, denied = _split(authorization, context, request)
        answer = await proceed(part)
        if not part.topics:
            answer.topics = []  # in v0 no topics means all of them
    _tell_operations(authorization, request, answer)
    answer.topics = [*answer.topics, *denied]
    whole: Message = answer
    return whole


def _split(
    authorization: Authorization, context: RequestContext, request: MetadataRequest
) -> tuple[MetadataRequest, list[MetadataResponseTopic]]:
    """Take the topics out that are denied; their existence is not disclosed."""
    names = [topic.name for topic in request.topics or () if topic.name is not None]
    described = authorization.allowed(AclOperation.DESCRIBE, ResourceType.TOPIC, names)
    uncreatable = _uncreatable(authorization, context, request, described)
    denied = [
        MetadataResponseTopic(
            error_code=_DENIED,
            name=name,
            is_internal=name in uncreatable and is_internal(name),
        )
        for name in dict.fromkeys(names)
        if name not in described or name in uncreatable
    ]
    refused = {topic.name for topic in denied}
    part = copy(request)
    part.topics = [topic for topic in request.topics or () if topic.name not in refused]
    return part, denied


def _uncreatable(
    authorization: Authorization,
    context: RequestContext,
    request: MetadataRequest,
    names: set[str],
) -> set[str]:
    """Give the missing topics that the client may not create by asking for them."""
    missing = names - context.broker.metadata_cache.snapshot.topics.keys()
    if (
        not missing
        or not request.allow_auto_topic_creation
        or not context.broker.config.auto_create_topics_enable
        or authorization.allows_cluster(AclOperation.CREATE, log_if_denied=False)
    ):
        return set()
    return missing - authorization.allowed(AclOperation.CREATE, ResourceType.TOPIC, missing)


def _tell_operations(authorization: Authorization, request: MetadataRequest, answer: Any) -> None:
    if request.include_topic_authorized_operations:
        for topic in answer.topics:
            topic.topic_authorized_operations = authorization.operations(
                ResourceType.TOPIC, topic.name
            )
    if request.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = _cluster_operations(authorization)


def _cluster_operations(authorization: Authorization) -> int:
    if not authorization.allows_cluster(AclOperation.DESCRIBE):
        return 0
    return authorization.operations(ResourceType.CLUSTER, CLUSTER_NAME)


@guard(ApiKey.DESCRIBE_CLUSTER)
async def describe_cluster(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Let everybody see the brokers; say what the client may do if it asks."""
    answer = await proceed(request)
    if request.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = _cluster_operations(authorization)
    whole: Message = answer
    return whole


@guard(ApiKey.DESCRIBE_DELEGATION_TOKEN)
async def describe_delegation_token(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Show a client its own tokens, those that it may renew, and those that it may describe."""
    answer = await proceed(request)
    asker = context.principal
    answer.tokens = [
        token
        for token in answer.tokens
        if (asker.principal_type, asker.name) in _parties(token)
        or authorization.allows(
            AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id
        )
    ]
    whole: Message = answer
    return whole


def _parties(token: Any) -> set[tuple[str, str]]:
    return {(one.principal_type, one.principal_name) for one in (token, *token.renewers)}
