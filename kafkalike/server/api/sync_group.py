"""SyncGroup (14): a member gets its assignment; the leader brings those of all.

v1 throttle time · v3 static members · v4 flexible · v5 protocol type and name
"""

from kafkalike.coordinator.group.results import SyncGroupResult
from kafkalike.coordinator.group.syncing import SyncGroup
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.static_members import are_static_members_supported

_FIRST_VERSION_WITH_PROTOCOL = 5


@api(ApiKey.SYNC_GROUP, versions="0-5")
async def handle(context: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse:
    """Wait for the leader's assignment."""
    if not are_static_members_supported(context, request.group_instance_id):
        result = SyncGroupResult(error_code=ErrorCode.UNSUPPORTED_VERSION)
    elif context.api_version >= _FIRST_VERSION_WITH_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    ):
        # Mandatory since then, though the schema lets them be null.
        result = SyncGroupResult(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    else:
        result = await context.broker.group_coordinator.sync_group(_sync(request))
    return SyncGroupResponse(
        error_code=result.error_code,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol_name,
        assignment=result.assignment,
    )


def _sync(request: SyncGroupRequest) -> SyncGroup:
    return SyncGroup(
        group_id=request.group_id,
        generation_id=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment={one.member_id: one.assignment for one in request.assignments},
    )
