"""Rebalances that wait: for members to join (DelayedJoin) and to sync (DelayedSync)."""

from collections.abc import Callable

from kafkalike.coordinator.group.group_metadata import (
    COMPLETING_REBALANCE,
    STABLE,
    GroupMetadata,
)
from kafkalike.utils.delayed_operation import DelayedOperation


class DelayedJoin(DelayedOperation):
    """Over when all members have joined, or at the rebalance timeout with those who have."""

    __slots__ = ("_group", "_on_complete")

    def __init__(self, group: GroupMetadata, on_complete: Callable[[GroupMetadata], None]) -> None:
        super().__init__()
        self._group = group
        self._on_complete = on_complete

    def try_complete(self) -> bool:
        """Look whether anybody is missing."""
        return self._group.has_all_members_joined and self.force_complete()

    def on_complete(self) -> None:
        """Go on with those who have joined."""
        self._on_complete(self._group)


class InitialDelayedJoin(DelayedOperation):
    """The first rebalance of a group, which waits for more members (KIP-134).

    It waits `delay_ms`; if a member has come meanwhile it waits again, as long as something is left
    (`remaining_ms`) of the rebalance timeout: `delay_again` is called with what is left then.
    """

    __slots__ = ("_delay_again", "_delay_ms", "_group", "_on_complete", "_remaining_ms")

    def __init__(
        self,
        group: GroupMetadata,
        delay_ms: int,
        remaining_ms: int,
        delay_again: Callable[[GroupMetadata, int, int], None],
        on_complete: Callable[[GroupMetadata], None],
    ) -> None:
        super().__init__()
        self._group = group
        self._delay_ms = delay_ms
        self._remaining_ms = remaining_ms
        self._delay_again = delay_again
        self._on_complete = on_complete

    def try_complete(self) -> bool:
        """Wait for the deadline, whoever has joined."""
        return False

    def on_complete(self) -> None:
        """Wait once more if somebody has come, else go on."""
        if self._group.new_member_added and self._remaining_ms:
            self._group.new_member_added = False
            # Kafka takes off the wait that is over, not the one that begins.
            left_ms = max(self._remaining_ms - self._delay_ms, 0)
            self._delay_again(self._group, self._remaining_ms, left_ms)
        else:
            self._on_complete(self._group)


class DelayedSync(DelayedOperation):
    """Over when all members of a generation have synced; who has not by the deadline is out."""

    __slots__ = ("_generation_id", "_group", "_on_expiration")

    def __init__(
        self, group: GroupMetadata, on_expiration: Callable[[GroupMetadata], None]
    ) -> None:
        super().__init__()
        self._group = group
        self._generation_id = group.generation_id
        self._on_expiration = on_expiration

    @property
    def _is_waited_for(self) -> bool:
        group = self._group
        return (
            group.generation_id == self._generation_id
            and group.state in (COMPLETING_REBALANCE, STABLE)
            and bool(group.pending_sync_members)
        )

    def try_complete(self) -> bool:
        """Look whether all have synced, or the generation is over."""
        return not self._is_waited_for and self.force_complete()

    def on_complete(self) -> None:
        """Nothing is to be done for those who have synced."""

    def on_expiration(self) -> None:
        """Throw out those who have not."""
        if self._is_waited_for:
            self._on_expiration(self._group)
