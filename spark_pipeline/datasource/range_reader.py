"""Reads one range of offsets of one partition into Arrow record batches.

The next fetch is under way while the last answer is decoded. A lost leader is looked for again;
what was given before is not given twice.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    CorruptRecordError,
    InvalidRecordError,
    KafkaError,
    OffsetOutOfRangeError,
    error_for,
)
from kafkalike.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from spark_pipeline.datasource.arrow_decoder import ArrowDecoder
from spark_pipeline.datasource.cluster import Cluster
from spark_pipeline.datasource.connection import BrokerConnection
from spark_pipeline.datasource.errors import (
    DataSourceError,
    NoProgressError,
    missing_permission,
)
from spark_pipeline.datasource.offset_plan import OffsetRange, fetch_bytes
from spark_pipeline.datasource.offset_spec import EARLIEST
from spark_pipeline.datasource.offsets import report_data_loss
from spark_pipeline.datasource.source_options import SourceOptions
from spark_pipeline.datasource.visible_batches import (
    PlacedBatch,
    visible_batches,
    whole_batches,
)

_NO_SESSION: Final = -1


class _Pending:
    """A fetch that is under way."""

    __slots__ = ("connection", "correlation_id", "version")

    def __init__(self, connection: BrokerConnection, request: FetchRequest) -> None:
        self.connection = connection
        self.version = connection.version_of(request)
        self.correlation_id = connection.send_only(request, self.version)

    def receive(self) -> FetchResponse:
        answer: FetchResponse = self.connection.receive(
            ApiKey.FETCH, self.version, self.correlation_id
        )
        return answer


class RangeReader:
    """Reads a range once, from front to back."""

    def __init__(
        self,
        offset_range: OffsetRange,
        options: SourceOptions,
        cluster: Cluster,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._range = offset_range
        self._options = options
        self._config: ConsumerConfig = options.kafka
        self._cluster = cluster
        self._clock = clock
        self._sleep = sleep
        self._decoder = ArrowDecoder(offset_range.tp, with_headers=options.include_headers)
        self._position = offset_range.start
        self._bytes_per_offset: float | None = None
        self._pending: _Pending | None = None
        self._deadline = 0.0

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield all visible records of the range, in order."""
        self._deadline = self._clock() + self._options.poll_timeout_ms / 1000
        while self._position < self._range.end:
            try:
                part = self._fetch()
                data, batches, first = self._advance(part)
            except OffsetOutOfRangeError:
                self._skip_lost()
            except (KafkaError, OSError) as error:
                self._retry(error)
            else:
                yield from self._decode(data, batches, first, part)

    def _fetch(self) -> FetchablePartitionResponse:
        """Return the answer for the current position; asks if nobody has yet."""
        pending = self._pending or self._ask()
        self._pending = None
        answer = pending.receive()
        if answer.error_code:
            raise error_for(answer.error_code)(f"fetch of {self._range.tp}")
        part = answer.responses[0].partition_responses[0]
        if part.error_code:
            problem = error_for(part.error_code)
            raise problem(f"{self._range.tp} at offset {self._position}: {problem()}")
        return part

    def _ask(self) -> _Pending:
        connection = self._cluster.leader_connection(self._range.tp)
        return _Pending(connection, self._request())

    def _advance(
        self, part: FetchablePartitionResponse
    ) -> tuple[memoryview, list[PlacedBatch], int]:
        """Move behind what was fetched and ask for what follows; return what was fetched."""
        data = part.record_set if isinstance(part.record_set, memoryview) else memoryview(b"")
        batches = self._whole_batches(data)
        first = self._position
        if not batches:
            self._wait_for_more(len(data))
            return data, batches, first
        self._position = max(first, batches[-1][1].next_offset)
        self._bytes_per_offset = len(data) / max(1, self._position - first)
        self._deadline = self._clock() + self._options.poll_timeout_ms / 1000
        if self._position < self._range.end:
            self._pending = self._ask_quietly()
        return data, batches, first

    def _ask_quietly(self) -> _Pending | None:
        """Ask ahead; should that fail, what was fetched is given first."""
        try:
            return self._ask()
        except (KafkaError, OSError):
            self._cluster.forget()
            return None

    def _whole_batches(self, data: memoryview) -> list[PlacedBatch]:
        try:
            return whole_batches(data, check_crcs=self._config.check_crcs)
        except CorruptRecordError as error:
            raise DataSourceError(
                f"{self._range.tp}: a batch at or after offset {self._position} is damaged: {error}"
            ) from error

    def _decode(
        self,
        data: memoryview,
        batches: Sequence[PlacedBatch],
        first: int,
        part: FetchablePartitionResponse,
    ) -> Iterator[pa.RecordBatch]:
        aborted = part.aborted_transactions if self._config.isolation else None
        seen = visible_batches(data, batches, aborted)
        try:
            yield from self._decoder.decode(data, seen, first, self._range.end)
        except (CorruptRecordError, InvalidRecordError) as error:
            raise DataSourceError(
                f"{self._range.tp}: a record at or after offset {first} cannot be read: {error}"
            ) from error

    def _skip_lost(self) -> None:
        tp, position = self._range.tp, self._position
        found = self._cluster.offsets_at([tp], EARLIEST)[tp]
        report_data_loss(
            f"{tp}: offset {position} is not there, the log begins at {found}",
            is_fatal=self._options.fail_on_data_loss,
        )
        # A log that begins before it ends before it as well: then there is nothing to read.
        self._position = found if found > position else self._range.end

    def _retry(self, error: Exception) -> None:
        if not getattr(error, "retriable", True):
            hint = missing_permission(error)
            raise DataSourceError(f"{self._range}: {error}{hint}") from error
        self._check_deadline(str(error))
        self._pending = None
        self._cluster.forget()
        self._sleep(self._config.retry_backoff_ms / 1000)

    def _wait_for_more(self, size: int) -> None:
        self._check_deadline(f"a fetch gave {size} bytes and no whole batch")

    def _check_deadline(self, why: str) -> None:
        if self._clock() >= self._deadline:
            raise NoProgressError(
                f"{self._range.tp} at offset {self._position}: nothing could be read for "
                f"{self._options.poll_timeout_ms} ms (kafkaConsumer.pollTimeoutMs): {why}"
            )

    def _request(self) -> FetchRequest:
        left = self._range.end - self._position
        limit = min(self._config.max_partition_fetch_bytes, self._config.fetch_max_bytes)
        size = fetch_bytes(left, self._bytes_per_offset, limit)
        part = FetchPartition(
            partition=self._range.partition,
            current_leader_epoch=-1,
            fetch_offset=self._position,
            log_start_offset=-1,
            partition_max_bytes=size,
        )
        return FetchRequest(
            replica_id=-1,
            max_wait_ms=self._config.fetch_max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=size,
            isolation_level=self._config.isolation,
            session_epoch=_NO_SESSION,
            topics=[FetchTopic(topic=self._range.topic, partitions=[part])],
        )
