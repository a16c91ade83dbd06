"""aiokafka: a client for asyncio, run to its end for every call."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.support.clients.message import Message, Received

_TIMEOUT_S = 30.0


class AiokafkaClient:
    """Its producer, and its consumer with `assign`."""

    name = "aiokafka"

    def why_absent(self) -> str:
        return ""

    def can_write(self, message: Message) -> bool:
        # It refuses a message that has neither.
        return message.key is not None or message.value is not None

    def produce(
        self, bootstrap_servers: str, topic: str, messages: Sequence[Message], codec: str
    ) -> None:
        asyncio.run(_produce(bootstrap_servers, topic, messages, codec))

    def consume(
        self, bootstrap_servers: str, topic: str, count: int, start: int | None = None
    ) -> list[Received]:
        return asyncio.run(_consume(bootstrap_servers, topic, count, start))

    def offset_range(self, bootstrap_servers: str, topic: str) -> tuple[int, int]:
        return asyncio.run(_offset_range(bootstrap_servers, topic))

    def offset_for_time(self, bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
        return asyncio.run(_offset_for_time(bootstrap_servers, topic, timestamp))


async def _produce(
    bootstrap_servers: str, topic: str, messages: Sequence[Message], codec: str
) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap_servers,
        compression_type=None if codec == "none" else codec,
        acks="all",
        linger_ms=20,
        max_request_size=2_000_000,
    )
    await producer.start()
    try:
        futures = [
            await producer.send(
                topic,
                message.value,
                message.key,
                partition=0,
                timestamp_ms=message.timestamp,
                headers=list(message.headers),
            )
            for message in messages
        ]
        await asyncio.wait_for(asyncio.gather(*futures), _TIMEOUT_S)
    finally:
        await producer.stop()


async def _consume(
    bootstrap_servers: str, topic: str, count: int, start: int | None
) -> list[Received]:
    partition = TopicPartition(topic, 0)
    received: list[Received] = []
    async with _consumer(bootstrap_servers) as consumer, asyncio.timeout(_TIMEOUT_S):
        consumer.assign([partition])
        if start is None:
            await consumer.seek_to_beginning(partition)
        else:
            consumer.seek(partition, start)
        while len(received) < count:
            record = await consumer.getone(partition)
            received.append(
                Received(
                    record.offset,
                    record.timestamp,
                    record.key,
                    record.value,
                    tuple(record.headers),
                )
            )
    return received


async def _offset_range(bootstrap_servers: str, topic: str) -> tuple[int, int]:
    partition = TopicPartition(topic, 0)
    async with _consumer(bootstrap_servers) as consumer, asyncio.timeout(_TIMEOUT_S):
        first = await consumer.beginning_offsets([partition])
        last = await consumer.end_offsets([partition])
    return first[partition], last[partition]


async def _offset_for_time(bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
    partition = TopicPartition(topic, 0)
    async with _consumer(bootstrap_servers) as consumer, asyncio.timeout(_TIMEOUT_S):
        found = (await consumer.offsets_for_times({partition: timestamp}))[partition]
    return None if found is None else found.offset


@asynccontextmanager
async def _consumer(bootstrap_servers: str) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap_servers,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",
        check_crcs=True,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()
