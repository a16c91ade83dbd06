"""DeleteAcls (31): the ACLs that match filters are removed.

v1 pattern types (KIP-290) · v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kafkalike.security.acl import AclBinding
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.authorization.acl_filters import binding_filter


@api(ApiKey.DELETE_ACLS, versions="0-2")
async def handle(context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    """Delete, and answer what is gone for each filter."""
    authorizer = context.broker.authorizer
    if authorizer is None:
        refused = DeleteAclsFilterResult(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker.",
        )
        return DeleteAclsResponse(filter_results=[refused] * len(request.filters))
    filters = [binding_filter(one, context.api_version) for one in request.filters]
    results = await authorizer.delete_acls(context.asker(ApiKey.DELETE_ACLS.name), filters)
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(matching_acls=[_gone(*one) for one in result.deleted])
            for result in results
        ]
    )


def _gone(binding: AclBinding, error: KafkaError | None) -> DeleteAclsMatchingAcl:
    pattern, entry = binding
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )
