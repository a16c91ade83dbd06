"""What a task does: read its range, whoever planned it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from spark_pipeline.datasource.cluster import Cluster
from spark_pipeline.datasource.partitions import RangePartition
from spark_pipeline.datasource.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


def read_partition(partition: InputPartition, options: SourceOptions) -> "Iterator[pa.RecordBatch]":
    """Yield the records of a task's range."""
    # Imported by tasks only: planning needs neither numpy nor the decoder.
    from spark_pipeline.datasource.range_reader import RangeReader

    if not isinstance(partition, RangePartition):
        return  # Spark makes up a partition when there is none to read.
    cluster = Cluster(options.kafka)
    try:
        yield from RangeReader(partition.offset_range, options, cluster).read()
    finally:
        cluster.close()
