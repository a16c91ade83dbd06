"""What happens to a member's partitions before and after a rebalance, with the listener's say.

Part of Kafka's `ConsumerCoordinator`. Runs only while the program polls: the listener is called in
the program's own context, by way of `run`.
"""

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol

from kafkalike.client.consumer.assignors.assignor import Assignor
from kafkalike.client.consumer.group_membership import GroupMembership, Joined
from kafkalike.client.consumer.subscription_state import SubscriptionState
from kafkalike.model.topic_partition import TopicPartition

Run = Callable[..., Awaitable[Any]]
"""Calls a function of the program where the program wants it: in its thread, or right here."""


class ConsumerRebalanceListener(Protocol):
    """What a program may do when partitions come and go; methods may be coroutines in Twisted."""

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> Any:
        """Finish with these partitions: commit what was processed. They still belong to us."""

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> Any:
        """Begin with these partitions: seek, load state."""

    def on_partitions_lost(self, lost: set[TopicPartition]) -> Any:
        """Give up these partitions: others have them already. Without it, revoked is called."""


async def run_here(call: Callable[..., Any], *args: Any) -> Any:
    """Call a function of the program in the reactor; wait for it if it is a coroutine."""
    result = call(*args)
    return await result if inspect.isawaitable(result) else result


class Rebalance:
    """Takes partitions from the subscription and gives it others."""

    def __init__(
        self,
        subscription: SubscriptionState,
        membership: GroupMembership,
        assignors: Sequence[Assignor],
        commit_before: Callable[[], Awaitable[None]],
    ) -> None:
        self._subscription = subscription
        self._membership = membership
        self._is_cooperative = all(assignor.is_cooperative for assignor in assignors)
        self._commit_before = commit_before

    async def prepare(self, run: Run) -> None:
        """Give up what must be given up before joining."""
        subscription = self._subscription
        owned = set(subscription.partitions)
        if self._membership.has_lost_all:
            self._membership.has_lost_all = False
            subscription.assign(())
            await self._tell_lost(run, owned)
            return
        await self._commit_before()
        if self._is_cooperative:
            revoked = {tp for tp in owned if tp.topic not in subscription.topics}
            if not revoked:
                return
        else:
            revoked = owned
        await self._tell(run, "on_partitions_revoked", revoked)
        subscription.assign(tp for tp in subscription.partitions if tp not in revoked)

    async def complete(self, run: Run, joined: Joined) -> None:
        """Take what the leader of the group has assigned."""
        subscription = self._subscription
        assigned = {tp for tp in joined.partitions if tp.topic in subscription.topics}
        if len(assigned) < len(joined.partitions):
            self._membership.request_rejoin("the assignment is older than the subscription")
        owned = set(subscription.partitions)
        if self._is_cooperative:
            revoked = owned - assigned
            if revoked:
                await self._commit_before()
                await self._tell(run, "on_partitions_revoked", revoked)
                self._membership.request_rejoin("others wait for what was given up")
        else:
            owned = set()
        subscription.assign(sorted(assigned))
        joined.assignor.on_assignment(sorted(assigned), joined.generation)
        await self._tell(run, "on_partitions_assigned", assigned - owned)

    async def give_up_all(self, run: Run) -> None:
        """Leave for good: on close and unsubscribe."""
        owned = set(self._subscription.partitions)
        if owned and self._membership.has_lost_all:
            await self._tell_lost(run, owned)
        elif owned:
            await self._tell(run, "on_partitions_revoked", owned)
        self._subscription.assign(())

    async def _tell_lost(self, run: Run, partitions: set[TopicPartition]) -> None:
        has_own = hasattr(self._subscription.listener, "on_partitions_lost")
        await self._tell(
            run, "on_partitions_lost" if has_own else "on_partitions_revoked", partitions
        )

    async def _tell(self, run: Run, what: str, partitions: Collection[TopicPartition]) -> None:
        call = getattr(self._subscription.listener, what, None)
        if call is not None:
            await run(call, set(partitions))
