"""JoinGroup (11): a member takes part in the next generation of a group.

v1 rebalance timeout · v2 throttle time · v4 MEMBER_ID_REQUIRED (KIP-394) · v5 static members
v6 flexible · v7 protocol type in the answer
"""

from kafkalike.coordinator.group.joining import JoinGroup
from kafkalike.coordinator.group.results import JoinGroupResult
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.static_members import are_static_members_supported

_FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
_FIRST_VERSION_WITH_KNOWN_MEMBER_ID = 4
_FIRST_VERSION_WITH_NULL_PROTOCOL = 7


@api(ApiKey.JOIN_GROUP, versions="0-7")
async def handle(context: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse:
    """Join, which may take as long as the slowest member."""
    if not are_static_members_supported(context, request.group_instance_id):
        result = JoinGroupResult(member_id="", error_code=ErrorCode.UNSUPPORTED_VERSION)
    else:
        result = await context.broker.group_coordinator.join_group(_join(context, request))
    return _response(context, result)


def _join(context: RequestContext, request: JoinGroupRequest) -> JoinGroup:
    version = context.api_version
    protocols: dict[str, bytes] = {}
    for protocol in request.protocols:
        protocols.setdefault(protocol.name, protocol.metadata)  # named twice, the first counts
    # The first version had one timeout for both.
    has_rebalance_timeout = version >= _FIRST_VERSION_WITH_REBALANCE_TIMEOUT
    rebalance_ms = request.rebalance_timeout_ms if has_rebalance_timeout else None
    return JoinGroup(
        group_id=request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        # Older clients would not understand that they have to come back with an id.
        requires_known_member_id=(
            version >= _FIRST_VERSION_WITH_KNOWN_MEMBER_ID and request.group_instance_id is None
        ),
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",  # as Java shows an address without a name
        rebalance_timeout_ms=request.session_timeout_ms if rebalance_ms is None else rebalance_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple(protocols.items()),
    )


def _response(context: RequestContext, result: JoinGroupResult) -> JoinGroupResponse:
    protocol_name = result.protocol_name
    if protocol_name is None and context.api_version < _FIRST_VERSION_WITH_NULL_PROTOCOL:
        protocol_name = ""
    return JoinGroupResponse(
        error_code=result.error_code,
        generation_id=result.generation_id,
        protocol_type=result.protocol_type,
        protocol_name=protocol_name,
        leader=result.leader_id,
        member_id=result.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata,
            )
            for member in result.members
        ],
    )
