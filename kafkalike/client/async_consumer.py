"""KafkaConsumer for programs on Twisted: coroutines on the program's own reactor."""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from kafkalike.client.config import make_config
from kafkalike.client.consumer.consumer import Consumer
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import ConsumerRecord, Records
from kafkalike.client.consumer.delivery import Deserializers, RecordQueue
from kafkalike.client.consumer.offset_lookup import EARLIEST, LATEST
from kafkalike.client.consumer.offsets import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    OffsetAndTimestamp,
)
from kafkalike.client.consumer.rebalance import Run, run_here
from kafkalike.model.topic_partition import TopicPartition

_ITERATION_POLL_MS = 1_000


class KafkaConsumer:
    """Reads records of topics, alone or sharing them with the other members of a group.

        async for record in KafkaConsumer("orders", reactor=reactor, group_id="billing"):
            print(record.partition, record.offset, record.value)

    The methods of a rebalance listener may be coroutines.
    """

    def __init__(self, *topics: str, reactor: Any, **configs: Any) -> None:
        self.config = make_config(ConsumerConfig, configs)
        self.core = Consumer(reactor, self.config)
        self.deserializers = Deserializers(self.config, self.core.subscription)
        self.queue = RecordQueue(self.core.subscription)
        if topics:
            self.subscribe(topics)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        record = self.queue.take()
        left_ms = self.config.consumer_timeout_ms
        while record is None:
            if left_ms <= 0 or self.core.is_closed:
                raise StopAsyncIteration
            wait_ms = min(left_ms, _ITERATION_POLL_MS)
            self.queue.put(await self.poll(wait_ms, update_offsets=False))
            record = self.queue.take()
            left_ms -= wait_ms
        return record

    async def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> Records:
        """Give records by partition; wait for some no longer than that."""
        records = await self.core.poll(timeout_ms, max_records, update_offsets=update_offsets)
        return self.deserializers.apply(records)

    def subscribe(
        self, topics: Iterable[str] = (), pattern: str | None = None, listener: Any = None
    ) -> None:
        """Read these topics, or all that match the pattern."""
        self.core.subscribe(topics, pattern, listener)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read just these partitions, without a group's say."""
        self.core.assign(partitions)

    def subscription(self) -> set[str] | None:
        """Return the topics that are subscribed to."""
        return set(self.core.subscription.topics) or None

    async def unsubscribe(self, *, run: Run = run_here) -> None:
        """Read nothing; leave the group."""
        await self.core.unsubscribe(run)

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that this consumer has."""
        return set(self.core.subscription.partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        if offset < 0:
            raise ValueError(f"{partition}: an offset must be 0 or more, not {offset}")
        self.core.subscription.state(partition).seek(offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on at the first record there is, of these partitions or of all."""
        self._reset(partitions, "earliest")

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on behind the last record there is, of these partitions or of all."""
        self._reset(partitions, "latest")

    def pause(self, *partitions: TopicPartition) -> None:
        """Fetch nothing of these partitions for now; they stay assigned."""
        for tp in partitions:
            self.core.subscription.state(tp).is_paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Go on with partitions that were paused."""
        for tp in partitions:
            self.core.subscription.state(tp).is_paused = False
        self.wakeup()

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that are paused."""
        return {tp for tp, s in self.core.subscription.partitions.items() if s.is_paused}

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        """Commit offsets, of all records given so far or as told, and wait until it is done."""
        await self.core.commit(offsets, timeout_ms)

    commit_sync = commit

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        """Commit in the background; the callback gets (offsets, error or None) in a later poll."""
        self.core.commit_async(offsets, callback)

    async def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int:
        """Return the offset of the next record to be given."""
        return await self.core.position(partition, timeout_ms)

    async def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the partitions of a topic, None if it does not exist."""
        return await self.core.partitions_for(topic)

    async def topics(self) -> set[str]:
        """Return all topics of the cluster that this client may see."""
        return await self.core.all_topics()

    def bootstrap_connected(self) -> bool:
        """Whether the cluster is known."""
        return bool(self.core.client.metadata.snapshot.brokers)

    def wakeup(self) -> None:
        """Let a poll that waits look again."""
        self.core.wakeup()

    async def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: int | None = None
    ) -> Any:
        """Return the committed offset, with its metadata if wanted; None if there is none."""
        offset = (await self.core.committed([partition], timeout_ms)).get(partition)
        return offset if metadata or offset is None else offset.offset

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset of each partition."""
        return await self._offsets(partitions, EARLIEST, timeout_ms)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset behind the last record of each partition."""
        return await self._offsets(partitions, LATEST, timeout_ms)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after each time, in ms since 1970; None for no such."""
        for tp, time in timestamps.items():
            if time < 0:
                raise ValueError(f"{tp}: a time must be 0 or more, not {time}")
        found = await self.core.lookup.find(timestamps, timeout_ms)
        return {tp: one if one.offset >= 0 else None for tp, one in found.items()}

    def highwater(self, partition: TopicPartition) -> int | None:
        """Return the offset behind the last record that could be read at the last fetch."""
        return self.core.subscription.state(partition).high_watermark

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return who this consumer is in its group, for a transactional producer."""
        return self.core.group_metadata

    def metrics(self) -> dict[str, Any]:
        """Return what was read, under Kafka's names."""
        fetcher, partitions = self.core.fetcher, self.core.subscription.partitions
        lags = [
            state.high_watermark - state.position
            for state in partitions.values()
            if state.high_watermark is not None and state.position is not None
        ]
        return {
            "consumer-fetch-manager-metrics": {
                "bytes-consumed-total": fetcher.bytes_fetched,
                "records-consumed-total": fetcher.records_taken,
                "records-lag-max": max([0, *lags]),
            },
            "consumer-coordinator-metrics": {"assigned-partitions": len(partitions)},
        }

    async def close(
        self, autocommit: bool = True, timeout_ms: int | None = None, *, run: Run = run_here
    ) -> None:
        """Commit if that is automatic, leave the group and close; give up after that time."""
        await self.core.close(autocommit=autocommit, timeout_ms=timeout_ms, run=run)

    def _reset(self, partitions: Iterable[TopicPartition], where: str) -> None:
        subscription = self.core.subscription
        for tp in list(partitions) or list(subscription.partitions):
            subscription.state(tp).request_reset(where)

    async def _offsets(
        self, partitions: Iterable[TopicPartition], time: int, timeout_ms: int | None
    ) -> dict[TopicPartition, int]:
        times = {TopicPartition(*tp): time for tp in partitions}
        found = await self.core.lookup.find(times, timeout_ms)
        return {tp: one.offset for tp, one in found.items()}
