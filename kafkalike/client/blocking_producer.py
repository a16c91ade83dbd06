"""KafkaProducer: the blocking, thread-safe face, with kafka-python's names.

`send` serialises, chooses the partition and queues in the caller's thread; one background thread
sends. Any number of threads may share a producer.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafkalike.client.config import make_config
from kafkalike.client.consumer.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkalike.client.producer.interceptors import ProducerRecord
from kafkalike.client.producer.producer import Producer
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.record_metadata import FutureRecordMetadata
from kafkalike.client.threads import Latch, reactor_thread
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import RequestTimedOutError


class KafkaProducer:
    """Writes records to topics; settings as kafka-python's, or by Kafka's names with dots.

    with KafkaProducer(bootstrap_servers="localhost:9092", linger_ms=5) as producer:
        future = producer.send("orders", key=b"truck-7", value=b"here")
        print(future.get(timeout=10).offset)
    """

    def __init__(self, **configs: Any) -> None:
        self.config = make_config(ProducerConfig, configs)
        self._thread = reactor_thread()
        self._core = Producer(self._thread.reactor, self.config, self._thread.post)
        self._is_plain = not self._core.interceptors

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        """Queue a record and return the future of its metadata.

        Blocks, for at most `max_block_ms`, only while the topic is not known or the buffer is full.
        """
        if self._is_plain:
            return self._queue(topic, value, key, headers, partition, timestamp_ms)
        given = ProducerRecord(topic, value, key, headers, partition, timestamp_ms)
        with self._core.interceptors.told_of_errors():
            future = self._queue(*self._core.interceptors.on_send(given))
        self._core.interceptors.follow(future)
        return future

    def _queue(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Sequence[tuple[str, bytes | None]] | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> FutureRecordMetadata:
        core = self._core
        record, size = core.make_record(topic, value, key, headers, timestamp_ms)
        found = core.topic_now(topic, partition)
        if found is None:
            found = self._thread.run(lambda _: core.topic(topic, partition))
        future = core.append(found, partition, record, size)
        while future is None:
            self._wait_for_room(size)
            future = core.append(found, partition, record, size)
        return future

    def flush(self, timeout: float | None = None) -> None:
        """Wait (seconds) until the outcome of all that was sent before is known."""
        self._thread.run(lambda _: self._core.flush(_ms(timeout)))

    def close(self, timeout: float | None = None) -> None:
        """Send what waits, for at most so many seconds (or until it is too old), and close."""
        if not self._core.is_closed:
            self._thread.run(lambda _: self._core.close(_ms(timeout)))

    def partitions_for(self, topic: str) -> set[int]:
        """Return the partitions of a topic."""
        found = self._thread.run(lambda _: self._core.topic(topic, None))
        return set(found.partitions)

    def bootstrap_connected(self) -> bool:
        """Whether the cluster is known."""
        return bool(self._core.client.metadata.snapshot.brokers)

    def metrics(self) -> dict[str, Any]:
        """Return what was sent, under Kafka's names."""
        return {"producer-metrics": self._core.metrics()}

    def init_transactions(self) -> None:
        """Get ready for transactions: once, before the first."""
        self._thread.run(lambda _: self._core.init_transactions())

    def begin_transaction(self) -> None:
        """Open a transaction."""
        self._core.begin_transaction()

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group_metadata: ConsumerGroupMetadata | str,
    ) -> None:
        """Commit a consumer's offsets as part of the transaction."""
        self._thread.run(lambda _: self._core.send_offsets_to_transaction(offsets, group_metadata))

    def commit_transaction(self) -> None:
        """Make all records and offsets of the transaction visible at once."""
        self._thread.run(lambda _: self._core.commit_transaction())

    def abort_transaction(self) -> None:
        """Drop the transaction."""
        self._thread.run(lambda _: self._core.abort_transaction())

    def _wait_for_room(self, size: int) -> None:
        if self._thread.is_current:
            raise RequestTimedOutError("the buffer is full, and a callback must not wait for room")
        latch = Latch()
        self._core.accumulator.call_when_room(size, latch.open)
        if not latch.wait(self.config.max_block_ms / 1000):
            raise self._core.no_room()


def _ms(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else timeout_s * 1000
