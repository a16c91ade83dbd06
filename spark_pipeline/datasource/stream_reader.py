"""The streaming query: what is new since the last batch, in portions.

Spark keeps this in a process of its own at the driver and asks it before every batch.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from spark_pipeline.datasource.cluster import Cluster
from spark_pipeline.datasource.offset_plan import limit_rows, split_ranges
from spark_pipeline.datasource.offset_spec import Offsets, flatten, nest
from spark_pipeline.datasource.offsets import OffsetReader
from spark_pipeline.datasource.partitions import RangePartition
from spark_pipeline.datasource.reading import read_partition
from spark_pipeline.datasource.source_options import SourceOptions
from spark_pipeline.datasource.stream_ranges import batch_ranges

if TYPE_CHECKING:
    import pyarrow as pa

Nested = dict[str, dict[str, int]]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are `{"topic": {"0": 23}}`, the same JSON as of Spark's own Kafka source."""

    def __init__(self, options: SourceOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._cluster: Cluster | None = None
        self._target: Offsets | None = None
        self._last_batch_at: float | None = None

    def initialOffset(self) -> Nested:
        """Return where a query without a checkpoint begins."""
        reader = self._reader()
        return nest(reader.starting(reader.partitions(must_exist=True)))

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return how much a batch may read."""
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:
        """Take note of what is there now: nothing later is read."""
        self._target = self._latest()

    def latestOffset(self, start: Nested, limit: ReadLimit) -> Nested:
        """Return where the next batch ends; the same as its start if there is no next batch."""
        first, last = flatten(start), self._target
        if last is None:
            last = self._latest()
        new = [tp for tp in last if tp not in first]
        if new:
            first |= self._reader().earliest(new)
        if self._must_wait(first, last):
            return start
        self._last_batch_at = self._clock()
        if isinstance(limit, ReadMaxRows):
            last = limit_rows(first, last, limit.max_rows)
        return nest(last)

    def reportLatestOffset(self) -> Nested:
        """Return the ends of the partitions, for the progress that Spark reports."""
        return nest(self._latest())

    def partitions(self, start: Nested, end: Nested) -> Sequence[InputPartition]:
        """Return the tasks of a batch."""
        options = self._options
        ranges = batch_ranges(
            flatten(start),
            flatten(end),
            self._reader().earliest,
            is_fatal=options.fail_on_data_loss,
        )
        ranges = split_ranges(ranges, options.min_partitions, options.max_records_per_partition)
        return [RangePartition(found) for found in ranges]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the records of one range."""
        return read_partition(partition, self._options)

    def commit(self, end: Nested) -> None:
        """Do nothing: the checkpoint has the offsets."""

    def stop(self) -> None:
        """Close the connections."""
        if self._cluster is not None:
            self._cluster.close()

    def _reader(self) -> OffsetReader:
        if self._cluster is None:
            self._cluster = Cluster(self._options.kafka)
        return OffsetReader(self._options, self._cluster)

    def _latest(self) -> Offsets:
        reader = self._reader()
        return reader.latest(reader.partitions(must_exist=self._options.fail_on_data_loss))

    def _must_wait(self, first: Offsets, last: Offsets) -> bool:
        """Whether there is less than `minOffsetsPerTrigger`, and the last batch is not long ago."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        if self._last_batch_at is None:
            self._last_batch_at = self._clock()
        waited_ms = (self._clock() - self._last_batch_at) * 1000
        there = sum(max(0, last[tp] - first[tp]) for tp in last)
        return there < least and waited_ms < self._options.max_trigger_delay_ms
