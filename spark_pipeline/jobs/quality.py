"""Quality: orders that can be used on one topic, the others with the reason on another."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_pipeline.io import read_stream, write_topic
from spark_pipeline.running import run_stream
from spark_pipeline.settings import StreamSettings, setting
from spark_pipeline.transforms.quality import judged, sorted_out, without_repetitions


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySettings(StreamSettings):
    """Settings of this job."""

    input: str = setting("orders", "Topic of the orders.")
    good: str = setting("good-orders", "Topic of those that can be used.")
    bad: str = setting("bad-orders", "Topic of the others, with the reason (dead letters).")
    watermark: str = setting("1 hour", "How long the id of an order is remembered.")


def queries(spark: SparkSession, settings: QualitySettings) -> list[StreamingQuery]:
    """Start the query: one transaction per task writes to both topics."""
    records = (
        read_stream(spark, settings, settings.input)
        .transform(judged)
        .transform(without_repetitions, settings.watermark)
        .transform(sorted_out, settings.good, settings.bad)
    )
    return [write_topic(records, settings, "quality", None)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job."""
    return run_stream(QualitySettings, __doc__, queries, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
