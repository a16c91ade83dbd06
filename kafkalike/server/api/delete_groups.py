"""DeleteGroups (42): groups without members are deleted with their offsets.

v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.DELETE_GROUPS, versions="0-2")
async def handle(context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Delete the groups that this broker coordinates."""
    names = dict.fromkeys(request.groups_names)
    codes = await context.broker.group_coordinator.delete_groups(names)
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=code)
            for group_id, code in codes.items()
        ]
    )
