"""What a consumer reads and how far it is (Kafka's `SubscriptionState`): decisions only."""

import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from kafkalike.model.topic_partition import TopicPartition


class IllegalStateError(RuntimeError):
    """The consumer is used in a way that contradicts an earlier call."""


class SubscriptionKind(Enum):
    """How the partitions are chosen; they cannot be mixed."""

    NONE = "nothing"
    TOPICS = "subscribe(topics)"
    PATTERN = "subscribe(pattern)"
    PARTITIONS = "assign(partitions)"


class PartitionState:
    """One assigned partition.

    `position` is the offset to fetch next, None while it must be found out first. `consumed` is
    what a commit says: the offset after the last record that the program was given. `seeks` counts
    the jumps, so that what was fetched before one can be told from what was fetched after it.
    """

    __slots__ = (
        "consumed",
        "high_watermark",
        "is_assigned",
        "is_paused",
        "last_stable_offset",
        "leader_epoch",
        "log_start_offset",
        "position",
        "preferred_replica",
        "reset",
        "retry_at_ms",
        "seeks",
    )

    def __init__(self) -> None:
        self.position: int | None = None
        self.consumed: int | None = None
        self.leader_epoch = -1
        self.is_assigned = True
        self.is_paused = False
        self.reset: str | int | None = None
        self.seeks = 0
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None
        self.preferred_replica: int | None = None
        self.retry_at_ms = 0

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        """Go on at an offset."""
        self.position = self.consumed = offset
        self.leader_epoch = leader_epoch
        self.reset = None
        self.seeks += 1

    def request_reset(self, where: str | int) -> None:
        """Go on at "earliest", "latest" or a time, as soon as its offset is known."""
        self.position = None
        self.reset = where
        self.seeks += 1

    @property
    def is_fetchable(self) -> bool:
        """Whether records of it are wanted now."""
        return self.position is not None and not self.is_paused


class SubscriptionState:
    """The subscription and the assigned partitions."""

    def __init__(self) -> None:
        self.kind = SubscriptionKind.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.listener: Any = None
        self.partitions: dict[TopicPartition, PartitionState] = {}

    @property
    def is_by_group(self) -> bool:
        """Whether the group decides which partitions this consumer has."""
        return self.kind in (SubscriptionKind.TOPICS, SubscriptionKind.PATTERN)

    def subscribe(self, topics: Iterable[str], listener: Any) -> None:
        """Read these topics, shared with the group."""
        self._become(SubscriptionKind.TOPICS)
        self.topics = frozenset(topics)
        self.listener = listener

    def subscribe_pattern(self, pattern: str, listener: Any) -> None:
        """Read all topics whose whole names match, also those still to be created."""
        self._become(SubscriptionKind.PATTERN)
        self.pattern = re.compile(pattern)
        self.listener = listener

    def match(self, topics: Iterable[str], wanted: Callable[[str], bool]) -> bool:
        """Apply the pattern to the topics of the cluster; True if that changes the topics."""
        if self.pattern is None:
            return False
        matching = self.pattern.fullmatch
        found = frozenset(topic for topic in topics if wanted(topic) and matching(topic))
        has_changed = found != self.topics
        self.topics = found
        return has_changed

    def assign_by_user(self, partitions: Iterable[TopicPartition]) -> None:
        """Read just these partitions, whatever others do."""
        self._become(SubscriptionKind.PARTITIONS)
        self.assign(partitions)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Have these partitions; those that stay keep their positions."""
        before = self.partitions
        self.partitions = {tp: before.get(tp) or PartitionState() for tp in partitions}
        for tp, state in before.items():
            state.is_assigned = tp in self.partitions

    def unsubscribe(self) -> None:
        """Read nothing."""
        self.assign(())
        self.kind = SubscriptionKind.NONE
        self.topics = frozenset()
        self.pattern = None
        self.listener = None

    def state(self, tp: TopicPartition) -> PartitionState:
        """Return the state of an assigned partition."""
        found = self.partitions.get(tp)
        if found is None:
            raise IllegalStateError(f"partition {tp} is not assigned to this consumer")
        return found

    def consumed(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return (offset, leader epoch) to commit for each partition that has a position."""
        return {
            tp: (state.consumed, state.leader_epoch)
            for tp, state in self.partitions.items()
            if state.consumed is not None
        }

    def _become(self, kind: SubscriptionKind) -> None:
        if self.kind not in (kind, SubscriptionKind.NONE):
            raise IllegalStateError(
                f"{kind.value} after {self.kind.value}: call unsubscribe() in between"
            )
        self.kind = kind
