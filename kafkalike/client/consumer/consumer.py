"""The consumer's core: what both faces share (Kafka's `KafkaConsumer`). Runs in the reactor.

All that needs the network runs in the background and wakes `poll`, which gives records, lets
partitions change hands, and raises what went wrong. Between polls only heartbeats and fetches ahead
go on.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from twisted.logger import Logger

from kafkalike.client.consumer.assignors.choice import make_assignors
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import Records
from kafkalike.client.consumer.fetcher import Fetcher
from kafkalike.client.consumer.group_membership import GroupMembership
from kafkalike.client.consumer.notifier import Notifier
from kafkalike.client.consumer.offset_lookup import OffsetLookup
from kafkalike.client.consumer.offset_store import CommitFailedError, OffsetStore
from kafkalike.client.consumer.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkalike.client.consumer.positions import Positions
from kafkalike.client.consumer.rebalance import Rebalance, Run, run_here
from kafkalike.client.consumer.subscription_state import (
    IllegalStateError,
    SubscriptionKind,
    SubscriptionState,
)
from kafkalike.client.deadline import within
from kafkalike.client.kafka_client import KafkaClient
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import InvalidGroupIdError, KafkaError, RequestTimedOutError
from kafkalike.protocol.messages.metadata import MetadataRequest

log = Logger()

Committed = Mapping[TopicPartition, OffsetAndMetadata]


class Consumer:
    """Reads records; one `poll` at a time."""

    def __init__(self, reactor: Any, config: ConsumerConfig) -> None:  # Any: see BrokerChannel
        self.config = config
        self.client = KafkaClient(reactor, config)
        self.subscription = SubscriptionState()
        self.is_closed = False
        self._news = Notifier(self.client.time)
        self._assignors = make_assignors(config.partition_assignment_strategy)
        self.lookup = OffsetLookup(self.client, config.isolation)
        self.fetcher = Fetcher(self.client, config, self.subscription, self._news.notify)
        self._membership: GroupMembership | None = None
        self._store: OffsetStore | None = None
        self._rebalance: Rebalance | None = None
        if config.group_id is not None:
            self._make_member(config.group_id)
        self.positions = Positions(
            self.client, config, self.subscription, self.lookup, self._store, self._news.notify
        )
        self._next_commit_ms = self.client.time.now_ms() + config.auto_commit_interval_ms
        self._is_prepared = False
        self._callbacks: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self.client.metadata.on_update.append(self._on_metadata)

    def _make_member(self, group_id: str) -> None:
        membership = GroupMembership(
            self.client,
            self.config,
            self._assignors,
            owned=lambda: list(self.subscription.partitions),
            topics=lambda: self.subscription.topics,
            wake=self._news.notify,
        )
        self._membership = membership
        self._store = OffsetStore(membership.link, group_id)
        self._rebalance = Rebalance(
            self.subscription, membership, self._assignors, self._commit_before_rebalance
        )

    @property
    def membership(self) -> GroupMembership:
        """This consumer in its group; an error if it has none."""
        if self._membership is None:
            raise InvalidGroupIdError("this needs a group_id: give one to the consumer")
        return self._membership

    @property
    def store(self) -> OffsetStore:
        """The committed offsets of the group."""
        if self._store is None:
            raise InvalidGroupIdError("committing needs a group_id: give one to the consumer")
        return self._store

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who this consumer is in its group, for a transactional producer."""
        member = self.membership
        return ConsumerGroupMetadata(
            member.group_id, member.generation, member.member_id, self.config.group_instance_id
        )

    def subscribe(
        self, topics: Iterable[str] = (), pattern: str | None = None, listener: Any = None
    ) -> None:
        """Read topics together with the other members of the group."""
        self._check_open()
        topics = [topics] if isinstance(topics, str) else list(topics)
        if bool(topics) == bool(pattern):
            raise ValueError("subscribe needs topics or a pattern, and not both")
        metadata = self.client.metadata
        if pattern is not None:
            self.subscription.subscribe_pattern(pattern, listener)
            metadata.want_all_topics()
        else:
            self.subscription.subscribe(topics, listener)
            metadata.set_topics(topics)
        if self._membership is not None:
            self._membership.request_rejoin("the subscription has changed")
        metadata.request_refresh()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read just these partitions."""
        self._check_open()
        wanted = [TopicPartition(*tp) for tp in partitions]
        self.subscription.assign_by_user(wanted)
        if self.client.metadata.add_topics({tp.topic for tp in wanted}):
            self.client.metadata.request_refresh()
        self.fetcher.forget_stale()

    async def unsubscribe(self, run: Run = run_here) -> None:
        """Read nothing; leave the group."""
        if self._rebalance is not None and self.subscription.is_by_group:
            await self._commit_before_rebalance()
            await self._rebalance.give_up_all(run)
            await self.membership.leave()
        self.subscription.unsubscribe()
        self.fetcher.forget_stale()

    async def poll(
        self,
        timeout_ms: float = 0,
        max_records: int | None = None,
        *,
        run: Run = run_here,
        update_offsets: bool = True,
    ) -> Records:
        """Give records, at most so many; wait for some no longer than that."""
        self._check_open()
        if self.subscription.kind is SubscriptionKind.NONE:
            raise IllegalStateError("nothing to poll: subscribe() or assign() first")
        limit = max_records or self.config.max_poll_records
        deadline_ms = self.client.time.now_ms() + timeout_ms
        while True:
            await self._keep_up(run)
            records = self.fetcher.collect(limit)
            self.fetcher.send_fetches()
            if records:
                if update_offsets:
                    self._mark_consumed(records)
                return records
            left_ms = deadline_ms - self.client.time.now_ms()
            if left_ms <= 0:
                return {}
            await self._news.wait(left_ms)

    def wakeup(self) -> None:
        """Let a poll that waits look again."""
        self._news.notify()

    async def commit(self, offsets: Committed | None = None, timeout_ms: int | None = None) -> None:
        """Commit offsets (those of all records given so far) and wait until that is done."""
        to_commit = self._to_commit(offsets)
        if to_commit:
            await self.client.retrying(lambda: self._commit_once(to_commit), timeout_ms)

    def commit_async(
        self, offsets: Committed | None = None, callback: Callable[..., Any] | None = None
    ) -> None:
        """Commit in the background; the callback gets (offsets, error or None) in a later poll."""
        to_commit = self._to_commit(offsets)
        call = callback or self.config.default_offset_commit_callback
        self.client.background.start(self._commit_and_tell(to_commit, call), "commit")

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return what the group has committed; nothing for partitions it has not."""
        wanted = list(partitions)
        return await self.client.retrying(lambda: self.store.fetch(wanted), timeout_ms)

    async def position(self, tp: TopicPartition, timeout_ms: int | None = None) -> int:
        """Return the offset of the next record to be given."""
        patience_ms = timeout_ms or self.config.default_api_timeout_ms
        state = self.subscription.state(tp)
        if state.consumed is None or state.position is None:
            await within(
                self.client.time, patience_ms, self.positions.find(patience_ms), f"position of {tp}"
            )
        found = self.subscription.state(tp).consumed
        if found is None:
            raise RequestTimedOutError(f"the position of {tp} is not known yet")
        return found

    async def partitions_for(self, topic: str) -> set[int] | None:
        """Return the partitions of a topic, None if it does not exist."""
        metadata = self.client.metadata
        found = metadata.snapshot.topics.get(topic)
        if found is None:
            metadata.add_topics([topic])
            found = (await metadata.refresh()).topics.get(topic)
        return set(found.partitions) if found is not None and found.partitions else None

    async def all_topics(self) -> set[str]:
        """Return the names of all topics."""
        answer = await self.client.send_to_any(MetadataRequest(topics=None))
        excludes = self.config.exclude_internal_topics
        return {t.name for t in answer.topics if not (excludes and t.is_internal)}

    async def close(self, *, autocommit: bool = True, run: Run = run_here) -> None:
        """Commit (if that is automatic), leave the group, close the connections."""
        if self.is_closed:
            return
        self.is_closed = True
        try:
            if self._rebalance is not None and self.subscription.is_by_group:
                if autocommit:
                    await self._commit_before_rebalance()
                await self._rebalance.give_up_all(run)
                self.membership.close()
                if self.config.leave_group_on_close:
                    await self.membership.leave()
            elif autocommit and self._membership is not None:
                await self._commit_before_rebalance()
            await self._run_callbacks(run)
        finally:
            if self._membership is not None:
                self._membership.close()
            await self.client.close()

    async def _keep_up(self, run: Run) -> None:
        """Do all that only a poll may do."""
        await self._run_callbacks(run)
        if self._membership is not None:
            self._membership.last_poll_ms = self.client.time.now_ms()
            if self.subscription.is_by_group:
                await self._keep_up_with_group(run)
            self._maybe_auto_commit()
        elif self.subscription.is_by_group:
            self._take_all_partitions()
        if self.positions.error is not None:
            error, self.positions.error = self.positions.error, None
            raise error
        self.positions.find_in_background()

    async def _keep_up_with_group(self, run: Run) -> None:
        member, rebalance = self.membership, self._rebalance
        assert rebalance is not None, "a member has a rebalance"
        if member.error is not None:
            error, member.error = member.error, None
            raise error
        if member.joined is not None:
            joined, member.joined = member.joined, None
            self._is_prepared = False
            await rebalance.complete(run, joined)
            self._is_leader = joined.is_leader
            self.client.metadata.add_topics(self.subscription.topics)
            self.fetcher.forget_stale()
        if member.needs_join and not member.is_joining:
            if self.subscription.kind is SubscriptionKind.PATTERN and not self._knows_topics:
                await self.client.metadata.refresh()
            if not self._is_prepared:
                await rebalance.prepare(run)
                self._is_prepared = True
                self.fetcher.forget_stale()
            member.start_joining()

    def _take_all_partitions(self) -> None:
        """Without a group, a subscription means all partitions of its topics."""
        known = self.client.metadata.snapshot.topics
        wanted = {
            TopicPartition(topic, partition)
            for topic in self.subscription.topics & known.keys()
            for partition in known[topic].partitions
        }
        if wanted != self.subscription.partitions.keys():
            self.subscription.assign(sorted(wanted))

    _is_leader = False

    @property
    def _knows_topics(self) -> bool:
        return bool(self.client.metadata.snapshot.brokers)

    def _on_metadata(self) -> None:
        """Rejoin when the pattern matches other topics, or (as leader) a topic has grown."""
        subscription, member = self.subscription, self._membership
        topics = self.client.metadata.snapshot.topics
        excludes = self.config.exclude_internal_topics
        has_changed = subscription.match(
            topics, lambda name: not (excludes and topics[name].is_internal)
        )
        if member is None or not subscription.is_by_group:
            self._news.notify()
            return
        if has_changed:
            member.request_rejoin("the pattern matches other topics")
        elif self._is_leader and member.is_member and not member.is_joining:
            known = member.partition_counts
            if known and member.counts_of(frozenset(known) | subscription.topics) != known:
                member.request_rejoin("topics have other partitions")
        self._news.notify()

    def _mark_consumed(self, records: Records) -> None:
        for tp, found in records.items():
            state = self.subscription.partitions[tp]
            state.consumed = found[-1].offset + 1
            epoch = found[-1].leader_epoch
            state.leader_epoch = -1 if epoch is None else epoch

    def _to_commit(self, offsets: Committed | None) -> dict[TopicPartition, OffsetAndMetadata]:
        self.store  # noqa: B018 (raises without a group)
        if offsets is None:
            consumed = self.subscription.consumed()
            return {tp: OffsetAndMetadata(o, "", e) for tp, (o, e) in consumed.items()}
        return {TopicPartition(*tp): _as_offset(given) for tp, given in offsets.items()}

    async def _commit_once(self, offsets: Committed) -> None:
        member = self.membership
        if not self.subscription.is_by_group:
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
            group_instance_id=self.config.group_instance_id,
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
            log.debug("commit of {count} offsets: {error}", count=len(offsets), error=error)
        if call is not None:
            self._callbacks.append((call, (offsets, problem)))
            self._news.notify()

    async def _commit_before_rebalance(self) -> None:
        if not self.config.commits_by_itself or not self.subscription.consumed():
            return
        try:
            await self.commit(timeout_ms=self.config.request_timeout_ms)
        except KafkaError as error:
            log.warn("offsets were not committed before the rebalance: {error}", error=error)

    def _maybe_auto_commit(self) -> None:
        now_ms = self.client.time.now_ms()
        if not self.config.commits_by_itself or now_ms < self._next_commit_ms:
            return
        self._next_commit_ms = now_ms + self.config.auto_commit_interval_ms
        if self.subscription.consumed():
            self.commit_async()

    async def _run_callbacks(self, run: Run) -> None:
        while self._callbacks:
            call, args = self._callbacks.popleft()
            await run(call, *args)

    def _check_open(self) -> None:
        if self.is_closed:
            raise IllegalStateError("the consumer is closed: make a new one")


def _as_offset(given: Any) -> OffsetAndMetadata:
    if isinstance(given, int):
        return OffsetAndMetadata(given)
    epoch = getattr(given, "leader_epoch", -1)
    return OffsetAndMetadata(given.offset, given.metadata, -1 if epoch is None else epoch)
