"""Heartbeat (12): a group member says it is alive.

v1 throttle time · v3 static members · v4 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.static_members import are_static_members_supported


@api(ApiKey.HEARTBEAT, versions="0-4")
async def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """Note it, and tell whether the member has to join again."""
    if not are_static_members_supported(context, request.group_instance_id):
        return HeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    code = context.broker.group_coordinator.heartbeat(
        request.group_id, request.member_id, request.generation_id, request.group_instance_id
    )
    return HeartbeatResponse(error_code=code)
