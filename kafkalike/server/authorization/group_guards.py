"""Guards of consumer groups and their offsets."""

from copy import copy
from typing import Any, Final

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from kafkalike.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkalike.protocol.messages.heartbeat import HeartbeatResponse
from kafkalike.protocol.messages.join_group import JoinGroupResponse
from kafkalike.protocol.messages.leave_group import LeaveGroupResponse
from kafkalike.protocol.messages.sync_group import SyncGroupResponse
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Guard, Proceed, guard

_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_FIRST_VERSION_WITH_NULL_PROTOCOL: Final = 7
_NO_NODE_ID: Final = -1
_COORDINATED: Final = {
    0: (ResourceType.GROUP, _DENIED, "Group authorization failed."),
    1: (
        ResourceType.TRANSACTIONAL_ID,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "Transactional Id authorization failed.",
    ),
}
"""What coordinators look after, by the key type of FindCoordinator."""


# Any: each API has request and response classes of its own.
def _member_guard(refusal: type[Message]) -> Guard:
    """Ask for READ on the group, as all that members do needs it."""

    async def guarded(
        authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
    ) -> Message | None:
        if not authorization.allows(AclOperation.READ, ResourceType.GROUP, request.group_id):
            return refusal(error_code=_DENIED)
        answer: Message | None = await proceed(request)
        return answer

    return guarded


guard(ApiKey.HEARTBEAT)(_member_guard(HeartbeatResponse))
guard(ApiKey.LEAVE_GROUP)(_member_guard(LeaveGroupResponse))
guard(ApiKey.SYNC_GROUP)(_member_guard(SyncGroupResponse))


@guard(ApiKey.JOIN_GROUP)
async def join_group(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for READ on the group."""
    if authorization.allows(AclOperation.READ, ResourceType.GROUP, request.group_id):
        answer: Message | None = await proceed(request)
        return answer
    has_null = context.api_version >= _FIRST_VERSION_WITH_NULL_PROTOCOL
    return JoinGroupResponse(error_code=_DENIED, protocol_name=None if has_null else "")


@guard(ApiKey.FIND_COORDINATOR)
async def find_coordinator(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message | None:
    """Ask for DESCRIBE on the group or transactional id; an unknown type is the handler's."""
    kind = _COORDINATED.get(request.key_type)
    if kind is not None:
        resource_type, code, message = kind
        if not authorization.allows(AclOperation.DESCRIBE, resource_type, request.key):
            return FindCoordinatorResponse(
                error_code=code, error_message=message, node_id=_NO_NODE_ID, host="", port=-1
            )
    answer: Message | None = await proceed(request)
    return answer


@guard(ApiKey.DESCRIBE_GROUPS)
async def describe_groups(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for DESCRIBE on each group, and say what else the client may do to it."""
    allowed = authorization.allowed(AclOperation.DESCRIBE, ResourceType.GROUP, request.groups)
    part = copy(request)
    part.groups = [group for group in request.groups if group in allowed]
    answer = await proceed(part) if part.groups else DescribeGroupsResponse()
    for group in answer.groups:
        if request.include_authorized_operations and group.error_code == ErrorCode.NONE:
            group.authorized_operations = authorization.operations(
                ResourceType.GROUP, group.group_id
            )
    answer.groups = [
        *answer.groups,
        *(
            DescribedGroup(error_code=_DENIED, group_id=group)
            for group in request.groups
            if group not in allowed
        ),
    ]
    whole: Message = answer
    return whole


@guard(ApiKey.LIST_GROUPS)
async def list_groups(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Show all groups to who may describe the cluster, to others those that they may describe."""
    answer = await proceed(request)
    if not authorization.allows_cluster(AclOperation.DESCRIBE):
        names = [group.group_id for group in answer.groups]
        allowed = authorization.allowed(AclOperation.DESCRIBE, ResourceType.GROUP, names)
        answer.groups = [group for group in answer.groups if group.group_id in allowed]
    whole: Message = answer
    return whole


@guard(ApiKey.DELETE_GROUPS)
async def delete_groups(
    authorization: Authorization, context: RequestContext, request: Any, proceed: Proceed
) -> Message:
    """Ask for DELETE on each group."""
    names = dict.fromkeys(request.groups_names)
    allowed = authorization.allowed(AclOperation.DELETE, ResourceType.GROUP, names)
    part = copy(request)
    part.groups_names = [name for name in names if name in allowed]
    answer = await proceed(part) if part.groups_names else DeleteGroupsResponse()
    answer.results = [
        *answer.results,
        *(
            DeletableGroupResult(group_id=name, error_code=_DENIED)
            for name in names
            if name not in allowed
        ),
    ]
    whole: Message = answer
    return whole
