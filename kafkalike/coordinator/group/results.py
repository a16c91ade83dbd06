"""What the group coordinator answers, before it becomes a response."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkalike.protocol.errors import ErrorCode

UNKNOWN_MEMBER_ID = ""
"""What a member sends that has no id yet."""

NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedMember:
    """A member as the leader of the group learns of it, to assign partitions."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResult:
    """The answer to a join: the generation, and for its leader all members."""

    member_id: str
    error_code: ErrorCode = ErrorCode.NONE
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: Sequence[JoinedMember] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResult:
    """The answer to a sync: what the member was assigned."""

    error_code: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSummary:
    """A member as DescribeGroups shows it."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes = b""
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    """A group as DescribeGroups and ListGroups show it."""

    group_id: str
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: Sequence[MemberSummary] = ()
