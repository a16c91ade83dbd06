"""The states of a group, and from which state each may be entered (part of Kafka's GroupMetadata).

Empty ──► PreparingRebalance ◄──► CompletingRebalance
  ▲              │    ▲                   │
  └──────────────┘    └────── Stable ◄────┘          Dead is entered from all of them
"""

from enum import Enum


class GroupState(Enum):
    """What a group is doing; the value is the name that clients see."""

    EMPTY = "Empty"
    """No members; lingers until its offsets have expired. Also groups that only store offsets.

    Action: let new members join; answer sync, heartbeat, leave with UNKNOWN_MEMBER_ID; take offset
    commits without generation; answer offset fetches.
    Transition: a member joins → PreparingRebalance; the last offset has expired, the group is
    deleted, or its partition moves away → Dead.
    """

    PREPARING_REBALANCE = "PreparingRebalance"
    """Waiting for all members to join again.

    Action: answer heartbeats and syncs with REBALANCE_IN_PROGRESS; hold joins until all members
    are there; remove members that leave; take offset commits of the generation that ends.
    Transition: all, or some until the deadline, have joined → CompletingRebalance; all have left →
    Empty; the partition moves away → Dead.
    """

    COMPLETING_REBALANCE = "CompletingRebalance"
    """Waiting for the leader of the group to assign partitions.

    Action: hold syncs until the assignment is stored; answer offset commits with
    REBALANCE_IN_PROGRESS; answer heartbeats.
    Transition: the leader's assignment is stored → Stable; a member joins anew or with other
    metadata, leaves, or fails → PreparingRebalance; the partition moves away → Dead.
    """

    STABLE = "Stable"
    """All members know what they have.

    Action: answer heartbeats, syncs (with the assignment) and joins of followers that have not
    changed; take offset commits of this generation.
    Transition: a member fails or leaves, the leader joins again, a follower joins with other
    metadata → PreparingRebalance; the partition moves away → Dead.
    """

    DEAD = "Dead"
    """Being removed, or moved to another broker.

    Action: answer COORDINATOR_NOT_AVAILABLE, so that clients look for the coordinator again.
    Transition: none, it is the end.
    """

    @property
    def valid_previous_states(self) -> frozenset["GroupState"]:
        """The states from which this one may be entered."""
        return _VALID_PREVIOUS_STATES[self]


_VALID_PREVIOUS_STATES = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset(
        {GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY}
    ),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
