"""The transforms of the jobs, on small tables."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from kafkalike.protocol.coordinator_records import (
    encode_group_metadata_key,
    encode_offset_commit_key,
    encode_offset_commit_value,
)
from kafkalike.protocol.messages.coordinator_records import OffsetCommitValue
from spark_pipeline.schemas import (
    CLICK,
    CLICKED,
    IMPRESSION,
    LOG_LINE,
    SERVICE_MINUTE,
    TRUCK_EVENT,
    TRUCK_WINDOW,
)
from spark_pipeline.transforms.archive import archived
from spark_pipeline.transforms.clicks import clicked_impressions
from spark_pipeline.transforms.events import complete, parse_events
from spark_pipeline.transforms.lag import commits, lag_over_time, throughput
from spark_pipeline.transforms.metrics import per_minute
from spark_pipeline.transforms.quality import judged, sorted_out
from spark_pipeline.transforms.trucks import windowed_trips

pytestmark = pytest.mark.long

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
RECORD = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def records(spark: SparkSession, *values: bytes | None) -> DataFrame:
    rows = [(b"k", value, "in", 0, number, at(number)) for number, value in enumerate(values)]
    return spark.createDataFrame(rows, RECORD)


def test_what_is_no_event_is_left_out(spark: SparkSession) -> None:
    good = b'{"impression_id":"a","event_time":"2026-01-01T12:00:00.000Z"}'
    found = records(spark, good, b"{broken", b'{"impression_id":"b"}', None)
    events = complete(parse_events(found, CLICK), "impression_id", "event_time")
    assertDataFrameEqual(events, spark.createDataFrame([("a", at(0))], CLICK))


def test_distance_follows_the_times_of_positions_and_not_their_arrival(spark: SparkSession) -> None:
    rows = [
        ("a", at(40), 52.0, 13.2, 60.0),
        ("a", at(0), 52.0, 13.0, 40.0),
        ("a", at(20), 52.0, 13.1, 50.0),
        ("a", at(70), 52.0, 13.3, 30.0),
        ("b", at(0), 50.0, 10.0, 20.0),
    ]
    windows = windowed_trips(spark.createDataFrame(rows, TRUCK_EVENT), "1 minute", "30 seconds")
    expected: list[tuple[Any, ...]] = [
        ("a", at(0), at(60), 3, 50.0, 60.0, 13.691),
        ("a", at(60), at(120), 1, 30.0, 30.0, 0.0),
        ("b", at(0), at(60), 1, 20.0, 20.0, 0.0),
    ]
    assertDataFrameEqual(windows, spark.createDataFrame(expected, TRUCK_WINDOW), rtol=1e-3)


def order(**changes: object) -> bytes:
    import json

    fields = {
        "order_id": "o",
        "customer_id": "c",
        "quantity": 1,
        "price": 2.5,
        "currency": "EUR",
        "ordered_at": "2026-01-01T12:00:00Z",
    } | changes
    return json.dumps({k: v for k, v in fields.items() if v != "absent"}).encode()


def test_every_fault_of_an_order_has_its_reason(spark: SparkSession) -> None:
    cases = [
        (order(), None),
        (b"{no", "the value is no JSON object"),
        (b"[1]", "the value is no JSON object"),
        (b"", "the value is no JSON object"),
        (None, "the value is null"),
        (order(customer_id="absent"), "customer_id is missing"),
        (order(quantity="many"), "quantity has the wrong type"),
        (order(quantity=0), "quantity is below 1"),
        (order(price=-1), "price is below 0"),
        (order(currency="XXX"), "currency is not known"),
    ]
    found = judged(records(spark, *(value for value, _ in cases))).orderBy("offset").collect()
    assert [row["reason"] for row in found] == [reason for _, reason in cases]


def test_good_order_goes_on_as_it_was_and_each_bad_record_is_reported(spark: SparkSession) -> None:
    sorted_ = sorted_out(judged(records(spark, order(), b"bad", b"bad")), "good", "bad")
    rows = sorted(sorted_.collect(), key=lambda row: (row["topic"], row["value"]))
    assert [row["topic"] for row in rows] == ["bad", "bad", "good"]
    assert rows[2]["value"].encode() == order()
    assert '"reason":"the value is no JSON object","topic":"in","partition":0,' in rows[0]["value"]


def test_lines_are_counted_per_service_and_minute(spark: SparkSession) -> None:
    lines = [("a", "INFO", 1.0, at(0)), ("a", "ERROR", 4.0, at(59)), ("a", "INFO", 2.0, at(60))]
    minutes = per_minute(spark.createDataFrame(lines, LOG_LINE), "10 minutes")
    expected = [("a", at(0), 2, 1, 2.5, 4.0), ("a", at(60), 1, 0, 2.0, 2.0)]
    assertDataFrameEqual(minutes, spark.createDataFrame(expected, SERVICE_MINUTE))


def test_click_counts_within_its_time_only(spark: SparkSession) -> None:
    shown = [("i1", "ad", "u", at(0)), ("i2", "ad", "u", at(0)), ("i3", "ad", "u", at(0))]
    clicks = [("i1", at(10)), ("i2", at(7200)), ("nobody", at(1))]
    found = clicked_impressions(
        spark.createDataFrame(shown, IMPRESSION),
        spark.createDataFrame(clicks, CLICK),
        "1 minute",
        "1 hour",
    )
    expected = [("i1", "ad", "u", at(0), at(10))]
    assertDataFrameEqual(found, spark.createDataFrame(expected, CLICKED))


def test_archive_has_a_day_of_each_record(spark: SparkSession) -> None:
    (row,) = archived(records(spark, b"v")).collect()
    assert (row["topic"], row["day"], row["value"]) == ("in", date(2026, 1, 1), b"v")


def test_lag_is_what_is_written_and_not_committed(spark: SparkSession) -> None:
    written = [(b"k", b"v", "t", 0, n, at(n * 30)) for n in range(6)]
    ends = throughput(spark.createDataFrame(written, RECORD), "1 minute")
    value = OffsetCommitValue(
        offset=3, metadata="", commit_timestamp=int(at(65).timestamp()) * 1000
    )
    key = encode_offset_commit_key("g", "t", 0)
    group = encode_group_metadata_key("g")
    made = [
        (key, encode_offset_commit_value(value), "o", 0, 0, at(65)),
        (group, b"x", "o", 0, 1, at(65)),
        (key, None, "o", 0, 2, at(65)),
    ]
    committed = commits(spark.createDataFrame(made, RECORD))
    found = lag_over_time(ends, committed, "1 minute").collect()
    assert [(row["group"], row["time"].minute, row["lag"]) for row in found] == [
        ("g", 0, 2),
        ("g", 1, 1),
        ("g", 2, 3),
    ]
