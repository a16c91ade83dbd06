"""ListGroups (16): the groups that this broker coordinates.

v1 throttle time · v3 flexible · v4 states, to show and to choose by (KIP-518)
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.LIST_GROUPS, versions="0-4")
async def handle(context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """List groups in the states asked for, all if none is named."""
    code, groups = context.broker.group_coordinator.list_groups(frozenset(request.states_filter))
    return ListGroupsResponse(
        error_code=code,
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
            )
            for group in groups
        ],
    )
