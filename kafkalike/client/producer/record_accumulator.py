"""Records that wait to be sent, by partition, in batches (Kafka's `RecordAccumulator`).

The meeting point of threads: callers append under a lock, the sender takes from it in the reactor.
Bounded by `buffer.memory`; what a caller does when there is no room (block, await) is its own.
"""

from collections import deque
from collections.abc import Callable, Iterable

from kafkalike.client.producer.batch_encoder import PendingRecord
from kafkalike.client.producer.producer_batch import ProducerBatch
from kafkalike.client.producer.record_metadata import FutureRecordMetadata, ProduceResult
from kafkalike.client.threads import Lock
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError


class ProducerClosedError(KafkaError):
    """The producer is closed."""


class RecordAccumulator:
    """Queues of batches; `on_work` is called, in the caller's thread, when a look is due."""

    def __init__(
        self,
        batch_size: int,
        buffer_memory: int,
        now_ms: Callable[[], int],
        on_work: Callable[[], None],
    ) -> None:
        self._now_ms = now_ms
        self._batch_size = batch_size
        self._buffer_memory = buffer_memory
        self._on_work = on_work
        self._lock = Lock()
        self._queues: dict[TopicPartition, deque[ProducerBatch]] = {}
        self._incomplete: dict[ProducerBatch, None] = {}
        self._room_waiters: list[Callable[[], None]] = []
        self.used_bytes = 0
        self._flushes = 0
        self._is_closed = False

    @property
    def is_exhausted(self) -> bool:
        """Whether somebody waits for room: then nothing lingers."""
        return bool(self._room_waiters)

    def append(
        self, tp: TopicPartition, record: PendingRecord, size: int, may_open: bool
    ) -> FutureRecordMetadata | None:
        """Add a record to the open batch of a partition, or to a new one if that is allowed.

        None if there is no open batch with room and none may be opened.
        """
        with self._lock:
            if self._is_closed:
                raise ProducerClosedError("the producer is closed: make a new one")
            queue = self._queues.get(tp)
            if queue:
                batch = queue[-1]
                if not batch.is_closed:
                    if batch.size + size <= self._batch_size:
                        self.used_bytes += size
                        return batch.append(record, size)
                    batch.is_closed = True
            if not may_open:
                return None
            if queue is None:
                queue = self._queues[tp] = deque()
            batch = ProducerBatch(tp, self._now_ms())
            queue.append(batch)
            self._incomplete[batch] = None
            self.used_bytes += size
            future = batch.append(record, size)
        self._on_work()
        return future

    def has_room(self, size: int) -> bool:
        """Whether a record of this size fits; one larger than all the memory fits when alone."""
        used = self.used_bytes
        return used + size <= self._buffer_memory or not used

    def call_when_room(self, size: int, call: Callable[[], None]) -> None:
        """Call (once, in the reactor's thread) when a batch has left the memory.

        At once if there is room by now: then perhaps no batch is left that could leave.
        """
        with self._lock:
            is_late = self.has_room(size)
            if not is_late:
                self._room_waiters.append(call)
        if is_late:
            call()
        self._on_work()

    def heads(self) -> list[ProducerBatch]:
        """Return the first batch of each partition."""
        with self._lock:
            return [queue[0] for queue in self._queues.values() if queue]

    def is_ready(self, batch: ProducerBatch, linger_ms: int, now_ms: int) -> bool:
        """Whether a batch at the head of its queue waits for nothing more."""
        return (
            batch.is_closed
            or batch.size >= self._batch_size
            or now_ms - batch.created_ms >= linger_ms
            or self._flushes > 0
            or bool(self._room_waiters)
        )

    def close(self, batch: ProducerBatch) -> None:
        """Let nothing more be added to a batch: it is about to be numbered and sent."""
        with self._lock:
            batch.is_closed = True

    def take(self, batch: ProducerBatch) -> None:
        """Take the head of a queue to send it; nothing is added to it any more."""
        with self._lock:
            queue = self._queues[batch.tp]
            assert queue[0] is batch, "only the first batch of a partition can be taken"
            queue.popleft()
            batch.is_closed = True

    def put_back(self, batch: ProducerBatch) -> None:
        """Queue a batch that must be sent again: before all that came later."""
        with self._lock:
            queue = self._queues[batch.tp]
            sequence = batch.sequence
            later: list[ProducerBatch] = []
            while queue and sequence is not None:
                head = queue[0]
                if head.sequence is None or not head.sequence[2] < sequence[2]:
                    break
                later.append(queue.popleft())
            queue.appendleft(batch)
            queue.extendleft(reversed(later))

    def replace(self, batch: ProducerBatch, parts: Iterable[ProducerBatch]) -> None:
        """Queue the parts of a batch that was too large in its place."""
        with self._lock:
            self._incomplete.pop(batch, None)
            for part in reversed(list(parts)):
                self._incomplete[part] = None
                self._queues[batch.tp].appendleft(part)

    def finish(self, batch: ProducerBatch) -> None:
        """Forget a batch whose outcome is known, and give its memory back."""
        with self._lock:
            if self._incomplete.pop(batch, batch) is None:
                self.used_bytes -= batch.size
            waiters, self._room_waiters = self._room_waiters, []
        for call in waiters:
            call()

    def remove(self, batch: ProducerBatch) -> None:
        """Take a batch out of its queue, wherever it stands."""
        with self._lock:
            batch.is_closed = True
            queue = self._queues[batch.tp]
            if batch in queue:  # and not in flight
                queue.remove(batch)

    def queued(self) -> list[ProducerBatch]:
        """Return all batches that wait to be sent."""
        with self._lock:
            return [batch for queue in self._queues.values() for batch in queue]

    def incomplete(self) -> list[ProducerBatch]:
        """Return all batches whose outcome is not known."""
        with self._lock:
            return list(self._incomplete)

    def close_for_good(self) -> None:
        """Take no more records, from whichever thread: what is here by now is the rest."""
        with self._lock:
            self._is_closed = True

    def begin_flush(self) -> list[ProduceResult]:
        """Let nothing linger until `end_flush`; return the outcomes that are still to come."""
        with self._lock:
            self._flushes += 1
            return [batch.result for batch in self._incomplete]

    def end_flush(self) -> None:
        """Let records linger again."""
        with self._lock:
            self._flushes -= 1
