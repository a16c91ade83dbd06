"""A member of a group: who it is, what it can do, what it waits for (Kafka's MemberMetadata)."""

from collections.abc import Callable, Sequence, Set

from kafkalike.coordinator.group.results import JoinGroupResult, MemberSummary, SyncGroupResult

Protocols = Sequence[tuple[str, bytes]]
"""Names of assignors (or what else a kind of group calls a protocol) with the member's metadata for
each, the one it likes best first."""

AnswerJoin = Callable[[JoinGroupResult], None]
AnswerSync = Callable[[SyncGroupResult], None]


class MemberMetadata:
    """One member; owned by its group.

    `answer_join` and `answer_sync` are there while the member's request waits. `is_new` holds until
    the first rebalance it takes part in is over: such a member cannot send heartbeats yet.
    """

    __slots__ = (
        "answer_join",
        "answer_sync",
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "member_id",
        "protocol_type",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "supported_protocols",
    )

    def __init__(
        self,
        member_id: str,
        *,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        supported_protocols: Protocols,
        assignment: bytes = b"",
        is_new: bool = False,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.supported_protocols = tuple(supported_protocols)
        self.assignment = assignment
        self.is_new = is_new
        self.answer_join: AnswerJoin | None = None
        self.answer_sync: AnswerSync | None = None

    def __repr__(self) -> str:
        protocols = [name for name, _ in self.supported_protocols]
        return f"MemberMetadata({self.member_id!r}, protocols={protocols})"

    @property
    def is_static(self) -> bool:
        """Whether it keeps its place in the group over a restart (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Whether its JoinGroup waits for the others."""
        return self.answer_join is not None

    @property
    def is_awaiting_sync(self) -> bool:
        """Whether its SyncGroup waits for the leader's assignment."""
        return self.answer_sync is not None

    @property
    def needs_no_heartbeat(self) -> bool:
        """Whether it waits for us: then it need not show that it is alive.

        A new member must be thrown out all the same: its client may have given up and joined again
        under another id, and nobody would ever take this one away.
        """
        return not self.is_new and (self.is_awaiting_join or self.is_awaiting_sync)

    def metadata(self, protocol: str) -> bytes:
        """Return what the member sent for a protocol that it supports."""
        for name, metadata in self.supported_protocols:
            if name == protocol:
                return metadata
        raise ValueError(f"member {self.member_id} does not support the protocol {protocol}")

    def matches(self, protocols: Protocols) -> bool:
        """Whether protocols are those it sent last, in the same order and with equal metadata."""
        return self.supported_protocols == tuple(protocols)

    def vote(self, candidates: Set[str]) -> str:
        """Choose the candidate that the member likes best."""
        for name, _ in self.supported_protocols:
            if name in candidates:
                return name
        raise ValueError(f"member {self.member_id} supports none of {sorted(candidates)}")

    def summary(self, protocol: str | None) -> MemberSummary:
        """Describe the member; without a protocol, leave out metadata and assignment."""
        return MemberSummary(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            metadata=b"" if protocol is None else self.metadata(protocol),
            assignment=b"" if protocol is None else self.assignment,
        )
