"""What a producer learns of a record that was written, and the future that tells it."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.client.threads import Latch, Lock
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import RequestTimedOutError

log = Logger()

UNKNOWN_OFFSET = -1


class RecordMetadata(NamedTuple):
    """Where a record was written; the offset is -1 if the broker was not asked (acks=0)."""

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    serialized_key_size: int
    serialized_value_size: int


class ProduceResult:
    """The outcome that all records of a batch share (Kafka's `ProduceRequestResult`).

    Settled once, in the reactor; asked for from any thread.
    """

    __slots__ = (
        "_latch",
        "_lock",
        "_parts",
        "_then",
        "base_offset",
        "error",
        "is_done",
        "log_append_time",
    )

    def __init__(self) -> None:
        self._lock = Lock()
        self._latch: Latch | None = None
        self._then: list[Callable[[], None]] = []
        self._parts: list[tuple[ProduceResult, int]] = []
        self.is_done = False
        self.base_offset = UNKNOWN_OFFSET
        self.log_append_time = -1
        self.error: Exception | None = None

    def settle(
        self, base_offset: int, log_append_time: int = -1, error: Exception | None = None
    ) -> None:
        """Say what came of the batch."""
        with self._lock:
            if self.is_done:
                return
            self.base_offset = base_offset
            self.log_append_time = log_append_time
            self.error = error
            self.is_done = True
            then, self._then = self._then, []
        if self._latch is not None:
            self._latch.open()
        for call in then:
            _call_safely(call)

    def then(self, call: Callable[[], None]) -> None:
        """Call when it is settled: in the reactor's thread, or now if it is settled already."""
        with self._lock:
            if not self.is_done:
                self._then.append(call)
                return
        _call_safely(call)

    def split_into(self, parts: "list[tuple[ProduceResult, int]]") -> None:
        """Let the outcomes of the parts, each with its number of records, be the outcome.

        Settled when the last part is, and failed if one of them is.
        """
        self._parts = parts
        left = len(parts)

        def one_less() -> None:
            nonlocal left
            left -= 1
            if not left:
                errors = [part.error for part, _ in parts if part.error is not None]
                self.settle(UNKNOWN_OFFSET, error=errors[0] if errors else None)

        for part, _ in parts:
            part.then(one_less)

    def of_record(self, index: int) -> "tuple[ProduceResult, int]":
        """Return the outcome that holds a record, and the number of the record in it."""
        for part, count in self._parts:
            if index < count:
                return part.of_record(index)
            index -= count
        return self, index

    def wait(self, timeout_s: float | None) -> bool:
        """Wait in a thread until it is settled."""
        with self._lock:
            if self.is_done:
                return True
            if self._latch is None:
                self._latch = Latch()
            latch = self._latch
        return latch.wait(timeout_s)


class FutureRecordMetadata:
    """The future of one record, with the names of kafka-python's.

    `get()` waits in a thread; `await` waits in a coroutine on the producer's reactor. Callbacks run
    in the reactor's thread: they must not block.
    """

    __slots__ = ("_index", "_record", "_result", "_tp")

    def __init__(
        self, result: ProduceResult, tp: TopicPartition, index: int, record: tuple[Any, ...]
    ) -> None:
        self._result = result
        self._tp = tp
        self._index = index
        self._record = record

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Wait (seconds) and return the metadata, or raise what went wrong."""
        if not self._result.is_done and not self._result.wait(timeout):
            raise RequestTimedOutError(f"{self._tp}: no answer for the record after {timeout} s")
        error = self.exception
        if error is not None:
            raise error
        return self._metadata()

    result = get

    @property
    def is_done(self) -> bool:
        """Whether the outcome is known."""
        return self._result.is_done

    def done(self) -> bool:
        """Whether the outcome is known, by the standard library's name."""
        return self._result.is_done

    def succeeded(self) -> bool:
        """Whether the record was written."""
        return self._result.is_done and self.exception is None

    def failed(self) -> bool:
        """Whether the record was refused or lost."""
        return self.exception is not None

    @property
    def value(self) -> RecordMetadata | None:
        """The metadata, if it is known and the record was written."""
        return self._metadata() if self.succeeded() else None

    @property
    def exception(self) -> Exception | None:
        """What went wrong, if something did."""
        if not self._result.is_done:
            return None
        result, _ = self._result.of_record(self._index)
        return result.error

    def add_callback(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call with the metadata once the record is written."""

        def told() -> None:
            if self.exception is None:
                call(*args, self._metadata(), **kwargs)

        self._result.then(told)
        return self

    def add_errback(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call with the exception if the record is not written."""

        def told() -> None:
            error = self.exception
            if error is not None:
                call(*args, error, **kwargs)

        self._result.then(told)
        return self

    def add_both(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call with the metadata or the exception."""
        self.add_callback(call, *args, **kwargs)
        return self.add_errback(call, *args, **kwargs)

    def __await__(self) -> Generator["Deferred[Any]", Any, RecordMetadata]:
        if not self._result.is_done:
            settled: Deferred[None] = Deferred()
            self._result.then(lambda: settled.callback(None))
            yield from settled.__await__()
        return self.get()

    def _metadata(self) -> RecordMetadata:
        result, index = self._result.of_record(self._index)
        timestamp, key, value, _ = self._record
        base = result.base_offset
        return RecordMetadata(
            self._tp.topic,
            self._tp.partition,
            self._tp,
            base if base == UNKNOWN_OFFSET else base + index,
            timestamp if result.log_append_time < 0 else result.log_append_time,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
        )


def _call_safely(call: Callable[[], None]) -> None:
    """Run what the user hung on a record; its mistakes must not stop the sender."""
    try:
        call()
    except Exception:  # noqa: BLE001 (somebody else's code)
        log.failure("a callback of a record failed")
