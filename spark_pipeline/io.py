"""Where jobs read from and write to: topics by either connector, with checkpoint and trigger."""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_pipeline.settings import JobSettings, StreamSettings

_FORMATS: Final = {"native": "kafkalike", "stock": "kafka"}


def kafka_options(settings: JobSettings) -> dict[str, str]:
    """Return the options that readers and writers of topics share."""
    options = {f"kafka.{key}": value for key, value in settings.kafka.items()}
    return options | {"kafka.bootstrap.servers": settings.bootstrap_servers}


def read_stream(spark: SparkSession, settings: StreamSettings, topics: str) -> DataFrame:
    """Return the records of topics (with commas between) as a stream."""
    options = kafka_options(settings) | {
        "subscribe": topics,
        "startingOffsets": settings.starting_offsets,
        "failOnDataLoss": str(settings.fail_on_data_loss).lower(),
    }
    if settings.max_offsets_per_trigger:
        options["maxOffsetsPerTrigger"] = str(settings.max_offsets_per_trigger)
    reader: Any = spark.readStream.format(_FORMATS[settings.connector]).options(**options)
    records: DataFrame = reader.load()
    return records


def read_batch(
    spark: SparkSession, settings: JobSettings, topics: str, more: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the records of topics as they are now."""
    options = kafka_options(settings) | {"subscribe": topics} | dict(more or {})
    reader: Any = spark.read.format(_FORMATS[settings.connector]).options(**options)
    records: DataFrame = reader.load()
    return records


def to_json(rows: DataFrame, key: str) -> DataFrame:
    """Return rows as records to write: one column as the key, all as JSON in the value."""
    return rows.select(
        F.col(key).cast("string").alias("key"),
        F.to_json(F.struct(*rows.columns)).alias("value"),
    )


def write_topic(
    records: DataFrame, settings: StreamSettings, name: str, topic: str | None, mode: str = "append"
) -> StreamingQuery:
    """Write records to a topic (None: to that of their column) as a stream."""
    options = kafka_options(settings)
    if topic is not None:
        options["topic"] = topic
    if settings.connector == "native":
        options["delivery"] = settings.delivery
    writer = records.writeStream.format(_FORMATS[settings.connector]).options(**options)
    return start(writer.outputMode(mode), settings, name)


def start(writer: DataStreamWriter, settings: StreamSettings, name: str) -> StreamingQuery:
    """Start a query with its own checkpoint and the trigger of the job."""
    writer = writer.queryName(name).option("checkpointLocation", f"{settings.checkpoint}/{name}")
    if settings.trigger == "available-now":
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=settings.trigger).start()
