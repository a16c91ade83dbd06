"""IncrementalAlterConfigs (44): single configs are set, deleted, appended to or subtracted from.

v1 flexible (KIP-339)
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import ApiError
from kafkalike.server.config_operations import AlterConfigOp, OpType
from kafkalike.server.config_resource import ConfigResource, ResourceType


@api(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions="0-1")
async def handle(
    context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change what the request names, and leave the rest."""
    resources = {_key(resource): resource for resource in request.resources}
    if any(key.type is ResourceType.UNKNOWN for key in resources):
        refused = ApiError(ErrorCode.INVALID_REQUEST, "Unexpected resource type UNKNOWN")
        return IncrementalAlterConfigsResponse(
            responses=[_response(resource, refused) for resource in request.resources]
        )
    errors = await context.broker.config_admin.incremental_alter(
        {key: _operations(resource) for key, resource in resources.items()},
        validate_only=request.validate_only,
    )
    return IncrementalAlterConfigsResponse(
        responses=[_response(resource, errors[key]) for key, resource in resources.items()]
    )


def _key(resource: AlterConfigsResource) -> ConfigResource:
    return ConfigResource(ResourceType(resource.resource_type), resource.resource_name)


def _operations(resource: AlterConfigsResource) -> list[AlterConfigOp]:
    return [
        AlterConfigOp(config.name, _op_type(config.config_operation), config.value)
        for config in resource.configs
    ]


def _op_type(number: int) -> OpType | None:
    return OpType(number) if number in set(OpType) else None


def _response(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
