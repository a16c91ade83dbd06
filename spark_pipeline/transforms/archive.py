"""Records of topics as they are kept in files."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def archived(records: DataFrame) -> DataFrame:
    """Return the columns of the archive; topic and day (UTC) are its folders."""
    return records.select(
        F.col("key"),
        F.col("value"),
        F.col("partition"),
        F.col("offset"),
        F.col("timestamp"),
        F.col("topic"),
        F.to_date("timestamp").alias("day"),
    )
