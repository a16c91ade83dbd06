"""How members get their assignment from the leader of the group (SyncGroup).

The sync part of Kafka's GroupCoordinator.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.coordinator.group.group_metadata import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    GroupMetadata,
)
from kafkalike.coordinator.group.group_store import GroupStore
from kafkalike.coordinator.group.member_metadata import AnswerSync, MemberMetadata
from kafkalike.coordinator.group.rebalances import Rebalances, synced
from kafkalike.coordinator.group.results import SyncGroupResult
from kafkalike.protocol.errors import ErrorCode
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

log = Logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup:
    """A member's wish to know its assignment; the leader brings those of all."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: Mapping[str, bytes] = field(default_factory=dict)


class Syncing:
    """Takes syncs; owned by the coordinator."""

    def __init__(
        self, store: GroupStore, rebalances: Rebalances, time: Time, background: Background
    ) -> None:
        self._store = store
        self._rebalances = rebalances
        self._time = time
        self._background = background

    async def sync(self, request: SyncGroup) -> SyncGroupResult:
        """Wait until the assignment of the generation is stored, and return the member's."""
        group = self._store.get(request.group_id)
        if group is None:
            return SyncGroupResult(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        code = _refusal(group, request)
        if code is not ErrorCode.NONE:
            return SyncGroupResult(error_code=code)
        member = group.members[request.member_id]
        if group.state is not COMPLETING_REBALANCE:
            self._rebalances.synced(group, member.member_id)
            self._rebalances.heard_of(group, member)
            return synced(group, member)
        waiting: Deferred[SyncGroupResult] = Deferred()
        member.answer_sync = self._answer_later(waiting)
        self._rebalances.synced(group, member.member_id)
        if group.leader_id == member.member_id:
            # In the background: a rebalance that begins meanwhile answers the leader at once.
            storing = self._store_assignment(group, member, request)
            self._background.start(storing, f"storing the assignment of {group.group_id}")
        return await waiting

    def _answer_later(self, waiting: "Deferred[SyncGroupResult]") -> AnswerSync:
        def answer(result: SyncGroupResult) -> None:
            self._time.call_later_ms(0, waiting.callback, result)

        return answer

    async def _store_assignment(
        self, group: GroupMetadata, leader: MemberMetadata, request: SyncGroup
    ) -> None:
        missing = [member_id for member_id in group.members if member_id not in request.assignment]
        if missing:
            log.warn(
                "group {group}, generation {generation}: nothing is assigned to {missing}",
                group=group.group_id,
                generation=group.generation_id,
                missing=missing,
            )
        assignment = {**request.assignment, **dict.fromkeys(missing, b"")}
        code = await self._store.store_group(group, assignment)
        # Somebody may have joined or left meanwhile; then there is another assignment to come.
        if group.state is not COMPLETING_REBALANCE or group.generation_id != request.generation_id:
            return
        if code is ErrorCode.NONE:
            self._rebalances.set_assignment(group, assignment)
        else:
            self._rebalances.reset_assignment(group, code)
            reason = f"the assignment of {leader.member_id} could not be stored: {code.name}"
            self._rebalances.maybe_prepare(group, reason)


def _refusal(group: GroupMetadata, request: SyncGroup) -> ErrorCode:
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if group.is_static_member_fenced(request.member_id, request.group_instance_id):
        return ErrorCode.FENCED_INSTANCE_ID
    if request.member_id not in group.members or group.state is EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type not in (None, group.protocol_type) or request.protocol_name not in (
        None,
        group.protocol_name,
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE
