"""AlterConfigs (33): the dynamic configs of a resource are replaced whole.

v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import ApiError
from kafkalike.server.config_resource import ConfigResource, ResourceType


@api(ApiKey.ALTER_CONFIGS, versions="0-2")
async def handle(context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Give each resource the configs of the request and no others."""
    for resource in request.resources:
        reason = _refusal(ResourceType(resource.resource_type))
        if reason is not None:
            refused = ApiError(ErrorCode.INVALID_REQUEST, reason)
            return AlterConfigsResponse(
                responses=[_response(other, refused) for other in request.resources]
            )
    resources = {_key(resource): resource for resource in request.resources}
    errors = await context.broker.config_admin.alter(
        {
            key: {config.name: config.value for config in resource.configs}
            for key, resource in resources.items()
        },
        validate_only=request.validate_only,
    )
    return AlterConfigsResponse(
        responses=[_response(resource, errors[key]) for key, resource in resources.items()]
    )


def _refusal(kind: ResourceType) -> str | None:
    if kind is ResourceType.BROKER_LOGGER:
        return f"AlterConfigs is deprecated and does not support the resource type {kind.name}"
    if kind is ResourceType.UNKNOWN:
        return f"Unexpected resource type {kind.name}"
    return None


def _key(resource: AlterConfigsResource) -> ConfigResource:
    return ConfigResource(ResourceType(resource.resource_type), resource.resource_name)


def _response(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
