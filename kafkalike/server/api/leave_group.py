"""LeaveGroup (13): members leave a group.

v1 throttle time · v3 several members at once, by group.instance.id too · v4 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

_FIRST_VERSION_WITH_MEMBERS = 3


@api(ApiKey.LEAVE_GROUP, versions="0-4")
async def handle(context: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Take the members out."""
    has_members = context.api_version >= _FIRST_VERSION_WITH_MEMBERS
    members = request.members if has_members else [MemberIdentity(member_id=request.member_id)]
    code, codes = context.broker.group_coordinator.leave_group(
        request.group_id, [(member.member_id, member.group_instance_id) for member in members]
    )
    if not has_members:
        # There is one member, and one place for an error.
        only = codes[0] if codes else ErrorCode.NONE
        return LeaveGroupResponse(error_code=only if code is ErrorCode.NONE else code)
    return LeaveGroupResponse(
        error_code=code,
        members=[
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=member_code,
            )
            # A group that cannot be asked has no answer for its members.
            for member, member_code in zip(members, codes, strict=False)
        ],
    )
