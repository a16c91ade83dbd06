"""kafka-python: the protocol in plain Python."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.support.clients.message import Message, Received

_TIMEOUT_S = 30.0


class KafkaPythonClient:
    """Its producer, and its consumer with `assign`."""

    name = "kafka-python"

    def why_absent(self) -> str:
        return ""

    def can_write(self, message: Message) -> bool:
        # It refuses a message that has neither, and a header that is null.
        if message.key is None and message.value is None:
            return False
        return all(value is not None for _, value in message.headers)

    def produce(
        self, bootstrap_servers: str, topic: str, messages: Sequence[Message], codec: str
    ) -> None:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap_servers.split(","),
            compression_type=None if codec == "none" else codec,
            enable_idempotence=False,
            acks="all",
            linger_ms=20,
            max_request_size=2_000_000,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=0,
                    timestamp_ms=message.timestamp,
                )
                for message in messages
            ]
            for future in futures:
                future.get(timeout=_TIMEOUT_S)
        finally:
            producer.close(timeout=5)

    def consume(
        self, bootstrap_servers: str, topic: str, count: int, start: int | None = None
    ) -> list[Received]:
        partition = TopicPartition(topic, 0)
        received: list[Received] = []
        deadline = time.monotonic() + _TIMEOUT_S
        with _consumer(bootstrap_servers) as consumer:
            consumer.assign([partition])
            if start is None:
                consumer.seek_to_beginning(partition)
            else:
                consumer.seek(partition, start)
            while len(received) < count and time.monotonic() < deadline:
                records = consumer.poll(timeout_ms=1000, max_records=count - len(received))
                received += map(_received, records.get(partition, ()))
        return received

    def offset_range(self, bootstrap_servers: str, topic: str) -> tuple[int, int]:
        partition = TopicPartition(topic, 0)
        with _consumer(bootstrap_servers) as consumer:
            first = consumer.beginning_offsets([partition])[partition]
            return first, consumer.end_offsets([partition])[partition]

    def offset_for_time(self, bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
        partition = TopicPartition(topic, 0)
        with _consumer(bootstrap_servers) as consumer:
            found = consumer.offsets_for_times({partition: timestamp})[partition]
        return None if found is None else found.offset


# kafka-python has no types.
def _received(record: Any) -> Received:
    return Received(
        record.offset, record.timestamp, record.key, record.value, tuple(record.headers)
    )


@contextmanager
def _consumer(bootstrap_servers: str) -> Iterator[KafkaConsumer]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap_servers.split(","),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",
        check_crcs=True,
    )
    try:
        yield consumer
    finally:
        consumer.close()
