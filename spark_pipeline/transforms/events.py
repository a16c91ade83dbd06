"""From records of a topic to typed events."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType


def parse_events(records: DataFrame, schema: StructType) -> DataFrame:
    """Return the JSON values as columns; what is no JSON of this schema is left out."""
    event = F.from_json(F.col("value").cast("string"), schema, {"mode": "PERMISSIVE"})
    parsed = records.select(event.alias("event")).where(F.col("event").isNotNull())
    return parsed.select("event.*")


def complete(events: DataFrame, *columns: str) -> DataFrame:
    """Return the events that have all of these columns."""
    wanted: Column = F.lit(True)
    for column in columns:
        wanted &= F.col(column).isNotNull()
    return events.where(wanted)
