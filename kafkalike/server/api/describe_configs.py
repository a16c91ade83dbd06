"""DescribeConfigs (32): configs of topics, brokers and loggers, and their sources.

v1 sources and synonyms (KIP-226) · v3 types and documentation (KIP-569) · v4 flexible
Kafka 2.8 leaves `is_default`, which only v0 has, false for all; so do we.
"""

from collections.abc import Collection

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import ApiError
from kafkalike.server.config_entry import ConfigEntry
from kafkalike.server.config_resource import ConfigResource, ResourceType

# What Kafka says of every InvalidRequestException that has to be told for a whole request.
_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)


@api(ApiKey.DESCRIBE_CONFIGS, versions="0-4")
async def handle(
    context: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """Describe each resource, or say why that cannot be."""
    if any(_type(resource) is ResourceType.UNKNOWN for resource in request.resources):
        malformed = ApiError(ErrorCode.INVALID_REQUEST, _MALFORMED)
        return DescribeConfigsResponse(
            results=[_failure(resource, malformed) for resource in request.resources]
        )
    return DescribeConfigsResponse(
        results=[await _describe(context, request, resource) for resource in request.resources]
    )


async def _describe(
    context: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    asked = ConfigResource(_type(resource), resource.resource_name)
    try:
        entries = await context.broker.config_admin.describe(asked)
    except KafkaError as error:
        return _failure(resource, ApiError.of(error))
    wanted: Collection[str] = resource.configuration_keys or ()
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[
            _config(entry, request) for entry in entries if not wanted or entry.name in wanted
        ],
    )


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    # A logger's documentation is empty rather than null, whether asked for or not.
    has_documentation = request.include_documentation or not entry.documentation
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in synonyms
        ],
        config_type=entry.type,
        documentation=entry.documentation if has_documentation else None,
    )


def _failure(resource: DescribeConfigsResource, error: ApiError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message or "",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _type(resource: DescribeConfigsResource) -> ResourceType:
    return ResourceType(resource.resource_type)
