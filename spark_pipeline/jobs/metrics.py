"""Metrics: log lines rolled up per minute into a table of SQLite, each minute kept up to date."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_pipeline.io import read_stream, start
from spark_pipeline.minute_store import upsert
from spark_pipeline.running import run_stream
from spark_pipeline.schemas import LOG_LINE
from spark_pipeline.settings import StreamSettings, setting
from spark_pipeline.transforms.events import complete, parse_events
from spark_pipeline.transforms.metrics import per_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSettings(StreamSettings):
    """Settings of this job."""

    input: str = setting("logs", "Topic of the lines.")
    database: str = setting("metrics.db", "SQLite file, at the driver.")
    watermark: str = setting("10 minutes", "How late a line may come.")


def queries(spark: SparkSession, settings: MetricsSettings) -> list[StreamingQuery]:
    """Start the query."""

    def write(minutes: DataFrame, batch_id: int) -> None:
        rows = [
            (
                row["service"],
                row["minute"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                row["requests"],
                row["errors"],
                row["average_latency_ms"],
                row["top_latency_ms"],
            )
            for row in minutes.collect()
        ]
        upsert(Path(settings.database), "metrics", batch_id, rows)

    minutes = (
        read_stream(spark, settings, settings.input)
        .transform(parse_events, LOG_LINE)
        .transform(complete, *LOG_LINE.fieldNames())
        .transform(per_minute, settings.watermark)
    )
    writer = minutes.writeStream.outputMode("update").foreachBatch(write)
    return [start(writer, settings, "metrics")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job."""
    return run_stream(MetricsSettings, __doc__, queries, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
