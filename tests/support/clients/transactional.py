"""Transactional producers of client libraries, all driven in the same way.

with writer("confluent-kafka", servers, "id") as producer:
    producer.run(topic, [b"a", b"b"], is_commit=True)
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

_TIMEOUT_S = 30.0
_TRANSACTION_TIMEOUT_MS = 60_000


class TransactionalWriter(Protocol):
    """A producer whose transactions have been initialised."""

    def run(self, topic: str, values: Sequence[bytes], *, is_commit: bool) -> None:
        """Write values in a transaction of their own and end it."""

    def close(self) -> None:
        """Say goodbye."""


class ConfluentWriter:
    """librdkafka."""

    def __init__(self, bootstrap_servers: str, transactional_id: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS,
            }
        )
        self._producer.init_transactions(_TIMEOUT_S)

    def run(self, topic: str, values: Sequence[bytes], *, is_commit: bool) -> None:
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(topic, value, partition=0)
        # An abort would throw away what still waits to be sent.
        assert self._producer.flush(_TIMEOUT_S) == 0
        if is_commit:
            self._producer.commit_transaction(_TIMEOUT_S)
        else:
            self._producer.abort_transaction(_TIMEOUT_S)

    def close(self) -> None:
        del self._producer


class KafkaPythonWriter:
    """kafka-python."""

    def __init__(self, bootstrap_servers: str, transactional_id: str) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap_servers.split(","),
            transactional_id=transactional_id,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
        )
        self._producer.init_transactions()

    def run(self, topic: str, values: Sequence[bytes], *, is_commit: bool) -> None:
        self._producer.begin_transaction()
        futures = [self._producer.send(topic, value, partition=0) for value in values]
        for future in futures:
            future.get(timeout=_TIMEOUT_S)
        if is_commit:
            self._producer.commit_transaction()
        else:
            self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=5)


class AiokafkaWriter:
    """aiokafka, in a loop of its own."""

    def __init__(self, bootstrap_servers: str, transactional_id: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._producer = self._wait(self._start(bootstrap_servers, transactional_id))

    async def _start(self, bootstrap_servers: str, transactional_id: str) -> Any:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap_servers,
            transactional_id=transactional_id,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
        )
        await producer.start()
        return producer

    def run(self, topic: str, values: Sequence[bytes], *, is_commit: bool) -> None:
        self._wait(self._run(topic, values, is_commit=is_commit))

    async def _run(self, topic: str, values: Sequence[bytes], *, is_commit: bool) -> None:
        await self._producer.begin_transaction()
        for value in values:
            await self._producer.send_and_wait(topic, value, partition=0)
        if is_commit:
            await self._producer.commit_transaction()
        else:
            await self._producer.abort_transaction()

    def close(self) -> None:
        self._wait(self._producer.stop())
        self._loop.close()

    def _wait(self, coroutine: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(coroutine, _TIMEOUT_S))


_WRITERS: dict[str, Callable[[str, str], TransactionalWriter]] = {
    "confluent-kafka": ConfluentWriter,
    "kafka-python": KafkaPythonWriter,
    "aiokafka": AiokafkaWriter,
}
NAMES = tuple(_WRITERS)


class Writer:
    """A transactional producer by the name of its library; a context manager that closes it."""

    def __init__(self, name: str, bootstrap_servers: str, transactional_id: str) -> None:
        self._writer = _WRITERS[name](bootstrap_servers, transactional_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()

    def run(self, topic: str, values: Sequence[bytes], *, is_commit: bool = True) -> None:
        """Write values in a transaction of their own and end it."""
        self._writer.run(topic, values, is_commit=is_commit)
