"""KafkaConsumer: the blocking face, with kafka-python's names.

Every call runs in the library's background thread, so a consumer may be used from several threads;
rebalance listeners, commit callbacks and deserialisers run in the thread that polls.
"""

from types import TracebackType
from typing import Any, Self

from kafkalike.client import async_consumer
from kafkalike.client.blocking_calls import BlockingFace, calling, waiting
from kafkalike.client.config import make_config
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import ConsumerRecord, Records
from kafkalike.client.threads import reactor_thread

_ITERATION_POLL_MS = 1_000
_Async = async_consumer.KafkaConsumer


class KafkaConsumer(BlockingFace):
    """Reads records of topics, alone or sharing them with the other members of a group.

    consumer = KafkaConsumer("orders", bootstrap_servers="localhost:9092", group_id="billing")
    for record in consumer:
        print(record.partition, record.offset, record.value)
    """

    def __init__(self, *topics: str, **configs: Any) -> None:
        self.config = make_config(ConsumerConfig, configs)
        self._thread = reactor_thread()

        async def make() -> async_consumer.KafkaConsumer:
            return _Async(*topics, reactor=self._thread.reactor, **configs)

        self._inner: async_consumer.KafkaConsumer = self._thread.run(lambda _: make())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> Records:
        """Return records by partition; waits for some no longer than that."""
        core = self._inner.core
        records = self._thread.run(
            lambda caller: core.poll(
                timeout_ms, max_records, run=caller.run_in_caller, update_offsets=update_offsets
            )
        )
        return self._inner.deserializers.apply(records)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        queue = self._inner.queue
        record = queue.take()
        left_ms = self.config.consumer_timeout_ms
        while record is None:
            if left_ms <= 0 or self._inner.core.is_closed:
                raise StopIteration
            wait_ms = min(left_ms, _ITERATION_POLL_MS)
            queue.put(self.poll(wait_ms, update_offsets=False))
            record = queue.take()
            left_ms -= wait_ms
        return record

    def unsubscribe(self) -> None:
        """Read nothing; leave the group."""
        self._thread.run(lambda caller: self._inner.unsubscribe(run=caller.run_in_caller))

    def close(self, autocommit: bool = True, timeout_ms: int | None = None) -> None:
        """Commit if that is automatic, leave the group and close; give up after that time."""
        self._thread.run(
            lambda caller: self._inner.close(autocommit, timeout_ms, run=caller.run_in_caller)
        )

    subscribe = calling(_Async.subscribe)
    subscription = calling(_Async.subscription)
    assign = calling(_Async.assign)
    assignment = calling(_Async.assignment)
    seek = calling(_Async.seek)
    seek_to_beginning = calling(_Async.seek_to_beginning)
    seek_to_end = calling(_Async.seek_to_end)
    position = waiting(_Async.position)
    pause = calling(_Async.pause)
    resume = calling(_Async.resume)
    paused = calling(_Async.paused)
    wakeup = calling(_Async.wakeup)

    commit = waiting(_Async.commit)
    commit_sync = commit
    commit_async = calling(_Async.commit_async)
    committed = waiting(_Async.committed)

    beginning_offsets = waiting(_Async.beginning_offsets)
    end_offsets = waiting(_Async.end_offsets)
    offsets_for_times = waiting(_Async.offsets_for_times)
    partitions_for_topic = waiting(_Async.partitions_for_topic)
    topics = waiting(_Async.topics)
    highwater = calling(_Async.highwater)
    group_metadata = calling(_Async.group_metadata)
    bootstrap_connected = calling(_Async.bootstrap_connected)
    metrics = calling(_Async.metrics)
