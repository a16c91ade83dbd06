"""A group: its state, its members, its protocol, its generation (Kafka's GroupMetadata).

Decisions only; what a change must wake or write is the coordinator's to do. Committed offsets are
in `group_offsets`.
"""

from collections import Counter
from collections.abc import Iterable

from twisted.logger import Logger

from kafkalike.coordinator.group.group_offsets import GroupOffsets, OffsetAndMetadata
from kafkalike.coordinator.group.group_state import GroupState
from kafkalike.coordinator.group.member_metadata import AnswerJoin, MemberMetadata, Protocols
from kafkalike.coordinator.group.results import (
    GroupSummary,
    JoinedMember,
    JoinGroupResult,
    SyncGroupResult,
)
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import PROTOCOL_TYPE, decode_subscribed_topics
from kafkalike.protocol.errors import ErrorCode, ProtocolError

log = Logger()

EMPTY = GroupState.EMPTY
PREPARING_REBALANCE = GroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
DEAD = GroupState.DEAD


class IllegalTransitionError(Exception):
    """A group was to enter a state that cannot follow the one it is in."""


class GroupMetadata:
    """One group; owned by the group store.

    A leader is always a member. `_supported` counts for each protocol the members that support it,
    and `awaiting_join_count` those whose join waits.
    """

    def __init__(self, group_id: str, now_ms: int, state: GroupState = EMPTY) -> None:
        self.group_id = group_id
        self.state = state
        self.state_timestamp: int | None = now_ms
        """When the state was entered; None if the log is too old to tell."""
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.leader_id: str | None = None
        self.members: dict[str, MemberMetadata] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by group.instance.id."""
        self.pending_members: set[str] = set()
        """Ids given out to members that must come back with them (KIP-394)."""
        self.pending_sync_members: set[str] = set()
        self.awaiting_join_count = 0
        self.new_member_added = False
        """Whether another member came during the initial rebalance delay."""
        self.subscribed_topics: frozenset[str] | None = None
        """What a consumer group reads; None if that is not known."""
        self.offsets = GroupOffsets()
        self._supported: Counter[str] = Counter()

    def __repr__(self) -> str:
        return (
            f"GroupMetadata({self.group_id!r}, {self.state.value}, "
            f"generation={self.generation_id}, members={list(self.members)})"
        )

    # --- state

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin now."""
        return self.state in PREPARING_REBALANCE.valid_previous_states

    @property
    def is_consumer_group(self) -> bool:
        """Whether the members are consumers (there are groups of Connect workers too)."""
        return self.protocol_type == PROTOCOL_TYPE

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        """Enter a state, if it may follow the present one."""
        if self.state not in state.valid_previous_states:
            raise IllegalTransitionError(
                f"group {self.group_id} is {self.state.value} and cannot become {state.value}"
            )
        self.state = state
        self.state_timestamp = now_ms

    def init_next_generation(self, now_ms: int) -> None:
        """Begin the next generation with those who are members now."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self._compute_subscribed_topics()
        self.transition_to(COMPLETING_REBALANCE if self.members else EMPTY, now_ms)
        self.offsets.start_generation()
        self.pending_sync_members.clear()

    # --- members

    def add(self, member: MemberMetadata, answer_join: AnswerJoin | None = None) -> None:
        """Add a member; the first one decides the kind of group, and is its leader."""
        if not self.members:
            self.protocol_type = member.protocol_type
        assert self.protocol_type == member.protocol_type, "checked by supports_protocols"
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supported.update(name for name, _ in member.supported_protocols)
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._await_join(member, answer_join)

    def remove(self, member_id: str) -> None:
        """Take a member out, if it is one; another becomes leader in its place."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supported.subtract(name for name, _ in member.supported_protocols)
            self._await_join(member, None)
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_sync_members.discard(member_id)

    def update_member(
        self, member: MemberMetadata, protocols: Protocols, answer_join: AnswerJoin | None
    ) -> None:
        """Take over what a member sent when it joined again."""
        self._supported.subtract(name for name, _ in member.supported_protocols)
        member.supported_protocols = tuple(protocols)
        self._supported.update(name for name, _ in protocols)
        self._await_join(member, answer_join)

    def replace_group_instance(self, old_member_id: str, new_member_id: str) -> MemberMetadata:
        """Give a static member another member id; who still waits under the old one is fenced."""
        member = self.members.pop(old_member_id)
        assert member.group_instance_id is not None, "only static members are replaced"
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.answer_join(member, JoinGroupResult(member_id=old_member_id, error_code=fenced))
        self.answer_sync(member, SyncGroupResult(error_code=fenced))
        member.member_id = new_member_id
        self.members[new_member_id] = member
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        if old_member_id in self.pending_sync_members:
            self.pending_sync_members.remove(old_member_id)
            self.pending_sync_members.add(new_member_id)
        self.static_members[member.group_instance_id] = new_member_id
        return member

    def is_static_member_fenced(self, member_id: str, group_instance_id: str | None) -> bool:
        """Whether another process has taken over this group.instance.id."""
        if group_instance_id is None:
            return False
        known = self.static_members.get(group_instance_id)
        if known is None or known == member_id:
            return False
        log.error(
            "group {group}: member {member} is fenced, instance {instance} is now {known}",
            group=self.group_id,
            member=member_id,
            instance=group_instance_id,
            known=known,
        )
        return True

    @property
    def has_all_members_joined(self) -> bool:
        """Whether nobody is missing for the rebalance."""
        return len(self.members) == self.awaiting_join_count and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a rebalance may take: as long as the slowest member needs."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def maybe_elect_new_joined_leader(self) -> bool:
        """Make a member leader that has joined, if the leader has not; False if none has."""
        if self.leader_id is None:
            return False
        leader = self.members.get(self.leader_id)
        if leader is not None and leader.is_awaiting_join:
            return True
        joined = next((m for m in self.members.values() if m.is_awaiting_join), None)
        if joined is None:
            return False
        log.info(
            "group {group}: leader {old} did not join in time, {new} leads now",
            group=self.group_id,
            old=self.leader_id,
            new=joined.member_id,
        )
        self.leader_id = joined.member_id
        return True

    # --- who waits

    def _await_join(self, member: MemberMetadata, answer_join: AnswerJoin | None) -> None:
        self.awaiting_join_count += (answer_join is not None) - member.is_awaiting_join
        member.answer_join = answer_join

    def answer_join(self, member: MemberMetadata, result: JoinGroupResult) -> None:
        """Answer a member's join, if one waits."""
        answer = member.answer_join
        if answer is not None:
            self._await_join(member, None)
            answer(result)

    @staticmethod
    def answer_sync(member: MemberMetadata, result: SyncGroupResult) -> bool:
        """Answer a member's sync; False if none waits."""
        answer = member.answer_sync
        if answer is None:
            return False
        member.answer_sync = None
        answer(result)
        return True

    # --- protocols

    def supports_protocols(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether a member with these protocols fits in: one must be common to all."""
        if self.state is EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._supported[name] == size for name in protocols
        )

    def select_protocol(self) -> str:
        """Let all members vote among the protocols that all of them support."""
        size = len(self.members)
        candidates = {name for name, count in self._supported.items() if count == size}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether the group reads a topic; True also if that is not known, to be safe."""
        return self.subscribed_topics is None or topic in self.subscribed_topics

    def _compute_subscribed_topics(self) -> frozenset[str] | None:
        if not self.is_consumer_group:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        try:
            return frozenset(
                topic
                for member in self.members.values()
                for topic in decode_subscribed_topics(member.metadata(self.protocol_name))
            )
        except ProtocolError as error:
            log.warn(
                "group {group}: what it reads is not known, {error}",
                group=self.group_id,
                error=error,
            )
            return None

    # --- what others see

    def current_members(self) -> list[JoinedMember]:
        """List the members for the one who assigns partitions."""
        assert self.protocol_name is not None, "a generation with members has a protocol"
        return [
            JoinedMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    def summary(self) -> GroupSummary:
        """Describe the group; only in a stable one is it known who has what."""
        protocol = self.protocol_name if self.state is STABLE else None
        return GroupSummary(
            group_id=self.group_id,
            state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol=protocol or "",
            members=[member.summary(protocol) for member in self.members.values()],
        )

    def overview(self) -> GroupSummary:
        """Describe the group without its members."""
        return GroupSummary(
            group_id=self.group_id,
            state=self.state.value,
            protocol_type=self.protocol_type or "",
        )

    # --- from the log

    def load(
        self,
        *,
        generation_id: int,
        protocol_type: str | None,
        protocol_name: str | None,
        leader_id: str | None,
        state_timestamp: int | None,
        members: Iterable[MemberMetadata],
    ) -> None:
        """Become the group that the log tells of: stable with members, else empty."""
        self.leader_id = leader_id
        for member in members:
            self.add(member)
        self.state = STABLE if self.members else EMPTY
        self.state_timestamp = state_timestamp
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.subscribed_topics = self._compute_subscribed_topics()

    # --- offsets

    def remove_expired_offsets(self, now_ms: int, retention_ms: int) -> list[TopicPartition]:
        """Forget committed offsets whose time has come (KIP-211); return their partitions."""

        def since_commit(value: OffsetAndMetadata) -> int:
            return value.commit_timestamp

        def since_empty(value: OffsetAndMetadata) -> int:
            known = self.state_timestamp
            return value.commit_timestamp if known is None else known

        expire = self.offsets.remove_expired
        if self.protocol_type is None:  # it only stores offsets
            return expire(now_ms, retention_ms, since_commit)
        if self.state is EMPTY:
            return expire(now_ms, retention_ms, since_empty)
        topics = self.subscribed_topics
        if self.state is STABLE and self.is_consumer_group and topics is not None:
            return expire(now_ms, retention_ms, since_commit, topics)
        return []
