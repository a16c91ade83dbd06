"""Sends what waits in the accumulator, and settles what comes of it (Kafka's `Sender`).

Runs in the reactor: every event that may let something go out (a record, an answer, new metadata, a
timer) calls `wake`, and `wake` sends all that can be sent. Nothing polls.
"""

from collections.abc import Callable
from typing import Any

from twisted.logger import Logger

from kafkalike.client.broker_connection import BrokerConnection
from kafkalike.client.kafka_client import BrokerGoneError, KafkaClient
from kafkalike.client.producer.produce_requests import by_partition, error_of, produce_request
from kafkalike.client.producer.producer_batch import ProducerBatch
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.record_accumulator import RecordAccumulator
from kafkalike.client.producer.sequences import Sequences
from kafkalike.client.producer.transaction_manager import TransactionManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    NetworkError,
    RequestTimedOutError,
)
from kafkalike.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafkalike.utils.time import Timer

log = Logger()

_STALE_METADATA = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
}
_LOST_SEQUENCE = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
}
_LARGEST_WAIT_MS = 60_000


class Sender:
    """The only one who takes batches from the accumulator."""

    def __init__(
        self,
        client: KafkaClient,
        config: ProducerConfig,
        accumulator: RecordAccumulator,
        sequences: Sequences | None,
        transactions: TransactionManager | None,
    ) -> None:
        self._client = client
        self._config = config
        self._accumulator = accumulator
        self._sequences = sequences
        self._transactions = transactions
        self._in_flight: dict[int, int] = {}
        self._muted: set[TopicPartition] = set()
        self._stale: set[TopicPartition] = set()  # whose leader must be asked for first
        self._timer: Timer | None = None
        self._timer_due_ms = 0
        self._is_sending = False
        self._look_again = False
        self._turn = 0
        self.on_no_producer_id: Callable[[], None] | None = None
        self.records_sent = 0
        self.batches_sent = 0
        self.bytes_sent = 0
        self.retries = 0
        self.errors = 0
        client.metadata.on_update.append(self._on_metadata)

    def wake(self) -> None:
        """Send all that can be sent now."""
        if self._is_sending:
            self._look_again = True
            return
        self._is_sending = True
        try:
            self._look_again = True
            while self._look_again and not self._client.is_closed:
                self._look_again = False
                self._send_ready()
        finally:
            self._is_sending = False

    def _on_metadata(self) -> None:
        self._stale.clear()
        self.wake()

    def _send_ready(self) -> None:
        now_ms = self._client.time.now_ms()
        by_leader: dict[int, list[ProducerBatch]] = {}
        next_ms = now_ms + _LARGEST_WAIT_MS
        for batch in self._accumulator.heads():
            expires_ms = batch.created_ms + self._config.delivery_timeout_ms
            if now_ms >= expires_ms:
                self._expire(batch)
                self._look_again = True
                continue
            due_ms = self._due_ms(batch, now_ms)
            if due_ms > now_ms:
                next_ms = min(next_ms, due_ms)
            elif batch.tp not in self._muted:
                leader = self._client.metadata.snapshot.leader(batch.tp)
                if leader is None or batch.tp in self._stale:
                    self._client.metadata.request_refresh()
                else:
                    by_leader.setdefault(leader.id, []).append(batch)
            next_ms = min(next_ms, expires_ms)
        for node_id, batches in by_leader.items():
            self._send_to(node_id, batches)
        self._wake_at(next_ms, now_ms)

    def _due_ms(self, batch: ProducerBatch, now_ms: int) -> int:
        if batch.retry_at_ms > now_ms:
            return batch.retry_at_ms
        linger_ms = self._config.linger_ms
        if batch.attempts or self._accumulator.is_ready(batch, linger_ms, now_ms):
            return now_ms
        return batch.created_ms + linger_ms

    def _wake_at(self, due_ms: int, now_ms: int) -> None:
        if self._timer is not None and self._timer.active():
            if self._timer_due_ms == due_ms:
                return
            self._timer.cancel()
        self._timer = None
        if self._accumulator.heads():
            self._timer_due_ms = due_ms
            self._timer = self._client.time.call_later_ms(max(0, due_ms - now_ms), self.wake)

    def _send_to(self, node_id: int, batches: list[ProducerBatch]) -> None:
        try:
            connection = self._client.connection(node_id)
        except BrokerGoneError:
            return
        if not connection.is_ready:
            self._get_ready(connection)
            return
        if connection.is_clogged:
            return  # With acks=0 nothing else would hold us back from a slow broker.
        if self._in_flight.get(node_id, 0) >= self._config.max_in_flight_requests_per_connection:
            return
        taken = self._take(batches)
        if taken:
            self._look_again = True
            self._send(connection, taken)

    def _get_ready(self, connection: BrokerConnection) -> None:
        if connection.throttled_for_ms:
            self._client.time.call_later_ms(connection.throttled_for_ms, self.wake)
        elif not connection.is_connecting:
            self._client.background.start(self._connect(connection), "connecting")

    async def _connect(self, connection: BrokerConnection) -> None:
        try:
            await connection.connect()
        except KafkaError:  # also a login that is refused: the records wait until they are too old
            self._client.metadata.request_refresh()
            await self._client.time.sleep_ms(self._config.retry_backoff_ms)
        self.wake()

    def _take(self, batches: list[ProducerBatch]) -> list[ProducerBatch]:
        """Take as many batches as a request may hold, beginning where the last one stopped."""
        taken: list[ProducerBatch] = []
        size = 0
        self._turn += 1
        start = self._turn % len(batches)
        for batch in batches[start:] + batches[:start]:
            if taken and size + batch.size > self._config.max_request_size:
                break
            if self._transactions is not None and not self._transactions.may_send(batch.tp):
                continue
            # Another thread may be adding to it, and numbers are given by the count of records.
            self._accumulator.close(batch)
            if self._sequences is not None and not self._sequences.may_send(batch):
                if not self._sequences.has_producer_id and self.on_no_producer_id is not None:
                    self.on_no_producer_id()
                continue
            self._accumulator.take(batch)
            size += batch.size
            taken.append(batch)
            if self._config.max_in_flight_requests_per_connection == 1:
                self._muted.add(batch.tp)
        return taken

    def _send(self, connection: BrokerConnection, batches: list[ProducerBatch]) -> None:
        try:
            request = produce_request(self._config, batches)
        except Exception as error:  # noqa: BLE001 (whoever waits for the records gets it)
            for batch in batches:
                self._fail(batch, KafkaError(f"{batch.tp}: the records cannot be encoded: {error}"))
            return
        self.batches_sent += len(batches)
        self.records_sent += sum(len(batch.records) for batch in batches)
        self.bytes_sent += sum(batch.size for batch in batches)
        if request.acks == 0:
            self._send_unanswered(connection, request, batches)
            return
        node_id = connection.node.id
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        for batch in batches:
            batch.is_in_flight = batch.was_sent = True
        self._client.background.start(self._exchange(connection, request, batches), "produce")

    def _send_unanswered(
        self, connection: BrokerConnection, request: ProduceRequest, batches: list[ProducerBatch]
    ) -> None:
        try:
            connection.send_unanswered(request, self.wake)
        except KafkaError as error:
            for batch in batches:
                self._handle_error(batch, error)
            return
        for batch in batches:
            self._complete(batch, -1, -1)

    async def _exchange(
        self, connection: BrokerConnection, request: ProduceRequest, batches: list[ProducerBatch]
    ) -> None:
        problem: KafkaError | None = None
        answer: ProduceResponse | None = None
        try:
            answer = await connection.send(request)
        except KafkaError as error:
            problem = error
        finally:
            self._in_flight[connection.node.id] -= 1
            for batch in batches:
                batch.is_in_flight = False
                self._muted.discard(batch.tp)
        if answer is None:
            for batch in reversed(batches):
                self._handle_error(batch, problem or NetworkError())
        else:
            self._handle_answer(answer, batches)
        self.wake()

    def _handle_answer(self, answer: ProduceResponse, batches: list[ProducerBatch]) -> None:
        found = by_partition(answer)
        for batch in batches:
            part = found.get(batch.tp)
            if part is None:
                self._handle_error(batch, NetworkError(f"{batch.tp}: the answer leaves it out"))
            else:
                self._handle_part(batch, part)

    def _handle_part(self, batch: ProducerBatch, part: PartitionProduceResponse) -> None:
        code = part.error_code
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._complete(batch, part.base_offset, part.log_append_time_ms)
            return
        self._handle_error(batch, error_of(part, batch.tp))

    def _complete(self, batch: ProducerBatch, base_offset: int, log_append_time: int) -> None:
        if self._sequences is not None:
            self._sequences.completed(batch)
        self._accumulator.finish(batch)
        batch.result.settle(base_offset, log_append_time)

    def _handle_error(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Retry, split or fail a batch."""
        if error.code == ErrorCode.MESSAGE_TOO_LARGE and len(batch.records) > 1:
            self._split(batch)
            return
        if error.code in _STALE_METADATA or isinstance(error, RequestTimedOutError):
            self._stale.add(batch.tp)
            self._client.metadata.request_refresh()
        if not self._may_retry(batch, error):
            self._fail(batch, error)
            return
        self.retries += 1
        batch.attempts += 1
        now_ms = self._client.time.now_ms()
        batch.retry_at_ms = now_ms + self._config.retry_backoff_ms
        self._accumulator.put_back(batch)

    def _may_retry(self, batch: ProducerBatch, error: KafkaError) -> bool:
        deadline_ms = batch.created_ms + self._config.delivery_timeout_ms
        if batch.attempts >= self._config.retries or self._client.time.now_ms() >= deadline_ms:
            return False
        if self._transactions is not None and self._transactions.has_failed:
            return False
        if self._sequences is not None and error.code in _LOST_SEQUENCE:
            if not self._sequences.is_first(batch):
                return True  # An earlier batch failed and goes again: then this one fits.
            if self._transactions is None:
                self._sequences.restart(batch.tp)
                return True
        return error.retriable

    def _split(self, batch: ProducerBatch) -> None:
        parts = batch.split(self._config.batch_size)
        if self._sequences is not None:
            self._sequences.split(batch, parts)
        self._accumulator.replace(batch, parts)

    def _expire(self, batch: ProducerBatch) -> None:
        self._accumulator.remove(batch)
        waited_ms = self._client.time.now_ms() - batch.created_ms
        self._fail(
            batch,
            RequestTimedOutError(
                f"{batch.tp}: {len(batch.records)} records were not written in {waited_ms} ms "
                f"(delivery_timeout_ms is {self._config.delivery_timeout_ms})"
            ),
        )

    def _fail(self, batch: ProducerBatch, error: KafkaError) -> None:
        self.errors += len(batch.records)
        if self._sequences is not None:
            if batch.was_sent:
                self._sequences.failed(batch)
            else:
                self._sequences.completed(batch)
        if self._transactions is not None:
            self._transactions.batch_failed(error)
        self._accumulator.finish(batch)
        batch.result.settle(-1, error=error)

    def fail_queued(self, error: KafkaError) -> None:
        """Fail all that waits: the transaction is aborted, or there will be no producer id."""
        for batch in self._accumulator.queued():
            self._accumulator.remove(batch)
            self._fail(batch, error)

    def fail_all(self, error: KafkaError) -> None:
        """Fail all that has no outcome, queued or in flight: the producer is closed."""
        for batch in self._accumulator.incomplete():
            self._accumulator.remove(batch)
            self._fail(batch, error)

    def metrics(self) -> dict[str, Any]:
        """Return what the sender has done, under Kafka's names."""
        return {
            "record-send-total": self.records_sent,
            "batch-size-avg": self.bytes_sent / max(1, self.batches_sent),
            "batch-send-total": self.batches_sent,
            "record-byte-total": self.bytes_sent,
            "record-retry-total": self.retries,
            "record-error-total": self.errors,
            "requests-in-flight": sum(self._in_flight.values()),
        }
