"""The batch query: all between two ends, planned once."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from spark_pipeline.datasource.cluster import Cluster
from spark_pipeline.datasource.offset_plan import ranges_between, split_ranges
from spark_pipeline.datasource.offsets import OffsetReader, checked_range
from spark_pipeline.datasource.partitions import RangePartition
from spark_pipeline.datasource.reading import read_partition
from spark_pipeline.datasource.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """`partitions` runs at the driver, `read` in the tasks.

    There is no `pushFilters`: Spark refuses a reader that has it unless
    `spark.sql.python.filterPushdown.enabled` is on. `startingOffsets` says the same.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Return the ranges to read, one per task."""
        options = self._options
        cluster = Cluster(options.kafka)
        try:
            return self._plan(OffsetReader(options, cluster))
        finally:
            cluster.close()

    def _plan(self, reader: OffsetReader) -> list[InputPartition]:
        options = self._options
        partitions = reader.partitions(must_exist=True)
        earliest, latest = reader.earliest(partitions), reader.latest(partitions)
        start = earliest if options.starting.is_earliest else reader.starting(partitions)
        end = latest if options.ending.is_latest else reader.ending(partitions)
        checked = [
            checked_range(
                found,
                earliest[found.tp],
                latest[found.tp],
                is_fatal=options.fail_on_data_loss,
            )
            for found in ranges_between(start, end)
        ]
        ranges = split_ranges(
            [found for found in checked if found is not None],
            options.min_partitions,
            options.max_records_per_partition,
        )
        return [RangePartition(found) for found in ranges]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the records of one range."""
        return read_partition(partition, self._options)
