"""Requests of which a part is allowed: the rest is taken out, and refused in the answer."""

from collections.abc import Callable
from copy import copy
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Proceed


# Any: each API has request and response classes of its own.
async def by_topic(
    authorization: Authorization,
    operation: AclOperation,
    request: Any,
    proceed: Proceed,
    refuse: Callable[[Any], Struct],
    empty: type[Message] | None = None,
) -> Message:
    """Have the topics answered that are allowed, and refuse the others.

    Where nothing is left, `empty` is the answer to begin with; without it somebody is asked all
    the same. An error of the whole answer is all that there is to say.
    """
    allowed = authorization.allowed(
        operation, ResourceType.TOPIC, [topic.name for topic in request.topics]
    )
    part = copy(request)
    part.topics = [topic for topic in request.topics if topic.name in allowed]
    denied = [topic for topic in request.topics if topic.name not in allowed]
    answer: Any
    if denied and not part.topics and empty is not None:
        answer = empty()
    else:
        answer = await proceed(part if denied else request)
    if denied and not getattr(answer, "error_code", 0):
        answer.topics = [*answer.topics, *map(refuse, denied)]
    whole: Message = answer
    return whole
