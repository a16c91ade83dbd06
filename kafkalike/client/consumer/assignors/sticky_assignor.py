"""Sticky: balanced, and as few partitions as possible change hands.

`sticky` gives all up before a rebalance and remembers its past in the user data, in the layout of
Kafka's Java client; `cooperative-sticky` goes on reading what it keeps (KIP-429).
"""

from collections.abc import Mapping, Sequence
from struct import Struct, error
from typing import ClassVar, Final

from kafkalike.client.consumer.assignors.assignor import Assignment, MemberSubscription
from kafkalike.client.consumer.assignors.sticky_balance import balance
from kafkalike.model.topic_partition import TopicPartition

_INT32: Final = Struct(">i")
_INT16: Final = Struct(">h")
NO_GENERATION: Final = -1

Past = tuple[list[TopicPartition], int]
"""What a member had, and in which generation."""


class StickyAssignor:
    """The eager form: what a member had before is told in its user data."""

    name: ClassVar[str] = "sticky"
    is_cooperative: ClassVar[bool] = False

    def __init__(self) -> None:
        self._had: Sequence[TopicPartition] = ()
        self._generation = NO_GENERATION

    def assign(
        self, partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Share out the partitions, mostly as they were."""
        past = {member_id: _past_of(member) for member_id, member in members.items()}
        return balance(partition_counts, members, _latest_owners(past))

    def user_data(self) -> bytes | None:
        """Return what this member had, and since which generation."""
        return encode_past(self._had, self._generation)

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Remember it."""
        self._had = tuple(partitions)
        self._generation = generation


class CooperativeStickyAssignor:
    """The cooperative form: what moves is first given up, and given to its new owner after that."""

    name: ClassVar[str] = "cooperative-sticky"
    is_cooperative: ClassVar[bool] = True

    def assign(
        self, partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Share out the partitions; those that still have another owner wait for the next round."""
        owned = {member_id: list(member.owned) for member_id, member in members.items()}
        unique = _latest_owners({m: (partitions, 0) for m, partitions in owned.items()})
        assignment = balance(partition_counts, members, unique)
        owner_of = {tp: m for m, partitions in owned.items() for tp in partitions}
        return {
            member_id: [tp for tp in partitions if owner_of.get(tp, member_id) == member_id]
            for member_id, partitions in assignment.items()
        }

    def user_data(self) -> bytes | None:
        """Return nothing: what it owns is part of every subscription by now."""
        return None

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Forget it."""


def _past_of(member: MemberSubscription) -> Past:
    if member.owned:
        return list(member.owned), NO_GENERATION + 1
    return ([], NO_GENERATION) if member.user_data is None else decode_past(member.user_data)


def _latest_owners(past: Mapping[str, Past]) -> dict[str, list[TopicPartition]]:
    """Of two that claim a partition the one of the later generation has it; of equals neither."""
    claims: dict[TopicPartition, list[tuple[int, str]]] = {}
    for member_id, (partitions, generation) in past.items():
        for tp in partitions:
            claims.setdefault(tp, []).append((generation, member_id))
    owners: dict[str, list[TopicPartition]] = {member_id: [] for member_id in past}
    for tp, claimed in claims.items():
        claimed.sort()
        if len(claimed) == 1 or claimed[-1][0] != claimed[-2][0]:
            owners[claimed[-1][1]].append(tp)
    return owners


def encode_past(partitions: Sequence[TopicPartition], generation: int) -> bytes:
    """Write user data as Kafka's `StickyAssignor` does: topics, partitions, generation."""
    by_topic: dict[str, list[int]] = {}
    for tp in partitions:
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    parts = [_INT32.pack(len(by_topic))]
    for topic, numbers in by_topic.items():
        name = topic.encode()
        parts += [_INT16.pack(len(name)), name, _INT32.pack(len(numbers))]
        parts += [_INT32.pack(number) for number in numbers]
    return b"".join([*parts, _INT32.pack(generation)])


def decode_past(data: bytes) -> Past:
    """Read such user data; what cannot be read is no past. Version 0 has no generation."""
    had: list[TopicPartition] = []
    try:
        position = 4
        for _ in range(_INT32.unpack_from(data)[0]):
            (size,) = _INT16.unpack_from(data, position)
            topic = data[position + 2 : position + 2 + size].decode()
            position += 2 + size
            (count,) = _INT32.unpack_from(data, position)
            position += 4
            for _ in range(count):
                had.append(TopicPartition(topic, _INT32.unpack_from(data, position)[0]))
                position += 4
        if position == len(data):
            return had, NO_GENERATION
        return had, int(_INT32.unpack_from(data, position)[0])
    except (error, UnicodeDecodeError):
        return [], NO_GENERATION
