"""How groups come from one generation to the next (the rebalance part of Kafka's GroupCoordinator).

    prepare ──► DelayedJoin ──► complete_join (next generation) ──► assignment stored ──► Stable

Answers to members go out in a later turn of the reactor, so nobody acts on a group half changed.
"""

from collections.abc import Mapping
from typing import Final

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.group.delayed_heartbeat import DelayedHeartbeats
from kafkalike.coordinator.group.delayed_join import DelayedJoin, DelayedSync, InitialDelayedJoin
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
from kafkalike.coordinator.group.results import (
    UNKNOWN_MEMBER_ID,
    JoinGroupResult,
    SyncGroupResult,
)
from kafkalike.protocol.errors import ErrorCode
from kafkalike.utils.background import Background
from kafkalike.utils.delayed_operation import DelayedOperationPurgatory
from kafkalike.utils.time import Time

log = Logger()

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
"""How long a member may wait in its first join. It cannot send heartbeats yet; if its client is
gone, this ends it; if not, the client joins again."""


class Rebalances:
    """Moves groups through their states; owned by the coordinator."""

    def __init__(
        self, config: BrokerConfig, store: GroupStore, time: Time, background: Background
    ) -> None:
        self._config = config
        self._store = store
        self._time = time
        self._background = background
        self._joins = DelayedOperationPurgatory(time)
        self._syncs = DelayedOperationPurgatory(time)
        self._heartbeats = DelayedHeartbeats(time, self._heartbeat_expired)
        self._is_stopped = False

    def shutdown(self) -> None:
        """Forget all that waits; the connections of those who wait are closed already."""
        self._is_stopped = True
        self._joins.shutdown()
        self._syncs.shutdown()
        self._heartbeats.shutdown()

    # --- signs of life

    def heard_of(self, group: GroupMetadata, member: MemberMetadata) -> None:
        """Expect the next heartbeat of a member within its session timeout."""
        self._heartbeats.expect(group.group_id, member.member_id, member.session_timeout_ms)

    def add_pending_member(
        self, group: GroupMetadata, member_id: str, session_timeout_ms: int
    ) -> None:
        """Give out a member id, which must come back in time (KIP-394)."""
        group.pending_members.add(member_id)
        self._heartbeats.expect(group.group_id, member_id, session_timeout_ms)

    def _heartbeat_expired(self, group_id: str, member_id: str) -> None:
        group = self._store.get(group_id)
        if group is None or group.state is DEAD:
            return
        member = group.members.get(member_id)
        if member is None:
            if member_id in group.pending_members:
                self.remove_pending_member(group, member_id)
        elif not member.needs_no_heartbeat:
            log.info("group {group}: member {member} has failed", group=group_id, member=member_id)
            self.remove_member(group, member, f"member {member_id} sent no heartbeat in time")

    # --- members

    def add_member(
        self, group: GroupMetadata, member: MemberMetadata, answer_join: AnswerJoin
    ) -> None:
        """Take in a new member and rebalance."""
        if group.state is PREPARING_REBALANCE and group.generation_id == 0:
            group.new_member_added = True
        member.is_new = True
        group.add(member, answer_join)
        group.pending_members.discard(member.member_id)
        self._heartbeats.expect(group.group_id, member.member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.maybe_prepare(group, f"new member {member.member_id}")

    def update_member(
        self,
        group: GroupMetadata,
        member: MemberMetadata,
        protocols: Protocols,
        answer_join: AnswerJoin,
        reason: str,
    ) -> None:
        """Take over what a member sent when it joined again, and rebalance."""
        group.update_member(member, protocols, answer_join)
        self.maybe_prepare(group, reason)

    def replace_static_member(
        self, group: GroupMetadata, old_member_id: str, new_member_id: str
    ) -> MemberMetadata:
        """Let a static member go on under another member id."""
        member = group.replace_group_instance(old_member_id, new_member_id)
        self._heartbeats.forget(group.group_id, old_member_id)
        self.heard_of(group, member)
        return member

    def remove_member(self, group: GroupMetadata, member: MemberMetadata, reason: str) -> None:
        """Take a member out and rebalance; its join, should one wait, is to be sent again."""
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        group.answer_join(member, JoinGroupResult(member_id=UNKNOWN_MEMBER_ID, error_code=unknown))
        self._take_out(group, member.member_id)
        if group.state in (STABLE, COMPLETING_REBALANCE):
            self.maybe_prepare(group, reason)
        elif group.state is PREPARING_REBALANCE:
            self.check_join(group)

    def remove_pending_member(self, group: GroupMetadata, member_id: str) -> None:
        """Take back a member id that was given out."""
        group.pending_members.discard(member_id)
        self._heartbeats.forget(group.group_id, member_id)
        if group.state is PREPARING_REBALANCE:
            self.check_join(group)

    def _take_out(self, group: GroupMetadata, member_id: str) -> None:
        self._heartbeats.forget(group.group_id, member_id)
        group.remove(member_id)

    # --- joining

    def maybe_prepare(self, group: GroupMetadata, reason: str) -> None:
        """Begin a rebalance unless one has begun."""
        if group.can_rebalance:
            self.prepare(group, reason)

    def prepare(self, group: GroupMetadata, reason: str) -> None:
        """Begin a rebalance: everybody has to join again."""
        if group.state is COMPLETING_REBALANCE:
            self.reset_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS)
        self._end_sync(group)
        was_empty = group.state is EMPTY
        group.transition_to(PREPARING_REBALANCE, self._time.now_ms())
        log.info(
            "group {group} rebalances after generation {generation}: {reason}",
            group=group.group_id,
            generation=group.generation_id,
            reason=reason,
        )
        if was_empty:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            self._delay_initial_join(group, delay_ms, remaining_ms)
        else:
            self._delay_join(group)

    def _delay_join(self, group: GroupMetadata) -> None:
        self._joins.try_complete_else_watch(
            DelayedJoin(group, self._complete_join), [group.group_id], group.rebalance_timeout_ms
        )

    def _delay_initial_join(self, group: GroupMetadata, delay_ms: int, remaining_ms: int) -> None:
        if self._is_stopped or group.state is DEAD:
            return
        delay_ms = min(delay_ms, self._config.group_initial_rebalance_delay_ms)
        operation = InitialDelayedJoin(
            group, delay_ms, remaining_ms, self._delay_initial_join, self._complete_join
        )
        self._joins.try_complete_else_watch(operation, [group.group_id], delay_ms)

    def check_join(self, group: GroupMetadata) -> None:
        """Look whether all have joined."""
        self._joins.check_and_complete(group.group_id)

    def _complete_join(self, group: GroupMetadata) -> None:
        """Go on with those who have joined; the others are out, but for static members."""
        if self._is_stopped or group.state is DEAD:
            return
        self._remove_absent_members(group)
        if group.members and not group.maybe_elect_new_joined_leader():
            # Static members may still come; their session timeout decides.
            log.warn("group {group}: no member joined in time", group=group.group_id)
            self._delay_join(group)
            return
        group.init_next_generation(self._time.now_ms())
        if group.state is EMPTY:
            log.info(
                "group {group} is empty in generation {generation}",
                group=group.group_id,
                generation=group.generation_id,
            )
            self._background.start(self._store_empty(group), f"storing group {group.group_id}")
        else:
            self._answer_joins(group)

    def _remove_absent_members(self, group: GroupMetadata) -> None:
        absent = [
            member.member_id
            for member in group.members.values()
            if not member.is_awaiting_join and not member.is_static
        ]
        if absent:
            log.info("group {group}: {absent} did not join", group=group.group_id, absent=absent)
        for member_id in absent:
            self._take_out(group, member_id)

    async def _store_empty(self, group: GroupMetadata) -> None:
        code = await self._store.store_group(group, {})
        if code is not ErrorCode.NONE:
            # Should this broker fail now, the members before come back, and time out.
            log.warn(
                "group {group}: that it is empty could not be stored: {code}",
                group=group.group_id,
                code=code.name,
            )

    def _answer_joins(self, group: GroupMetadata) -> None:
        log.info(
            "group {group} has generation {generation} with {count} members, led by {leader}",
            group=group.group_id,
            generation=group.generation_id,
            count=len(group.members),
            leader=group.leader_id,
        )
        for member in group.members.values():
            group.answer_join(member, joined(group, member))
            self.heard_of(group, member)
            member.is_new = False
            group.pending_sync_members.add(member.member_id)
        self._syncs.try_complete_else_watch(
            DelayedSync(group, self._sync_expired), [group.group_id], group.rebalance_timeout_ms
        )

    # --- syncing

    def synced(self, group: GroupMetadata, member_id: str) -> None:
        """Note that a member asked for its assignment."""
        group.pending_sync_members.discard(member_id)
        self._syncs.check_and_complete(group.group_id)

    def _end_sync(self, group: GroupMetadata) -> None:
        group.pending_sync_members.clear()
        self._syncs.check_and_complete(group.group_id)

    def _sync_expired(self, group: GroupMetadata) -> None:
        if self._is_stopped:
            return
        missing = list(group.pending_sync_members)
        for member_id in missing:
            self._take_out(group, member_id)
        self.prepare(group, f"{missing} did not sync")

    def set_assignment(self, group: GroupMetadata, assignment: Mapping[str, bytes]) -> None:
        """Give all members what the leader has assigned to them."""
        for member in group.members.values():
            member.assignment = assignment[member.member_id]
        self._answer_syncs(group, ErrorCode.NONE)
        group.transition_to(STABLE, self._time.now_ms())

    def reset_assignment(self, group: GroupMetadata, error_code: ErrorCode) -> None:
        """Take all assignments away and tell who waits for one why."""
        for member in group.members.values():
            member.assignment = b""
        self._answer_syncs(group, error_code)

    def _answer_syncs(self, group: GroupMetadata, error_code: ErrorCode) -> None:
        for member in group.members.values():
            if group.answer_sync(member, synced(group, member, error_code)):
                # Its session may have ended while it waited for us.
                self.heard_of(group, member)

    # --- groups that come and go

    def loaded(self, group: GroupMetadata) -> None:
        """Expect heartbeats of a group that came from the log."""
        if len(group.members) > self._config.group_max_size:
            self.prepare(group, f"more members than group.max.size={self._config.group_max_size}")
        for member in group.members.values():
            self.heard_of(group, member)

    def unloaded(self, group: GroupMetadata) -> None:
        """Send away who waits in a group that another broker coordinates now."""
        group.transition_to(DEAD, self._time.now_ms())
        moved = ErrorCode.NOT_COORDINATOR
        for member in group.members.values():
            group.answer_join(member, JoinGroupResult(member_id=member.member_id, error_code=moved))
            group.answer_sync(member, SyncGroupResult(error_code=moved))
            self._heartbeats.forget(group.group_id, member.member_id)
        for member_id in group.pending_members:
            self._heartbeats.forget(group.group_id, member_id)
        for operation in self._joins.cancel_for_key(group.group_id):
            operation.force_complete()
        self._end_sync(group)


def joined(group: GroupMetadata, member: MemberMetadata) -> JoinGroupResult:
    """Answer a join with the present generation, and its leader with all members."""
    is_leader = group.leader_id == member.member_id
    return JoinGroupResult(
        member_id=member.member_id,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id or "",
        members=group.current_members() if is_leader else (),
    )


def synced(
    group: GroupMetadata, member: MemberMetadata, error_code: ErrorCode = ErrorCode.NONE
) -> SyncGroupResult:
    """Answer a sync with the member's assignment."""
    is_fine = error_code is ErrorCode.NONE
    return SyncGroupResult(
        error_code=error_code,
        protocol_type=group.protocol_type if is_fine else None,
        protocol_name=group.protocol_name if is_fine else None,
        assignment=member.assignment,
    )
