"""Range: each topic is cut into consecutive ranges, the first members get one more."""

from collections.abc import Mapping
from typing import ClassVar

from kafkalike.client.consumer.assignors.assignor import (
    Assignment,
    MemberSubscription,
    StatelessAssignor,
    members_in_order,
)
from kafkalike.model.topic_partition import TopicPartition


class RangeAssignor(StatelessAssignor):
    """Kafka's default: partitions of equal number of several topics go to the same member."""

    name: ClassVar[str] = "range"

    def assign(
        self, partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Share out topic by topic."""
        assignment: Assignment = {member_id: [] for member_id in members}
        in_order = members_in_order(members)
        for topic, count in sorted(partition_counts.items()):
            subscribed = [m for m in in_order if topic in members[m].topics]
            if not subscribed:
                continue
            each, extra = divmod(count, len(subscribed))
            start = 0
            for number, member_id in enumerate(subscribed):
                end = start + each + (number < extra)
                assignment[member_id] += [TopicPartition(topic, p) for p in range(start, end)]
                start = end
        return assignment
