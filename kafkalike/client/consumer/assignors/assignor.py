"""What an assignor is: decides, in the leader of a group, who reads which partitions."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol

from kafkalike.model.topic_partition import TopicPartition


class MemberSubscription(NamedTuple):
    """What a member told when it joined."""

    topics: Sequence[str]
    owned: Sequence[TopicPartition] = ()
    user_data: bytes | None = None
    group_instance_id: str | None = None


Assignment = dict[str, list[TopicPartition]]
"""Partitions by member id."""


class Assignor(Protocol):
    """A strategy; its name is what the members agree on.

    A cooperative one lets members keep what they have while others get theirs (KIP-429).
    """

    name: ClassVar[str]
    is_cooperative: ClassVar[bool]

    def assign(
        self, partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Share out the partitions of the topics among the members that subscribe to them."""

    def user_data(self) -> bytes | None:
        """Return what the leader should know of this member besides its topics."""

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Take note of what this member was assigned."""


class StatelessAssignor:
    """What most assignors have in common: they need to know nothing of the past."""

    is_cooperative: ClassVar[bool] = False

    def user_data(self) -> bytes | None:
        """Return nothing."""
        return None

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Forget it."""


def members_in_order(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Return member ids, static members first and by their instance id: they do not change."""

    def order(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].group_instance_id
        return instance_id is None, instance_id or member_id

    return sorted(members, key=order)
