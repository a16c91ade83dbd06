"""Interceptors see every record before it is sent, and every outcome.

Kafka's `ProducerInterceptor`: any object with one or both of `on_send(record) -> record` and
`on_acknowledgement(metadata, exception)`. Their failures are logged and hold nothing up.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from twisted.logger import Logger

from kafkalike.client.producer.record_metadata import FutureRecordMetadata, RecordMetadata

log = Logger()


class ProducerRecord(NamedTuple):
    """A record as the program gave it, before it is serialised."""

    topic: str
    value: Any = None
    key: Any = None
    headers: Sequence[tuple[str, bytes | None]] | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


class Interceptors:
    """The interceptors of a producer, called in order."""

    def __init__(self, given: Sequence[Any]) -> None:
        made = [one() if isinstance(one, type) else one for one in given]
        self._on_send = [one.on_send for one in made if hasattr(one, "on_send")]
        self._on_ack = [
            one.on_acknowledgement for one in made if hasattr(one, "on_acknowledgement")
        ]

    def __bool__(self) -> bool:
        return bool(self._on_send or self._on_ack)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Let each look at the record, and change it."""
        for call in self._on_send:
            try:
                record = call(record)
            except Exception:  # noqa: BLE001 (somebody else's code)
                log.failure("an interceptor failed on a record of {topic}", topic=record.topic)
        return record

    @contextmanager
    def told_of_errors(self) -> Iterator[None]:
        """Tell each of a record that could not even be queued."""
        try:
            yield
        except Exception as error:
            for call in self._on_ack:
                try:
                    _refused(call, error)
                except Exception:  # noqa: BLE001 (somebody else's code)
                    log.failure("an interceptor failed on a record that was not queued")
            raise

    def follow(self, future: FutureRecordMetadata) -> None:
        """Tell each what comes of a record."""
        for call in self._on_ack:
            future.add_callback(_acknowledged, call)
            future.add_errback(_refused, call)


def _acknowledged(call: Any, metadata: RecordMetadata) -> None:
    call(metadata, None)


def _refused(call: Any, error: Exception) -> None:
    call(None, error)
