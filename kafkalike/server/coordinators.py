"""Tells coordinators when the partitions that hold their state come to this broker, and go."""

from collections.abc import Mapping
from typing import Protocol

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.replication.replica_state_changes import LeadershipChange


class Coordinator(Protocol):
    """Something that lives where the partitions of its internal topic are led."""

    def on_election(self, partition: int, epoch: int) -> None:
        """Load what a partition holds: this broker leads it now."""

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        """Unload it: this broker leads it no more, or the partition is gone (no epoch)."""


def leadership_listener(coordinators: Mapping[str, Coordinator]) -> LeadershipChange:
    """Make what hears of leaders, out of coordinators by the topic that each keeps its state in."""

    def changed(tp: TopicPartition, epoch: int | None, *, is_leader: bool) -> None:
        coordinator = coordinators.get(tp.topic)
        if coordinator is None:
            return
        if is_leader:
            assert epoch is not None, "a leader has an epoch"
            coordinator.on_election(tp.partition, epoch)
        else:
            coordinator.on_resignation(tp.partition, epoch)

    return changed
