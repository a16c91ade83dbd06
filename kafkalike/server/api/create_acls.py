"""CreateAcls (30): ACLs are added to resources.

v1 pattern types (KIP-290) · v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError, SecurityDisabledError
from kafkalike.protocol.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from kafkalike.security.acl import AclBinding, check_resource
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.authorization.acl_filters import binding


@api(ApiKey.CREATE_ACLS, versions="0-2")
async def handle(context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    """Create what makes sense, and answer for each."""
    authorizer = context.broker.authorizer
    if authorizer is None:
        error = SecurityDisabledError("No Authorizer is configured on the broker.")
        return CreateAclsResponse(results=[_result(error)] * len(request.creations))
    bindings = [binding(creation) for creation in request.creations]
    errors: dict[AclBinding, KafkaError | None] = {}
    for one in bindings:
        try:
            check_resource(one.pattern)
        except KafkaError as error:
            errors[one] = error
    valid = [one for one in dict.fromkeys(bindings) if one not in errors]
    asker = context.asker(ApiKey.CREATE_ACLS.name)
    errors |= zip(valid, await authorizer.create_acls(asker, valid), strict=True)
    return CreateAclsResponse(results=[_result(errors[one]) for one in bindings])


def _result(error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error_code=error.code, error_message=error.message)
