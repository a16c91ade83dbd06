"""Clickstream: page views to sessions, and impressions joined with the clicks on them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from spark_pipeline.io import read_stream, to_json, write_topic
from spark_pipeline.running import run_stream
from spark_pipeline.schemas import CLICK, IMPRESSION, PAGE_EVENT
from spark_pipeline.settings import StreamSettings, setting
from spark_pipeline.transforms.clicks import clicked_impressions
from spark_pipeline.transforms.events import complete, parse_events
from spark_pipeline.transforms.sessions import user_sessions

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickstreamSettings(StreamSettings):
    """Settings of this job."""

    pages: str = setting("pages", "Topic of the views.")
    impressions: str = setting("impressions", "Topic of the impressions.")
    clicks: str = setting("clicks", "Topic of the clicks.")
    sessions: str = setting("sessions", "Topic of the sessions that are over.")
    clicked: str = setting("clicked", "Topic of the impressions that were clicked.")
    session_gap_minutes: int = setting(30, "How long a user is idle when a session is over.")
    watermark: str = setting("1 minute", "How late an event may come.")
    click_within: str = setting("1 hour", "How long after its impression a click counts.")


def queries(spark: SparkSession, settings: ClickstreamSettings) -> list[StreamingQuery]:
    """Start both queries."""
    # transformWithState keeps its state in RocksDB.
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKSDB)

    def events(topic: str, schema: StructType) -> DataFrame:
        records = read_stream(spark, settings, topic).transform(parse_events, schema)
        return records.transform(complete, *schema.fieldNames())

    views = events(settings.pages, PAGE_EVENT)
    sessions = user_sessions(views, settings.session_gap_minutes, settings.watermark)
    clicked = clicked_impressions(
        events(settings.impressions, IMPRESSION),
        events(settings.clicks, CLICK),
        settings.watermark,
        settings.click_within,
    )
    return [
        write_topic(to_json(sessions, "user_id"), settings, "sessions", settings.sessions),
        write_topic(to_json(clicked, "impression_id"), settings, "clicked", settings.clicked),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job."""
    return run_stream(ClickstreamSettings, __doc__, queries, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
