"""The consumer's core: what both faces share (Kafka's `KafkaConsumer`). Runs in the reactor.

All that needs the network runs in the background and wakes `poll`, which gives records, lets
partitions change hands, and raises what went wrong. Between polls only heartbeats and fetches ahead
go on.
"""

from collections.abc import Callable, Iterable
from typing import Any

from twisted.logger import Logger

from kafkalike.client.consumer.assignors.choice import make_assignors
from kafkalike.client.consumer.commits import Commits, Committed
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import Records
from kafkalike.client.consumer.fetcher import Fetcher
from kafkalike.client.consumer.group_membership import GroupMembership
from kafkalike.client.consumer.notifier import Notifier
from kafkalike.client.consumer.offset_lookup import OffsetLookup
from kafkalike.client.consumer.offset_store import OffsetStore
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
from kafkalike.protocol.errors import InvalidGroupIdError, RequestTimedOutError
from kafkalike.protocol.messages.metadata import MetadataRequest

log = Logger()


class Consumer:
    """Reads records; one `poll` at a time."""

    def __init__(self, reactor: Any, config: ConsumerConfig) -> None:  # Any: see BrokerChannel
        self.config = config
        self.client = KafkaClient(reactor, config)
        self.subscription = SubscriptionState()
        self.is_closed = False
        self._is_polling = False
        self._news = Notifier(self.client.time)
        self._assignors = make_assignors(config.partition_assignment_strategy)
        self.lookup = OffsetLookup(self.client, config.isolation)
        self.fetcher = Fetcher(self.client, config, self.subscription, self._news.notify)
        self._membership: GroupMembership | None = None
        self._commits: Commits | None = None
        self._rebalance: Rebalance | None = None
        if config.group_id is not None:
            self._make_member(config.group_id)
        store = None if self._commits is None else self._commits.store
        self.positions = Positions(
            self.client, config, self.subscription, self.lookup, store, self._news.notify
        )
        self._is_prepared = False
        self._is_leader = False
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
        self._commits = Commits(
            self.client,
            self.config,
            self.subscription,
            membership,
            OffsetStore(membership.link, group_id),
            self._news.notify,
        )
        self._rebalance = Rebalance(
            self.subscription, membership, self._assignors, self._commits.before_rebalance
        )

    @property
    def membership(self) -> GroupMembership:
        """This consumer in its group; an error if it has none."""
        if self._membership is None:
            raise InvalidGroupIdError("this needs a group_id: give one to the consumer")
        return self._membership

    @property
    def commits(self) -> Commits:
        """The committed offsets of the group; an error if there is no group."""
        if self._commits is None:
            raise InvalidGroupIdError("committing needs a group_id: give one to the consumer")
        return self._commits

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
            await self.commits.before_rebalance()
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
        if self._is_polling:
            raise IllegalStateError("the consumer is polled by somebody else: one at a time may")
        self._is_polling = True
        try:
            return await self._poll(
                timeout_ms, max_records or self.config.max_poll_records, run, update_offsets
            )
        finally:
            self._is_polling = False

    async def _poll(self, timeout_ms: float, limit: int, run: Run, update_offsets: bool) -> Records:
        deadline_ms = self.client.time.now_ms() + timeout_ms
        while not self.is_closed:
            await self._keep_up(run)
            # What was given before is used up now, and so are markers of transactions behind it.
            self._mark_consumed({})
            records = self.fetcher.collect(limit)
            self.fetcher.send_fetches()
            if update_offsets:
                self._mark_consumed(records)
            if records:
                return records
            left_ms = deadline_ms - self.client.time.now_ms()
            if left_ms <= 0:
                return {}
            await self._news.wait(left_ms)
        return {}

    def wakeup(self) -> None:
        """Let a poll that waits look again."""
        self._news.notify()

    async def commit(self, offsets: Committed | None = None, timeout_ms: int | None = None) -> None:
        """Commit offsets (those of all records given so far) and wait until that is done."""
        await self.commits.commit(offsets, timeout_ms)

    def commit_async(
        self, offsets: Committed | None = None, callback: Callable[..., Any] | None = None
    ) -> None:
        """Commit in the background; the callback gets (offsets, error or None) in a later poll."""
        self.commits.commit_async(offsets, callback)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return what the group has committed; nothing for partitions it has not."""
        return await self.commits.committed(partitions, timeout_ms)

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

    async def close(
        self, *, autocommit: bool = True, timeout_ms: int | None = None, run: Run = run_here
    ) -> None:
        """Commit (if that is automatic), leave the group, close the connections.

        What would take longer than `timeout_ms` is given up; a poll that waits ends.
        """
        if self.is_closed:
            return
        self.is_closed = True
        self._news.notify()
        patience_ms = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            await within(self.client.time, patience_ms, self._leave(autocommit, run), "leaving")
        except RequestTimedOutError as error:
            log.warn("the consumer is closed, but not in order: {error}", error=error)
        finally:
            if self._membership is not None:
                self._membership.close()
            await self.client.close()

    async def _leave(self, autocommit: bool, run: Run) -> None:
        if self._rebalance is not None and self.subscription.is_by_group:
            if autocommit:
                await self.commits.before_rebalance()
            await self._rebalance.give_up_all(run)
            self.membership.close()
            if self.config.leave_group_on_close:
                await self.membership.leave()
        elif autocommit and self._membership is not None:
            await self.commits.before_rebalance()
        if self._commits is not None:
            await self._commits.run_callbacks(run)

    async def _keep_up(self, run: Run) -> None:
        """Do all that only a poll may do."""
        if self._membership is not None:
            await self.commits.run_callbacks(run)
            self._membership.last_poll_ms = self.client.time.now_ms()
            if self.subscription.is_by_group:
                await self._keep_up_with_group(run)
            self.commits.maybe_auto_commit()
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
                return  # The metadata is on its way, and wakes the poll.
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
            if member.counts_of(frozenset(known) | subscription.topics) != known:
                member.request_rejoin("topics have other partitions")
        self._news.notify()

    def _mark_consumed(self, records: Records) -> None:
        for state in self.subscription.partitions.values():
            if state.position is not None:
                state.consumed = state.position
        for tp, found in records.items():
            epoch = found[-1].leader_epoch
            self.subscription.partitions[tp].leader_epoch = -1 if epoch is None else epoch

    def _check_open(self) -> None:
        if self.is_closed:
            raise IllegalStateError("the consumer is closed: make a new one")
