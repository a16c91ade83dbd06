"""KafkaProducer for programs on Twisted: coroutines on the program's own reactor."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from twisted.internet.defer import Deferred

from kafkalike.client.config import make_config
from kafkalike.client.deadline import within
from kafkalike.client.producer.interceptors import ProducerRecord
from kafkalike.client.producer.producer import Producer
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.record_metadata import FutureRecordMetadata, RecordMetadata
from kafkalike.protocol.errors import RequestTimedOutError


class KafkaProducer(Producer):
    """Writes records to topics.

    producer = KafkaProducer(reactor=reactor, bootstrap_servers="localhost:9092")
    future = await producer.send("orders", b"here")  # waits for room only
    metadata = await future  # waits for the broker
    """

    def __init__(self, *, reactor: Any, **configs: Any) -> None:
        super().__init__(reactor, make_config(ProducerConfig, configs))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        """Queue a record, waiting for the topic and for room; await the future for its outcome."""
        given = ProducerRecord(topic, value, key, headers, partition, timestamp_ms)
        with self.interceptors.told_of_errors():
            future = await self._queue(self.interceptors.on_send(given))
        self.interceptors.follow(future)
        return future

    async def _queue(self, given: ProducerRecord) -> FutureRecordMetadata:
        topic, value, key, headers, partition, timestamp_ms = given
        record, size = self.make_record(topic, value, key, headers, timestamp_ms)
        found = self.topic_now(topic, partition) or await self.topic(topic, partition)
        future = self.append(found, partition, record, size)
        while future is None:
            await self._room(size)
            future = self.append(found, partition, record, size)
        return future

    async def send_and_wait(self, topic: str, *args: Any, **kwargs: Any) -> RecordMetadata:
        """Send a record and wait until it is written; takes what `send` takes."""
        return await (await self.send(topic, *args, **kwargs))

    async def partitions_for(self, topic: str) -> set[int]:
        """Return the partitions of a topic."""
        return set((await self.topic(topic, None)).partitions)

    async def _room(self, size: int) -> None:
        room: Deferred[None] = Deferred()

        async def wait() -> None:
            await room

        self.accumulator.call_when_room(size, lambda: room.callback(None))
        try:
            await within(self.client.time, self.config.max_block_ms, wait(), "room in the buffer")
        except RequestTimedOutError:
            raise self.no_room() from None
