"""Which partitions this broker led until when: a client that still comes for one is out of date."""

from typing import Final

from kafkalike.model.topic_partition import TopicPartition

MAX_REMEMBERED: Final = 100_000
"""Beyond that the oldest is forgotten; its clients are then served instead of corrected."""


class FormerLeaderships:
    """When each leadership that is no more was lost; of one lost twice, the last time."""

    def __init__(self) -> None:
        self._lost_ms: dict[TopicPartition, int] = {}

    def __len__(self) -> int:
        return len(self._lost_ms)

    def lost(self, tp: TopicPartition, now_ms: int) -> None:
        """Remember that this broker leads a partition no more."""
        self._lost_ms.pop(tp, None)  # so that the order is that of time
        self._lost_ms[tp] = now_ms
        if len(self._lost_ms) > MAX_REMEMBERED:
            del self._lost_ms[next(iter(self._lost_ms))]

    def is_lost_since(self, tp: TopicPartition, since_ms: int) -> bool:
        """Whether this broker led the partition at some time since then, and lost it."""
        lost_ms = self._lost_ms.get(tp)
        return lost_ms is not None and lost_ms >= since_ms
