"""DescribeGroups (15): state, members and assignments of groups.

v1 throttle time · v3 authorized operations · v4 static members · v5 flexible
"""

from kafkalike.coordinator.group.results import MemberSummary
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafkalike.security.acl_operation import GROUP_OPERATIONS, operations_bit_field
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.DESCRIBE_GROUPS, versions="0-5")
async def handle(context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """Describe the groups that this broker coordinates."""
    return DescribeGroupsResponse(
        groups=[_described(context, request, group_id) for group_id in request.groups]
    )


def _described(
    context: RequestContext, request: DescribeGroupsRequest, group_id: str
) -> DescribedGroup:
    code, summary = context.broker.group_coordinator.describe_group(group_id)
    described = DescribedGroup(
        error_code=code,
        group_id=group_id,
        group_state=summary.state,
        protocol_type=summary.protocol_type,
        protocol_data=summary.protocol,
        members=[_member(member) for member in summary.members],
    )
    if request.include_authorized_operations and code is ErrorCode.NONE:
        described.authorized_operations = operations_bit_field(GROUP_OPERATIONS)
    return described


def _member(member: MemberSummary) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata,
        member_assignment=member.assignment,
    )
