"""Records that flow while something happens to the cluster, and the proof that none was lost.

Each record's value is its number. A producer with acks=all writes them from a thread of its own
until told to stop; then every acknowledged one must be there to read.
"""

import threading
import time
from types import TracebackType
from typing import Self

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from tests.support.waiting import wait_until

_DELIVERY_MS = 60_000
_READ_S = 30.0


class Traffic:
    """A producer at work; a context manager that stops it and checks that nobody saw an error."""

    def __init__(self, bootstrap_servers: str, topic: str, *, per_second: int = 500) -> None:
        self.acknowledged: set[int] = set()
        self.errors: list[str] = []
        self._topic = topic
        self._pause_s = 1 / per_second
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "acks": "all",
                "linger.ms": 5,
                "message.timeout.ms": _DELIVERY_MS,
                "retry.backoff.ms": 50,
                "topic.metadata.refresh.interval.ms": 5000,
            }
        )
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for(100)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_stopping.set()
        self._thread.join()
        if error is None:
            assert not self.errors, self.errors[:10]

    def wait_for(self, more: int, timeout_s: float = 60.0) -> None:
        """Wait until so many more records are acknowledged."""
        wanted = len(self.acknowledged) + more
        wait_until(
            lambda: len(self.acknowledged) >= wanted or self.errors,
            timeout_s,
            f"{more} more acknowledged records",
        )

    def _run(self) -> None:
        number = 0
        while not self._is_stopping.is_set():
            self._producer.produce(
                self._topic, b"%d" % number, b"%d" % number, on_delivery=self._delivered
            )
            number += 1
            self._producer.poll(0)
            time.sleep(self._pause_s)
        left = self._producer.flush(_DELIVERY_MS / 1000)
        if left:
            self.errors.append(f"{left} records were not delivered")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))
            return
        value = message.value()
        assert isinstance(value, bytes)
        self.acknowledged.add(int(value))


def read_numbers(bootstrap_servers: str, topic: str, partitions: int) -> list[int]:
    """Read a whole topic, as far as it goes now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    numbers: list[int] = []
    ended: set[int] = set()
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
    deadline = time.monotonic() + _READ_S
    try:
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"read only partitions {sorted(ended)} to the end"
            for message in consumer.consume(10_000, timeout=0.2):
                error, value = message.error(), message.value()
                if error is None:
                    assert isinstance(value, bytes)
                    numbers.append(int(value))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
                else:
                    assert error.retriable(), str(error)
    finally:
        consumer.close()
    return numbers


def write_numbers(bootstrap_servers: str, topic: str, count: int, partition: int = -1) -> None:
    """Write so many records with acks=all and wait until each is acknowledged."""
    failures: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap_servers, "acks": "all"})
    for number in range(count):
        producer.produce(
            topic,
            b"%d" % number,
            b"%d" % number,
            partition=partition,
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
    assert not producer.flush(_READ_S), "not all records were delivered"
    assert not failures, failures[:5]
