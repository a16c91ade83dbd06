"""What a task of the sink does: write its rows, once or at least once.

Exactly once: the task's rows and the mark of its batch are one transaction. Another attempt of the
task has the same transactional id: it fences the former one, ends what that left open, and then
finds the mark or does not.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafkalike.client.blocking_producer import KafkaProducer
from kafkalike.client.config import make_config
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from kafkalike.protocol.errors import KafkaError
from spark_pipeline.datasource.batch_marker import BatchMarker, last_marker, marker_place
from spark_pipeline.datasource.cluster import Cluster
from spark_pipeline.datasource.errors import DataSourceError, missing_permission
from spark_pipeline.datasource.sink_options import SinkOptions
from spark_pipeline.datasource.sink_rows import SinkRow, iter_rows

# Keys that producers and consumers both have; a producer's others mean nothing to a look-up.
_SHARED_KEYS = ("bootstrap.servers", "client.id", "request.timeout.ms", "retry.backoff.ms")
_SECURITY_PREFIXES = ("security.", "sasl.", "ssl.")

Checkpoint = Callable[[str], None]
"""Called with `before commit` and `after commit`; tests crash there."""


def no_checkpoint(_: str) -> None:
    """Go on."""


class TaskWriter:
    """Writes the rows of one task; `batches` are Arrow record batches."""

    def __init__(self, options: SinkOptions, checkpoint: Checkpoint = no_checkpoint) -> None:
        self._options = options
        self._checkpoint = checkpoint

    def write_at_least_once(self, batches: Iterable[Any]) -> int:
        """Write and wait until all is written; returns the number of rows."""
        errors: list[BaseException] = []
        count = 0
        with KafkaProducer(**self._options.producer_settings(None)) as producer:
            for row in self._rows(batches):
                topic, key, value, headers, partition = row
                future = producer.send(topic, value, key, headers, partition)
                future.add_errback(errors.append)
                count += 1
                if errors:
                    break
            producer.flush()
        if errors:
            hint = missing_permission(errors[0], "Write")
            raise DataSourceError(f"a row could not be written: {errors[0]}{hint}") from errors[0]
        self._checkpoint("after commit")
        return count

    def write_once(
        self, batches: Iterable[Any], transactional_id: str, batch_id: int
    ) -> int | None:
        """Write in a transaction; None if the batch was written before."""
        rows = self._rows(batches)
        first = next(rows, None)
        if first is None:
            return 0  # Nothing to write, and nothing to tell from another attempt.
        rows = itertools.chain([first], rows)
        with KafkaProducer(**self._options.producer_settings(transactional_id)) as producer:
            producer.init_transactions()
            marker = self._last_marker(transactional_id)
            if marker is not None and marker.batch_id >= batch_id:
                marker.check_repeats(batch_id, sum(1 for _ in rows), transactional_id)
                return None
            return self._commit(producer, rows, first.topic, transactional_id, batch_id)

    def _commit(
        self,
        producer: KafkaProducer,
        rows: Iterable[SinkRow],
        topic: str,
        transactional_id: str,
        batch_id: int,
    ) -> int:
        producer.begin_transaction()
        try:
            count = _send(producer, rows)
            producer.flush()
            marker = BatchMarker(batch_id, count)
            producer.send_offsets_to_transaction(
                {marker_place(topic): OffsetAndMetadata(marker.offset, marker.metadata)},
                transactional_id,
            )
            self._checkpoint("before commit")
            producer.commit_transaction()
        except Exception as error:
            _abort(producer)
            hint = missing_permission(error, "Write")
            raise DataSourceError(
                f"batch {batch_id} of {transactional_id} was not written: {error}{hint}"
            ) from error
        self._checkpoint("after commit")
        return count

    def _rows(self, batches: Iterable[Any]) -> Iterator[SinkRow]:
        return itertools.chain.from_iterable(
            iter_rows(batch, self._options.topic) for batch in batches
        )

    def _last_marker(self, group_id: str) -> BatchMarker | None:
        settings = {
            key: value
            for key, value in self._options.kafka.items()
            if key in _SHARED_KEYS or key.startswith(_SECURITY_PREFIXES)
        }
        cluster = Cluster(make_config(ConsumerConfig, settings))
        try:
            return last_marker(cluster, group_id)
        finally:
            cluster.close()


def _send(producer: KafkaProducer, rows: Iterable[SinkRow]) -> int:
    count = 0
    send = producer.send
    for topic, key, value, headers, partition in rows:
        send(topic, value, key, headers, partition)
        count += 1
    return count


def _abort(producer: KafkaProducer) -> None:
    try:
        producer.abort_transaction()
    except (KafkaError, ValueError):
        # Fenced, or the cluster is gone: the next attempt, or the time-out, ends the transaction.
        return
