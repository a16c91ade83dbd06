"""Idempotent producers of client libraries."""

import asyncio
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

_TIMEOUT_S = 30.0


def _confluent(bootstrap_servers: str, topic: str, values: Sequence[bytes]) -> None:
    failures: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True})
    for value in values:
        producer.produce(
            topic,
            value,
            partition=0,
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
    assert producer.flush(_TIMEOUT_S) == 0
    assert not failures, failures


def _kafka_python(bootstrap_servers: str, topic: str, values: Sequence[bytes]) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap_servers.split(","), enable_idempotence=True
    )
    try:
        futures = [producer.send(topic, value, partition=0) for value in values]
        for future in futures:
            future.get(timeout=_TIMEOUT_S)
    finally:
        producer.close(timeout=5)


def _aiokafka(bootstrap_servers: str, topic: str, values: Sequence[bytes]) -> None:
    async def write() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap_servers, enable_idempotence=True)
        await producer.start()
        try:
            sent = [await producer.send(topic, value, partition=0) for value in values]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    asyncio.run(asyncio.wait_for(write(), _TIMEOUT_S))


_WRITE: dict[str, Callable[[str, str, Sequence[bytes]], None]] = {
    "confluent-kafka": _confluent,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
}
IDEMPOTENT_NAMES = tuple(_WRITE)


def write_idempotently(
    name: str, bootstrap_servers: str, topic: str, values: Sequence[bytes]
) -> None:
    """Write values to partition 0 with the idempotent producer of a library."""
    _WRITE[name](bootstrap_servers, topic, values)
