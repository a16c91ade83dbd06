"""The decision of both sticky assignors: balanced, and else as before (KIP-54, KIP-341).

Members keep what they had as far as balance allows; what is left goes to those that have least; and
then partitions move from who has more to who has at least two fewer, until nobody has.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

from kafkalike.client.consumer.assignors.assignor import (
    Assignment,
    MemberSubscription,
    members_in_order,
)
from kafkalike.model.topic_partition import TopicPartition


def balance(
    partition_counts: Mapping[str, int],
    members: Mapping[str, MemberSubscription],
    owned: Mapping[str, Iterable[TopicPartition]],
) -> Assignment:
    """Share out the partitions; `owned` is what each member had (nothing twice)."""
    candidates = {
        topic: [m for m in members_in_order(members) if topic in members[m].topics]
        for topic in sorted(partition_counts)
    }
    everything = [
        TopicPartition(topic, partition)
        for topic, subscribed in candidates.items()
        if subscribed
        for partition in range(partition_counts[topic])
    ]
    assignment = _keep(members, owned, set(everything))
    if len({frozenset(subscribed) for subscribed in candidates.values() if subscribed}) <= 1:
        _trim(assignment, len(everything))
    taken = {tp for partitions in assignment.values() for tp in partitions}
    _hand_out([tp for tp in everything if tp not in taken], candidates, assignment)
    _even_out(assignment, candidates)
    return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


def _keep(
    members: Mapping[str, MemberSubscription],
    owned: Mapping[str, Iterable[TopicPartition]],
    existing: set[TopicPartition],
) -> Assignment:
    """Return what each member had and still may have."""
    return {
        member_id: [
            tp
            for tp in sorted(owned.get(member_id, ()))
            if tp in existing and tp.topic in members[member_id].topics
        ]
        for member_id in members_in_order(members)
    }


def _trim(assignment: Assignment, count: int) -> None:
    """Take from who has more than a fair share; as many as there are extras may have one more."""
    each, extra = divmod(count, len(assignment))
    for partitions in sorted(assignment.values(), key=len, reverse=True):
        quota = each + (extra > 0)
        if len(partitions) >= quota and extra > 0:
            extra -= 1
        del partitions[quota:]


def _hand_out(
    partitions: list[TopicPartition], candidates: Mapping[str, list[str]], assignment: Assignment
) -> None:
    """Give each partition to the member with the least; those with fewest candidates first."""
    order = {member_id: number for number, member_id in enumerate(assignment)}
    heaps: dict[frozenset[str], list[tuple[int, int, str]]] = {}
    partitions.sort(key=lambda tp: (len(candidates[tp.topic]), tp.partition, tp.topic))
    for tp in partitions:
        who = frozenset(candidates[tp.topic])
        heap = heaps.get(who)
        if heap is None:
            heap = heaps[who] = [(len(assignment[m]), order[m], m) for m in who]
            heapify(heap)
        count, number, member_id = heappop(heap)
        while count != len(assignment[member_id]):  # It got something as another's candidate.
            heappush(heap, (len(assignment[member_id]), number, member_id))
            count, number, member_id = heappop(heap)
        assignment[member_id].append(tp)
        heappush(heap, (count + 1, number, member_id))


def _even_out(assignment: Assignment, candidates: Mapping[str, list[str]]) -> None:
    """Move partitions to members that have at least two fewer, until there are none.

    Each move lowers the sum of the squares of the counts, so there is an end to it.
    """
    has_moved = True
    while has_moved:
        has_moved = False
        for member_id in sorted(assignment, key=lambda m: -len(assignment[m])):
            for tp in list(assignment[member_id]):
                least = min(candidates[tp.topic], key=lambda m: len(assignment[m]))
                if len(assignment[member_id]) - len(assignment[least]) > 1:
                    assignment[member_id].remove(tp)
                    assignment[least].append(tp)
                    has_moved = True
