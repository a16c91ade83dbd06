"""The clients for programs that run on asyncio, under the names of the blocking ones.

async with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
    future = await producer.send("orders", b"here")  # waits for room only
    metadata = await future  # waits for the broker
"""

import asyncio  # noqa: TID251 (the clients for asyncio)
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from kafkalike.client import async_consumer, async_producer
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.asyncio_calls import (
    AsyncioFace,
    awaited,
    in_reactor,
    loop_future,
    run_in_loop,
)
from kafkalike.client.blocking_calls import calling
from kafkalike.client.config import ClientConfig, make_config
from kafkalike.client.consumer.consumer_record import ConsumerRecord, Records
from kafkalike.client.producer.producer import Producer
from kafkalike.client.producer.record_metadata import RecordMetadata
from kafkalike.client.threads import reactor_thread

_ITERATION_POLL_MS = 1_000
_Consumer = async_consumer.KafkaConsumer
_Producer = async_producer.KafkaProducer


class _Closing(AsyncioFace):
    """An asynchronous context manager that closes."""

    async def close(self) -> None:
        """Close."""
        await in_reactor(self._thread, self._inner.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class KafkaProducer(_Closing):
    """Writes records to topics."""

    def __init__(self, **configs: Any) -> None:
        self._thread = reactor_thread()
        self._inner = _Producer(reactor=self._thread.reactor, **configs)

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> "asyncio.Future[RecordMetadata]":
        """Queue a record, waiting for the topic and for room; await the future for its outcome."""
        inner = self._inner
        sent = await in_reactor(
            self._thread, inner.send(topic, value, key, headers, partition, timestamp_ms)
        )

        def tell(result: Any, error: Any) -> None:
            sent.add_callback(result)
            sent.add_errback(error)

        return loop_future(tell)

    async def send_and_wait(self, topic: str, *args: Any, **kwargs: Any) -> RecordMetadata:
        """Send a record and wait until it is written; takes what `send` takes."""
        return await (await self.send(topic, *args, **kwargs))

    flush = awaited(Producer.flush)
    partitions_for = awaited(_Producer.partitions_for)
    init_transactions = awaited(Producer.init_transactions)
    begin_transaction = calling(Producer.begin_transaction)
    commit_transaction = awaited(Producer.commit_transaction)
    abort_transaction = awaited(Producer.abort_transaction)
    send_offsets_to_transaction = awaited(Producer.send_offsets_to_transaction)
    metrics = calling(Producer.metrics)


class KafkaConsumer(_Closing):
    """Reads records of topics; listeners and deserialisers run in the program's loop."""

    def __init__(self, *topics: str, **configs: Any) -> None:
        self._thread = reactor_thread()

        async def make() -> async_consumer.KafkaConsumer:
            return _Consumer(*topics, reactor=self._thread.reactor, **configs)

        self._inner: async_consumer.KafkaConsumer = self._thread.run(lambda _: make())
        self.config = self._inner.config

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        queue = self._inner.queue
        record = queue.take()
        left_ms = self.config.consumer_timeout_ms
        while record is None:
            if left_ms <= 0 or self._inner.core.is_closed:
                raise StopAsyncIteration
            wait_ms = min(left_ms, _ITERATION_POLL_MS)
            queue.put(await self.poll(wait_ms, update_offsets=False))
            record = queue.take()
            left_ms -= wait_ms
        return record

    async def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> Records:
        """Give records by partition; wait for some no longer than that."""
        records = await in_reactor(
            self._thread,
            self._inner.core.poll(
                timeout_ms,
                max_records,
                run=run_in_loop(self._thread),
                update_offsets=update_offsets,
            ),
        )
        return self._inner.deserializers.apply(records)

    async def unsubscribe(self) -> None:
        """Read nothing; leave the group."""
        run = run_in_loop(self._thread)
        await in_reactor(self._thread, self._inner.unsubscribe(run=run))

    async def close(self, autocommit: bool = True, timeout_ms: int | None = None) -> None:
        """Commit if that is automatic, leave the group and close; give up after that time."""
        run = run_in_loop(self._thread)
        await in_reactor(self._thread, self._inner.close(autocommit, timeout_ms, run=run))

    subscribe = calling(_Consumer.subscribe)
    subscription = calling(_Consumer.subscription)
    assign = calling(_Consumer.assign)
    assignment = calling(_Consumer.assignment)
    seek = calling(_Consumer.seek)
    seek_to_beginning = calling(_Consumer.seek_to_beginning)
    seek_to_end = calling(_Consumer.seek_to_end)
    position = awaited(_Consumer.position)
    pause = calling(_Consumer.pause)
    resume = calling(_Consumer.resume)
    paused = calling(_Consumer.paused)
    wakeup = calling(_Consumer.wakeup)
    commit = awaited(_Consumer.commit)
    commit_sync = commit
    commit_async = calling(_Consumer.commit_async)
    committed = awaited(_Consumer.committed)
    beginning_offsets = awaited(_Consumer.beginning_offsets)
    end_offsets = awaited(_Consumer.end_offsets)
    offsets_for_times = awaited(_Consumer.offsets_for_times)
    partitions_for_topic = awaited(_Consumer.partitions_for_topic)
    topics = awaited(_Consumer.topics)
    highwater = calling(_Consumer.highwater)
    group_metadata = calling(_Consumer.group_metadata)
    metrics = calling(_Consumer.metrics)


class KafkaAdminClient(_Closing):
    """Manages topics, configs, groups and more: the methods of `admin.admin_client.Admin`."""

    def __init__(self, **configs: Any) -> None:
        self._thread = reactor_thread()
        self._inner = Admin(self._thread.reactor, make_config(ClientConfig, configs))

    def __getattr__(self, name: str) -> Any:
        method = getattr(Admin, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await in_reactor(self._thread, method(self._inner, *args, **kwargs))

        call.__doc__ = method.__doc__
        return call
