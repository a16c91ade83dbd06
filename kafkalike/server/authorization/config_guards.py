"""Guards of configurations: those of topics by topic, all others by the cluster."""

from copy import copy
from typing import Any, Final

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages import alter_configs, describe_configs, incremental_alter_configs
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Proceed, guard
from kafkalike.server.config_resource import ResourceType as ConfigResourceType

_MESSAGES: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}


# Any: each API has request and response classes of its own.
def _refusal(
    authorization: Authorization, operation: AclOperation, resource: Any
) -> ErrorCode | None:
    """Say why a resource is refused; None if it is not, or if the handler will."""
    kind = ConfigResourceType(resource.resource_type)
    if kind is ConfigResourceType.UNKNOWN:
        return None
    if kind is ConfigResourceType.TOPIC:
        if authorization.allows(operation, ResourceType.TOPIC, resource.resource_name):
            return None
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if authorization.allows_cluster(operation):
        return None
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _split(
    authorization: Authorization, operation: AclOperation, request: Any
) -> tuple[Any, list[tuple[Any, ErrorCode]]]:
    part = copy(request)
    part.resources = []
    denied = []
    for resource in request.resources:
        code = _refusal(authorization, operation, resource)
        if code is None:
            part.resources.append(resource)
        else:
            denied.append((resource, code))
    return part, denied


@guard(ApiKey.DESCRIBE_CONFIGS)
async def describe(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for DESCRIBE_CONFIGS."""
    part, denied = _split(authorization, AclOperation.DESCRIBE_CONFIGS, request)
    answer: describe_configs.DescribeConfigsResponse = await proceed(part)
    answer.results = [
        *answer.results,
        *(
            describe_configs.DescribeConfigsResult(
                error_code=code,
                error_message=_MESSAGES[code],
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, code in denied
        ),
    ]
    return answer


@guard(ApiKey.ALTER_CONFIGS)
async def alter(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for ALTER_CONFIGS."""
    part, denied = _split(authorization, AclOperation.ALTER_CONFIGS, request)
    answer: alter_configs.AlterConfigsResponse = await proceed(part)
    answer.responses = [
        *answer.responses,
        *(
            alter_configs.AlterConfigsResourceResponse(
                error_code=code,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, code in denied
        ),
    ]
    return answer


@guard(ApiKey.INCREMENTAL_ALTER_CONFIGS)
async def incremental_alter(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for ALTER_CONFIGS."""
    part, denied = _split(authorization, AclOperation.ALTER_CONFIGS, request)
    answer: incremental_alter_configs.IncrementalAlterConfigsResponse = await proceed(part)
    answer.responses = [
        *answer.responses,
        *(
            incremental_alter_configs.AlterConfigsResourceResponse(
                error_code=code,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, code in denied
        ),
    ]
    return answer
