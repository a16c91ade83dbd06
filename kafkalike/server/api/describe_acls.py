"""DescribeAcls (29): the ACLs that match a filter.

v1 pattern types (KIP-290) · v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kafkalike.security.resource import ResourcePattern
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.authorization.acl_filters import binding_filter


@api(ApiKey.DESCRIBE_ACLS, versions="0-2")
async def handle(context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    """Answer what this broker's authorizer has."""
    authorizer = context.broker.authorizer
    if authorizer is None:
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker",
        )
    wanted = binding_filter(request, context.api_version)
    resources: dict[ResourcePattern, list[AclDescription]] = {}
    try:
        for pattern, entry in authorizer.acls(wanted):
            description = AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission_type,
            )
            resources.setdefault(pattern, []).append(description)
    except KafkaError as error:
        return DescribeAclsResponse(error_code=error.code, error_message=error.message)
    return DescribeAclsResponse(
        resources=[
            DescribeAclsResource(
                resource_type=pattern.resource_type,
                resource_name=pattern.name,
                pattern_type=pattern.pattern_type,
                acls=acls,
            )
            for pattern, acls in resources.items()
        ]
    )
