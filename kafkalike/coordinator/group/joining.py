"""How a member joins a group: what is refused, what waits, what is answered at once.

The join part of Kafka's GroupCoordinator.
"""

from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.group.group_metadata import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupMetadata,
)
from kafkalike.coordinator.group.group_store import GroupStore
from kafkalike.coordinator.group.member_metadata import AnswerJoin, MemberMetadata, Protocols
from kafkalike.coordinator.group.rebalances import Rebalances, joined
from kafkalike.coordinator.group.results import UNKNOWN_MEMBER_ID, JoinGroupResult
from kafkalike.protocol.errors import ErrorCode
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

log = Logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup:
    """A member's wish to join; `member_id` is empty the first time."""

    group_id: str
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    requires_known_member_id: bool = False
    """Whether the client can be told to come back with the id it is given (KIP-394)."""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols

    @property
    def protocol_names(self) -> list[str]:
        """What the member can be assigned partitions by."""
        return [name for name, _ in self.protocols]


class Joining:
    """Takes joins; owned by the coordinator."""

    def __init__(
        self,
        config: BrokerConfig,
        store: GroupStore,
        rebalances: Rebalances,
        time: Time,
        background: Background,
        new_uuid: Callable[[], str],
    ) -> None:
        self._config = config
        self._store = store
        self._rebalances = rebalances
        self._time = time
        self._background = background
        self._new_uuid = new_uuid

    async def join(self, request: JoinGroup) -> JoinGroupResult:
        """Join a group and wait for the generation that this member takes part in."""
        config = self._config
        if not (
            config.group_min_session_timeout_ms
            <= request.session_timeout_ms
            <= config.group_max_session_timeout_ms
        ):
            return _refused(request.member_id, ErrorCode.INVALID_SESSION_TIMEOUT)
        if request.member_id == UNKNOWN_MEMBER_ID:
            group: GroupMetadata | None = self._store.get_or_create(request.group_id)
        else:
            group = self._store.get(request.group_id)
        if group is None:
            return _refused(request.member_id, ErrorCode.UNKNOWN_MEMBER_ID)
        waiting: Deferred[JoinGroupResult] = Deferred()
        result = self._join(group, request, self._answer_later(waiting))
        if group.state is PREPARING_REBALANCE:
            self._rebalances.check_join(group)
        return result if result is not None else await waiting

    def _answer_later(self, waiting: "Deferred[JoinGroupResult]") -> AnswerJoin:
        def answer(result: JoinGroupResult) -> None:
            self._time.call_later_ms(0, waiting.callback, result)

        return answer

    def _join(
        self, group: GroupMetadata, request: JoinGroup, answer: AnswerJoin
    ) -> JoinGroupResult | None:
        """Answer now, or return None: `answer` is called later."""
        member_id = request.member_id
        if not self._has_room(group, member_id):
            group.remove(member_id)
            return _refused(UNKNOWN_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED)
        if group.state is DEAD:
            return _refused(member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not group.supports_protocols(request.protocol_type, request.protocol_names):
            return _refused(member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if member_id == UNKNOWN_MEMBER_ID:
            return self._join_unknown(group, request, answer)
        if member_id in group.pending_members:
            self._add(group, request, member_id, answer)
            return None
        return self._rejoin(group, request, answer)

    def _has_room(self, group: GroupMetadata, member_id: str) -> bool:
        if group.state in (EMPTY, DEAD):
            return True
        limit = self._config.group_max_size
        member = group.members.get(member_id)
        if group.state is PREPARING_REBALANCE:
            # Who comes first stays: so a group that is too large loses those who join last.
            is_waiting = member is not None and member.is_awaiting_join
            return is_waiting or group.awaiting_join_count < limit
        return member is not None or len(group.members) < limit

    # --- a member without id

    def _join_unknown(
        self, group: GroupMetadata, request: JoinGroup, answer: AnswerJoin
    ) -> JoinGroupResult | None:
        instance_id = request.group_instance_id
        prefix = request.client_id if instance_id is None else instance_id
        new_member_id = f"{prefix}-{self._new_uuid()}"
        if instance_id is not None and instance_id in group.static_members:
            self._rejoin_static(group, request, new_member_id, answer)
            return None
        if request.requires_known_member_id:
            self._rebalances.add_pending_member(group, new_member_id, request.session_timeout_ms)
            return _refused(new_member_id, ErrorCode.MEMBER_ID_REQUIRED)
        self._add(group, request, new_member_id, answer)
        return None

    def _add(
        self, group: GroupMetadata, request: JoinGroup, member_id: str, answer: AnswerJoin
    ) -> None:
        member = MemberMetadata(
            member_id,
            group_instance_id=request.group_instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            supported_protocols=request.protocols,
        )
        self._rebalances.add_member(group, member, answer)

    # --- a member that is back

    def _rejoin(
        self, group: GroupMetadata, request: JoinGroup, answer: AnswerJoin
    ) -> JoinGroupResult | None:
        member_id, instance_id = request.member_id, request.group_instance_id
        if group.is_static_member_fenced(member_id, instance_id):
            return _refused(member_id, ErrorCode.FENCED_INSTANCE_ID)
        member = group.members.get(member_id)
        is_unknown_instance = instance_id is not None and instance_id not in group.static_members
        if member is None or is_unknown_instance or group.state is EMPTY:
            return _refused(member_id, ErrorCode.UNKNOWN_MEMBER_ID)
        if _is_unchanged(group, member, request.protocols):
            # Its answer was lost, or it follows: the present generation is good for it.
            return joined(group, member)
        reason = f"member {member_id} joins again, {group.state.value}"
        self._rebalances.update_member(group, member, request.protocols, answer, reason)
        return None

    def _rejoin_static(
        self, group: GroupMetadata, request: JoinGroup, new_member_id: str, answer: AnswerJoin
    ) -> None:
        """Let a static member that was restarted take its own place (KIP-345)."""
        assert request.group_instance_id is not None
        old_member_id = group.static_members[request.group_instance_id]
        old_leader_id = group.leader_id
        log.info(
            "group {group}: static member {instance} is back, {new} replaces {old}",
            group=group.group_id,
            instance=request.group_instance_id,
            new=new_member_id,
            old=old_member_id,
        )
        member = self._rebalances.replace_static_member(group, old_member_id, new_member_id)
        old_protocols = member.supported_protocols
        group.update_member(member, request.protocols, answer)
        if group.state is STABLE and group.select_protocol() == group.protocol_name:
            # Nothing changes for the others, so there is no rebalance.
            back = _StaticMemberIsBack(member, old_member_id, old_leader_id or "", old_protocols)
            storing = self._store_static_member(group, back)
            self._background.start(storing, f"storing static member {new_member_id}")
        else:
            # A leader that assigns right now would do so to the old member id.
            reason = f"static member {request.group_instance_id} is back"
            self._rebalances.maybe_prepare(group, reason)

    async def _store_static_member(self, group: GroupMetadata, back: "_StaticMemberIsBack") -> None:
        member, new_member_id = back.member, back.member.member_id
        assignment = {one.member_id: one.assignment for one in group.members.values()}
        code = await self._store.store_group(group, assignment)
        if group.members.get(new_member_id) is not member or not member.is_awaiting_join:
            return  # it was replaced once more, or thrown out, and answered then
        if group.state is not STABLE:
            return  # a rebalance has begun, which will answer it and store it
        if code is ErrorCode.NONE:
            # Its leader stays the old one, so that it does not assign what nobody would hear of.
            told = JoinGroupResult(
                member_id=new_member_id,
                generation_id=group.generation_id,
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                leader_id=back.old_leader_id,
            )
            group.answer_join(member, told)
            return
        log.warn(
            "group {group}: the new id of static member {instance} could not be stored: {code}",
            group=group.group_id,
            instance=member.group_instance_id,
            code=code.name,
        )
        group.answer_join(member, _refused(UNKNOWN_MEMBER_ID, code))
        group.update_member(member, back.old_protocols, None)
        self._rebalances.replace_static_member(group, new_member_id, back.old_member_id)


@dataclass(frozen=True, slots=True)
class _StaticMemberIsBack:
    """A static member has got a new id in a stable group, which must be stored."""

    member: MemberMetadata
    old_member_id: str
    old_leader_id: str
    old_protocols: Protocols


def _is_unchanged(group: GroupMetadata, member: MemberMetadata, protocols: Protocols) -> bool:
    """Whether a member that joins again brings nothing new."""
    if group.state is COMPLETING_REBALANCE:
        return member.matches(protocols)
    # A leader that joins in a stable group wants to assign anew, for topics may have changed.
    return (
        group.state is STABLE and group.leader_id != member.member_id and member.matches(protocols)
    )


def _refused(member_id: str, error_code: ErrorCode) -> JoinGroupResult:
    return JoinGroupResult(member_id=member_id, error_code=error_code)
