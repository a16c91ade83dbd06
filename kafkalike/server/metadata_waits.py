"""Waiting until the metadata of this broker shows that topics were created or deleted.

Kafka's `DelayedCreatePartitions` and `DelayedDeleteTopics`.
"""

from collections.abc import Callable, Iterable, Mapping

from twisted.internet.defer import Deferred

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.model.leader_and_isr import NO_LEADER
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.delayed_operation import DelayedOperationPurgatory, watch
from kafkalike.utils.time import Time


class MetadataWaits:
    """Requests that wait, by topic; `metadata_changed` wakes them."""

    def __init__(self, metadata_cache: MetadataCache, time: Time) -> None:
        self._metadata_cache = metadata_cache
        self._purgatory = DelayedOperationPurgatory(time)

    def metadata_changed(self, topics: Iterable[str]) -> None:
        """Let who waits for these topics look again."""
        for topic in topics:
            self._purgatory.check_and_complete(topic)

    def shutdown(self) -> None:
        """Answer all that wait."""
        self._purgatory.shutdown()

    async def for_leaders(self, num_partitions: Mapping[str, int], timeout_ms: int) -> list[str]:
        """Wait until so many partitions of the topics have leaders; return where that failed.

        Without a timeout nobody waits, and nothing counts as done (as in Kafka).
        """

        def leaderless() -> list[str]:
            return [t for t, count in num_partitions.items() if self._lacks_leaders(t, count)]

        return await self._wait(leaderless, num_partitions, timeout_ms)

    async def for_deletion(self, topics: Iterable[str], timeout_ms: int) -> list[str]:
        """Wait until the topics are gone; return those that are not. As above without a timeout."""
        awaited = list(topics)

        def there() -> list[str]:
            known = self._metadata_cache.snapshot.topics
            return [topic for topic in awaited if topic in known]

        return await self._wait(there, awaited, timeout_ms)

    async def for_elected(self, elected: Mapping[TopicPartition, int], timeout_ms: int) -> set[str]:
        """Wait until partitions are led by whom the controller elected; return where that failed.

        The names are those of topics: one that is late makes all its partitions late.
        """

        def late() -> list[str]:
            snapshot = self._metadata_cache.snapshot
            return [
                tp.topic
                for tp, leader in elected.items()
                if (known := snapshot.partition(tp)) is None or known.leader != leader
            ]

        topics = {tp.topic for tp in elected}
        return set(await self._wait(late, topics, timeout_ms))

    async def _wait(
        self, pending: Callable[[], list[str]], topics: Iterable[str], timeout_ms: int
    ) -> list[str]:
        if timeout_ms <= 0:
            return list(topics)
        if pending():
            done: Deferred[None] = Deferred()
            watch(
                self._purgatory,
                lambda: not pending(),
                topics,
                timeout_ms,
                lambda: done.callback(None),
            )
            await done
        return pending()

    def _lacks_leaders(self, topic: str, count: int) -> bool:
        known = self._metadata_cache.snapshot.topics.get(topic, {})
        return any(p not in known or known[p].leader == NO_LEADER for p in range(count))
