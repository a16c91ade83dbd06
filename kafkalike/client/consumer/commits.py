"""Committing a consumer's positions: by itself now and then, when asked, before a rebalance."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from twisted.logger import Logger

from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.group_membership import GroupMembership
from kafkalike.client.consumer.offset_store import CommitFailedError, OffsetStore
from kafkalike.client.consumer.offsets import OffsetAndMetadata, as_offset
from kafkalike.client.consumer.rebalance import Run
from kafkalike.client.consumer.subscription_state import SubscriptionState
from kafkalike.client.kafka_client import KafkaClient
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError

log = Logger()

Committed = Mapping[TopicPartition, OffsetAndMetadata | int]


class Commits:
    """The commits of one consumer; callbacks wait for the next poll."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        subscription: SubscriptionState,
        membership: GroupMembership,
        store: OffsetStore,
        wake: Callable[[], None],
    ) -> None:
        self.store = store
        self._client = client
        self._config = config
        self._subscription = subscription
        self._membership = membership
        self._wake = wake
        self._next_ms = client.time.now_ms() + config.auto_commit_interval_ms
        self._callbacks: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()

    async def commit(self, offsets: Committed | None = None, timeout_ms: int | None = None) -> None:
        """Commit and wait; what may pass is tried again."""
        to_commit = self._to_commit(offsets)
        if to_commit:
            await self._client.retrying(lambda: self._commit_once(to_commit), timeout_ms)

    def commit_async(
        self, offsets: Committed | None = None, callback: Callable[..., Any] | None = None
    ) -> None:
        """Commit once in the background; the callback gets (offsets, error or None)."""
        to_commit = self._to_commit(offsets)
        call = callback or self._config.default_offset_commit_callback
        self._client.background.start(self._commit_and_tell(to_commit, call), "commit")

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return what the group has committed; nothing for partitions it has not."""
        wanted = list(partitions)
        return await self._client.retrying(lambda: self.store.fetch(wanted), timeout_ms)

    async def before_rebalance(self) -> None:
        """Commit what was given to the program, if that is automatic: others may go on from it."""
        if not self._config.commits_by_itself or not self._subscription.consumed():
            return
        try:
            await self.commit(timeout_ms=self._config.request_timeout_ms)
        except KafkaError as error:
            log.warn("offsets were not committed before the rebalance: {error}", error=error)

    def maybe_auto_commit(self) -> None:
        """Commit in the background if it is time; only a poll asks (as in Kafka's client)."""
        now_ms = self._client.time.now_ms()
        if not self._config.commits_by_itself or now_ms < self._next_ms:
            return
        self._next_ms = now_ms + self._config.auto_commit_interval_ms
        if self._subscription.consumed():
            self.commit_async()

    async def run_callbacks(self, run: Run) -> None:
        """Tell what came of the commits since the last poll."""
        while self._callbacks:
            call, args = self._callbacks.popleft()
            await run(call, *args)

    def _to_commit(self, offsets: Committed | None) -> dict[TopicPartition, OffsetAndMetadata]:
        if offsets is None:
            consumed = self._subscription.consumed()
            return {tp: OffsetAndMetadata(o, "", e) for tp, (o, e) in consumed.items()}
        return {TopicPartition(*tp): as_offset(given) for tp, given in offsets.items()}

    async def _commit_once(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        member = self._membership
        if not self._subscription.is_by_group:
            await self.store.commit(offsets)
            return
        if not member.is_member:
            raise CommitFailedError(
                "the offsets cannot be committed: this consumer is not part of an active group"
            )
        await self.store.commit(
            offsets,
            generation=member.generation,
            member_id=member.member_id,
            group_instance_id=self._config.group_instance_id,
        )

    async def _commit_and_tell(
        self, offsets: dict[TopicPartition, OffsetAndMetadata], call: Callable[..., Any] | None
    ) -> None:
        problem: KafkaError | None = None
        try:
            if offsets:
                await self._commit_once(offsets)
        except KafkaError as error:
            problem = error
            log.warn("{count} offsets were not committed: {error}", count=len(offsets), error=error)
        if call is not None:
            self._callbacks.append((call, (offsets, problem)))
            self._wake()
