"""Clients under chaos: idempotent acks=all producers (librdkafka, ours), and a consumer."""

import logging
import threading
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafkalike.client import KafkaProducer, RecordMetadata
from tests.chaos.history import History, Place
from tests.support.waiting import wait_until

_RATE_PER_S = 400
_DELIVERY_TIMEOUT_MS = 60_000


class ProducerThread(threading.Thread):
    """Sends unique values round robin until stopped, and notes what became of each."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        topic: str,
        partitions: int,
        history: History,
        log_directory: Path,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._topic = topic
        self._partitions = partitions
        self._history = history
        self._stopped = threading.Event()
        self.sent: list[bytes] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "delivery.timeout.ms": _DELIVERY_TIMEOUT_MS,
                "socket.timeout.ms": 10_000,
                "debug": "eos",
                "log_level": 7,
            },
            logger=_log_file(log_directory / f"{name}.log"),
        )

    def run(self) -> None:
        """Send at a steady rate; a full queue (all brokers away) only slows down."""
        number = 0
        while not self._stopped.is_set():
            value = f"{self.name}-{number}".encode()
            try:
                self._producer.produce(
                    self._topic,
                    value,
                    partition=number % self._partitions,
                    on_delivery=self._delivered,
                )
            except BufferError:
                self._producer.poll(0.1)
                continue
            self.sent.append(value)
            number += 1
            self._producer.poll(1 / _RATE_PER_S)
        self._producer.flush(_DELIVERY_TIMEOUT_MS / 1000 + 10)

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            offset = message.offset()
            place = message.partition(), -1 if offset is None else offset
            self._history.note_acked(place, message.value(), time.monotonic())
        else:
            self._history.note_failed(message.value(), str(error))

    def stop(self) -> None:
        """Send no more, and wait until every record is acknowledged or given up."""
        self._stopped.set()
        self.join(_DELIVERY_TIMEOUT_MS / 1000 + 30)
        assert not self.is_alive(), f"{self.name} did not end"


class OwnProducerThread(threading.Thread):
    """The same with our own client library."""

    def __init__(
        self, name: str, bootstrap: str, topic: str, partitions: int, history: History
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._topic = topic
        self._partitions = partitions
        self._history = history
        self._stopped = threading.Event()
        self.sent: list[bytes] = []
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            enable_idempotence=True,
            acks="all",
            linger_ms=2,
            delivery_timeout_ms=_DELIVERY_TIMEOUT_MS,
            request_timeout_ms=10_000,
        )

    def run(self) -> None:
        """Send at a steady rate; a full buffer blocks."""
        number = 0
        while not self._stopped.wait(1 / _RATE_PER_S):
            value = f"{self.name}-{number}".encode()
            future = self._producer.send(self._topic, value, partition=number % self._partitions)
            self.sent.append(value)
            number += 1
            future.add_callback(self._delivered, value)
            future.add_errback(self._failed, value)
        self._producer.close(_DELIVERY_TIMEOUT_MS / 1000 + 10)

    def _delivered(self, value: bytes, metadata: RecordMetadata) -> None:
        place = metadata.partition, metadata.offset
        self._history.note_acked(place, value, time.monotonic())

    def _failed(self, value: bytes, error: Exception) -> None:
        self._history.note_failed(value, str(error))

    def stop(self) -> None:
        """Send no more, and wait until every record is acknowledged or given up."""
        self._stopped.set()
        self.join(_DELIVERY_TIMEOUT_MS / 1000 + 30)
        assert not self.is_alive(), f"{self.name} did not end"


class ConsumerThread(threading.Thread):
    """Reads all partitions from the beginning, over and over the end, until stopped."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, history: History) -> None:
        super().__init__(name="consumer", daemon=True)
        self._history = history
        self._stopped = threading.Event()
        self._consumer = _consumer(bootstrap)
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])

    def run(self) -> None:
        """Note everything that is read."""
        while not self._stopped.is_set():
            for message in self._consumer.consume(500, 0.2):
                if message.error() is None:
                    place = message.partition(), message.offset()
                    self._history.note_consumed(place, message.value())
        self._consumer.close()

    def stop(self) -> None:
        """Read no more."""
        self._stopped.set()
        self.join(60)
        assert not self.is_alive(), "the consumer did not end"


def read_all(bootstrap: str, topic: str, partitions: int) -> dict[Place, bytes]:
    """Read the whole topic, when all is quiet again."""
    consumer = _consumer(bootstrap)
    assigned = [TopicPartition(topic, number, 0) for number in range(partitions)]
    consumer.assign(assigned)

    def end_offsets() -> dict[int, int] | None:
        try:
            consumer.list_topics(topic, 10)
            return {p.partition: consumer.get_watermark_offsets(p, 10)[1] for p in assigned}
        except KafkaException:
            return None

    ends = wait_until(end_offsets, 60, "end offsets of all partitions")
    final: dict[Place, bytes] = {}

    def is_all_read() -> bool:
        for message in consumer.consume(5000, 0.5):
            if message.error() is None:
                final[message.partition(), message.offset()] = message.value()
        return len(final) >= sum(ends.values())

    wait_until(is_all_read, 120, f"{sum(ends.values())} records")
    consumer.close()
    return final


def _log_file(path: Path) -> logging.Logger:
    """Keep what librdkafka says of its sequences: it tells why a producer began a new epoch."""
    logger = logging.Logger(path.stem)
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    return logger


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "chaos",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )
