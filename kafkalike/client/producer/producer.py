"""The producer's core: what both faces share (Kafka's `KafkaProducer`).

`make_record` and `append` may be called from any thread; all else runs in the reactor.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.client.cluster_snapshot import TopicMetadata
from kafkalike.client.consumer.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkalike.client.deadline import within
from kafkalike.client.kafka_client import KafkaClient
from kafkalike.client.producer.batch_encoder import RECORD_OVERHEAD_BYTES, PendingRecord
from kafkalike.client.producer.interceptors import Interceptors
from kafkalike.client.producer.partitioner import make_partitioner
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.record_accumulator import ProducerClosedError, RecordAccumulator
from kafkalike.client.producer.record_metadata import FutureRecordMetadata, ProduceResult
from kafkalike.client.producer.sender import Sender
from kafkalike.client.producer.sequences import Sequences
from kafkalike.client.producer.transaction_manager import TransactionManager
from kafkalike.client.serializers import as_bytes, check_headers, make_serializer
from kafkalike.client.single_flight import SingleFlight
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    RecordTooLargeError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
    error_for,
)
from kafkalike.protocol.messages.init_producer_id import InitProducerIdRequest

log = Logger()

_NO_TIMEOUT = (1 << 31) - 1


class Producer:
    """Takes records, sends them in batches. `post` calls something in the reactor from a thread."""

    def __init__(
        self,
        reactor: Any,  # Any: no one reactor interface has it all
        config: ProducerConfig,
        post: Callable[..., None] | None = None,
    ) -> None:
        self.config = config
        self.client = KafkaClient(reactor, config)
        self.is_closed = False
        self._post = post
        self._is_woken = False
        self._serialize_key = make_serializer(config.key_serializer)
        self._serialize_value = make_serializer(config.value_serializer)
        self._has_plain_keys = config.key_serializer is None
        self._has_plain_values = config.value_serializer is None
        self._partitions: dict[tuple[str, int], TopicPartition] = {}
        self._partitioner = make_partitioner(config.partitioner_class or config.partitioner)
        self.interceptors = Interceptors(config.interceptors)
        self.accumulator = RecordAccumulator(
            config.batch_size, config.buffer_memory, self.client.time.now_ms, self._on_work
        )
        sequences = Sequences() if config.is_idempotent else None
        self._sequences = sequences
        self._transactions: TransactionManager | None = None
        if config.transactional_id is not None and sequences is not None:
            self._transactions = TransactionManager(self.client, config, sequences)
        self.sender = Sender(self.client, config, self.accumulator, sequences, self._transactions)
        self._id_flight: SingleFlight[None] = SingleFlight("producer id", self.client.background)
        if self._transactions is not None:
            self._transactions.wake = self.sender.wake
            self._transactions.on_failed = self.sender.fail_queued
        else:
            self.sender.on_no_producer_id = self._ask_for_producer_id

    @property
    def transactions(self) -> TransactionManager:
        """The transactions of this producer; an error if it has no transactional id."""
        if self._transactions is None:
            raise ValueError("transactions need a transactional_id: give one to the producer")
        return self._transactions

    def make_record(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Sequence[tuple[str, bytes | None]] | None,
        timestamp_ms: int | None,
    ) -> tuple[PendingRecord, int]:
        """Serialise a record; return it with the most bytes that it can take."""
        # Bytes that need no serialiser are the commonest by far: they save the calls.
        key_bytes, value_bytes = key, value
        if key is not None and not (self._has_plain_keys and type(key) is bytes):
            key_bytes = as_bytes(topic, self._serialize_key(topic, key))
        if value is not None and not (self._has_plain_values and type(value) is bytes):
            value_bytes = as_bytes(topic, self._serialize_value(topic, value))
        size = RECORD_OVERHEAD_BYTES
        if key_bytes is not None:
            size += len(key_bytes)
        if value_bytes is not None:
            size += len(value_bytes)
        if headers:
            headers = check_headers(topic, headers)
            size += sum(len(name) * 4 + len(data or b"") + 10 for name, data in headers)
        if size > self.config.max_request_size:
            raise RecordTooLargeError(
                f"topic {topic}: a record of {size} bytes is more than max_request_size, "
                f"{self.config.max_request_size}"
            )
        if timestamp_ms is None:
            timestamp_ms = self.client.time.now_ms()
        return (timestamp_ms, key_bytes, value_bytes, headers or ()), size

    def topic_now(self, topic: str, partition: int | None) -> TopicMetadata | None:
        """Return what is known of a topic; None if `topic` must be asked."""
        if self.is_closed:
            raise ProducerClosedError("the producer is closed: make a new one")
        if self._transactions is not None:
            self._transactions.check_may_send()
        found = self.client.metadata.snapshot.topics.get(topic)
        if found is None or found.error_code or not found.partitions:
            return None
        return found if partition is None or partition in found.partitions else None

    async def topic(self, topic: str, partition: int | None) -> TopicMetadata:
        """Return a topic, once it (and the partition) is known; waits at most `max_block_ms`."""
        client, patience_ms = self.client, self.config.max_block_ms
        deadline_ms = client.time.now_ms() + patience_ms
        while True:
            found = await client.metadata.topic(topic, max(0, deadline_ms - client.time.now_ms()))
            if partition is None or partition in found.partitions:
                return found
            if partition < 0 or client.time.now_ms() >= deadline_ms:
                raise UnknownTopicOrPartitionError(
                    f"topic {topic} has {len(found.partitions)} partitions, not {partition}"
                )
            await client.time.sleep_ms(self.config.retry_backoff_ms)
            await client.metadata.refresh()

    def append(
        self, topic: TopicMetadata, partition: int | None, record: PendingRecord, size: int
    ) -> FutureRecordMetadata | None:
        """Queue a record; None if there is no room for it now."""
        accumulator = self.accumulator
        if not accumulator.has_room(size):
            return None
        if partition is not None:
            return accumulator.append(self._tp(topic.name, partition), record, size, True)
        _, key, value, _ = record
        partition = self._partitioner.partition(topic, key, value)
        future = accumulator.append(self._tp(topic.name, partition), record, size, False)
        if future is None:
            partition = self._partitioner.on_new_batch(topic, key, partition)
            if partition not in topic.partitions:
                raise UnknownTopicOrPartitionError(
                    f"the partitioner chose {partition} of topic {topic.name}, which has "
                    f"{len(topic.partitions)} partitions"
                )
            future = accumulator.append(self._tp(topic.name, partition), record, size, True)
        return future

    def _tp(self, topic: str, partition: int) -> TopicPartition:
        """Return the one object for a partition: making it anew costs more than finding it."""
        found = self._partitions.get((topic, partition))
        if found is None:
            found = self._partitions[topic, partition] = TopicPartition(topic, partition)
        return found

    def no_room(self) -> RequestTimedOutError:
        """Return the error for a record that found no room in time."""
        return RequestTimedOutError(
            f"no room in the buffer for {self.config.max_block_ms} ms: "
            f"{self.accumulator.used_bytes} of {self.config.buffer_memory} bytes wait to be sent"
        )

    async def flush(self, timeout_ms: float | None = None) -> None:
        """Send all that was queued before, and wait until its outcome is known."""
        results = self.accumulator.begin_flush()
        self.sender.wake()
        try:
            if timeout_ms is None:
                await _all_settled(results)
            else:
                await within(self.client.time, timeout_ms, _all_settled(results), "flush")
        finally:
            self.accumulator.end_flush()

    async def init_transactions(self) -> None:
        """Get ready for transactions; waits until what a former self left open is ended."""
        await self.transactions.init_transactions()

    def begin_transaction(self) -> None:
        """Open a transaction."""
        self.transactions.begin()

    async def commit_transaction(self) -> None:
        """Make all records and offsets of the transaction visible at once."""
        await self.transactions.commit(self.flush)

    async def abort_transaction(self) -> None:
        """Drop the transaction."""

        async def drop() -> None:
            self.sender.fail_queued(KafkaError("the transaction is aborted"))
            await self.flush()

        await self.transactions.abort(drop)

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: ConsumerGroupMetadata | str,
    ) -> None:
        """Commit a consumer's offsets as part of the transaction."""
        if isinstance(group, str):
            group = ConsumerGroupMetadata(group)
        await self.transactions.send_offsets(offsets, group)

    async def close(self, timeout_ms: float | None = None) -> None:
        """Send what waits, for at most so long; fail the rest and close the connections."""
        self.is_closed = True
        self.accumulator.close_for_good()
        try:
            await self.flush(timeout_ms)
        except RequestTimedOutError:
            log.warn(
                "the producer is closed although records were not sent in {ms} ms", ms=timeout_ms
            )
        finally:
            # After that nothing answers any more, and nobody shall wait for it.
            await self.client.close()
            self.sender.fail_all(ProducerClosedError("the producer was closed before it sent"))

    def metrics(self) -> dict[str, Any]:
        """Return what was sent, under Kafka's names."""
        waiting = self.config.buffer_memory - self.accumulator.used_bytes
        return {**self.sender.metrics(), "buffer-available-bytes": waiting}

    def _on_work(self) -> None:
        """Wake the sender: from a thread through the reactor, and not twice before it runs."""
        if self._post is None:
            self.sender.wake()
        elif not self._is_woken:
            self._is_woken = True
            self._post(self._wake)

    def _wake(self) -> None:
        self._is_woken = False
        self.sender.wake()

    def _ask_for_producer_id(self) -> None:
        if not self._id_flight.is_running:
            self.client.background.start(self._id_flight.run(self._get_id), "producer id")

    async def _get_id(self) -> None:
        async def ask() -> Any:
            request = InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=_NO_TIMEOUT
            )
            answer = await self.client.send_to_any(request)
            if answer.error_code != ErrorCode.NONE:
                raise error_for(answer.error_code)(f"no producer id: {answer.error_code}")
            return answer

        try:
            answer = await self.client.retrying(ask, self.config.delivery_timeout_ms)
        except KafkaError as error:
            self.sender.fail_queued(error)
            return
        if self._sequences is not None:
            self._sequences.set_producer(answer.producer_id, answer.producer_epoch)
        self.client.time.call_later_ms(0, self.sender.wake)


async def _all_settled(results: Sequence[ProduceResult]) -> None:
    for result in results:
        if not result.is_done:
            settled: Deferred[None] = Deferred()
            result.then(_settler(settled))
            await settled


def _settler(settled: "Deferred[None]") -> Callable[[], None]:
    return lambda: None if settled.called else settled.callback(None)
