"""What Spark sends to a task: one range of offsets."""

from pyspark.sql.datasource import InputPartition

from spark_pipeline.datasource.offset_plan import OffsetRange


class RangePartition(InputPartition):
    """A task that reads one range."""

    def __init__(self, offset_range: OffsetRange) -> None:
        super().__init__(str(offset_range))
        self.offset_range = offset_range
