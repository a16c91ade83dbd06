"""confluent-kafka: librdkafka from Python."""

import time
from collections.abc import Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from tests.support.clients.message import Message, Received

_TIMEOUT_S = 30.0


class ConfluentClient:
    """librdkafka's producer, and its consumer with `assign`."""

    name = "confluent-kafka"

    def why_absent(self) -> str:
        return ""

    def can_write(self, message: Message) -> bool:
        return True

    def produce(
        self, bootstrap_servers: str, topic: str, messages: Sequence[Message], codec: str
    ) -> None:
        failures: list[str] = []
        producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "compression.type": codec,
                "message.timeout.ms": int(_TIMEOUT_S * 1000),
                "message.max.bytes": 2_000_000,
            }
        )
        for message in messages:
            producer.produce(
                topic,
                message.value,
                message.key,
                partition=0,
                headers=list(message.headers),
                timestamp=message.timestamp or 0,
                on_delivery=lambda error, _: failures.append(str(error)) if error else None,
            )
        left = producer.flush(_TIMEOUT_S)
        assert not left, f"{left} messages were not delivered"
        assert not failures, failures

    def consume(
        self, bootstrap_servers: str, topic: str, count: int, start: int | None = None
    ) -> list[Received]:
        consumer = _consumer(bootstrap_servers)
        offset = OFFSET_BEGINNING if start is None else start
        consumer.assign([TopicPartition(topic, 0, offset)])
        received: list[Received] = []
        deadline = time.monotonic() + _TIMEOUT_S
        try:
            while len(received) < count and time.monotonic() < deadline:
                for message in consumer.consume(count - len(received), timeout=1.0):
                    if message.error():
                        raise KafkaException(message.error())
                    received.append(
                        Received(
                            message.offset(),
                            message.timestamp()[1],
                            message.key(),
                            message.value(),
                            tuple(message.headers() or ()),
                        )
                    )
        finally:
            consumer.close()
        return received

    def offset_range(self, bootstrap_servers: str, topic: str) -> tuple[int, int]:
        consumer = _consumer(bootstrap_servers)
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), _TIMEOUT_S)
        finally:
            consumer.close()
        return low, high

    def offset_for_time(self, bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
        consumer = _consumer(bootstrap_servers)
        try:
            (found,) = consumer.offsets_for_times(
                [TopicPartition(topic, 0, timestamp)], timeout=_TIMEOUT_S
            )
        finally:
            consumer.close()
        assert found.error is None, found.error
        # Where there is none, librdkafka says "end" (-1).
        return found.offset if found.offset >= 0 else None


def _consumer(bootstrap_servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            # The constructor wants one; with assign() and without commits it is never used.
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
        }
    )
