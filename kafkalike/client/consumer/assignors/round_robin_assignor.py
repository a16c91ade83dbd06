"""Round robin: all partitions of all topics in order, one by one to the members in turn."""

from collections.abc import Mapping
from itertools import cycle
from typing import ClassVar

from kafkalike.client.consumer.assignors.assignor import (
    Assignment,
    MemberSubscription,
    StatelessAssignor,
    members_in_order,
)
from kafkalike.model.topic_partition import TopicPartition


class RoundRobinAssignor(StatelessAssignor):
    """Counts differ by at most one when all members have the same topics."""

    name: ClassVar[str] = "roundrobin"

    def assign(
        self, partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Deal the partitions out."""
        assignment: Assignment = {member_id: [] for member_id in members}
        wanted = {topic for member in members.values() for topic in member.topics}
        turns = cycle(members_in_order(members))
        for topic in sorted(wanted & set(partition_counts)):
            for partition in range(partition_counts[topic]):
                member_id = next(turns)
                while topic not in members[member_id].topics:
                    member_id = next(turns)
                assignment[member_id].append(TopicPartition(topic, partition))
        return assignment
