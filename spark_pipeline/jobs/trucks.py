"""Trucks: GPS positions to speed and distance per truck and window, on a result topic."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_pipeline.io import read_stream, to_json, write_topic
from spark_pipeline.running import run_stream
from spark_pipeline.schemas import TRUCK_EVENT
from spark_pipeline.settings import StreamSettings, setting
from spark_pipeline.transforms.events import complete, parse_events
from spark_pipeline.transforms.trucks import windowed_trips


@dataclass(frozen=True, slots=True, kw_only=True)
class TrucksSettings(StreamSettings):
    """Settings of this job."""

    input: str = setting("trucks", "Topic of the positions.")
    output: str = setting("truck-windows", "Topic of the results.")
    window: str = setting("1 minute", "Length of a window.")
    watermark: str = setting("30 seconds", "How late a position may come.")


def queries(spark: SparkSession, settings: TrucksSettings) -> list[StreamingQuery]:
    """Start the query."""
    events = (
        read_stream(spark, settings, settings.input)
        .transform(parse_events, TRUCK_EVENT)
        .transform(complete, *TRUCK_EVENT.fieldNames())
    )
    windows = windowed_trips(events, settings.window, settings.watermark)
    return [write_topic(to_json(windows, "truck_id"), settings, "trucks", settings.output)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job."""
    return run_stream(TrucksSettings, __doc__, queries, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
