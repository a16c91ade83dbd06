"""The jobs as a user runs them: events in, results out, checked against the generator."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkalike.client import KafkaConsumer, TopicPartition
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from spark_pipeline.cli.generate import GENERATORS, send
from spark_pipeline.generators.events import Event, Plan
from tests.spark.topics import committed_values, create_topic
from tests.support.broker import Broker
from tests.support.process import Process
from tests.support.source_tree import ROOT

pytestmark = [pytest.mark.ensemble, pytest.mark.long]

PARTITIONS = 3


def generated(kafka: Broker, what: str, prefix: str, count: int) -> list[Event]:
    """Write events to topics of this test; return them."""
    generator, names = GENERATORS[what]
    topic = prefix if len(names) > 1 else f"{prefix}{names[0]}"
    plan = Plan(count=count, topic=topic, step=timedelta(seconds=1))
    for name in names:
        create_topic(kafka, f"{prefix}{name}", PARTITIONS)
    send(generator, plan, {"bootstrap.servers": kafka.bootstrap_servers})
    return list(generator(plan))


def command(kafka: Broker, job: str, home: Path, *options: str) -> list[str]:
    given = [sys.executable, "-m", "kafkalike.cli.main", "spark", "submit", job]
    given += ["--bootstrap-servers", kafka.bootstrap_servers, *options]
    if job != "lag-report":
        given += ["--checkpoint", str(home / "checkpoint"), "--trigger", "available-now"]
    return [
        *given,
        "--spark",
        "spark.sql.shuffle.partitions=2",
        "--spark",
        "spark.driver.memory=1g",
    ]


def run(kafka: Broker, job: str, home: Path, *options: str) -> str:
    done = subprocess.run(
        command(kafka, job, home, *options),
        capture_output=True,
        text=True,
        timeout=400,
        cwd=home,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def results(kafka: Broker, topic: str) -> list[dict[str, Any]]:
    return [json.loads(value or b"null") for value in committed_values(kafka, topic, PARTITIONS)]


def truck_windows(events: list[Event]) -> dict[tuple[str, datetime], list[dict[str, Any]]]:
    """Return the positions of each window, late ones left out."""
    windows = defaultdict(list)
    for event in events:
        if event.kind == "good":
            position = json.loads(event.value)
            time = datetime.fromisoformat(position["event_time"])
            windows[position["truck_id"], time.replace(second=0, microsecond=0)].append(position)
    return windows


def kilometres(positions: list[dict[str, Any]]) -> float:
    total = 0.0
    ordered = sorted(positions, key=lambda position: position["event_time"])
    for one, two in pairwise(ordered):
        lat1, lat2 = math.radians(one["latitude"]), math.radians(two["latitude"])
        d_lon = math.radians(two["longitude"] - one["longitude"])
        root = math.sin((lat2 - lat1) / 2) ** 2
        root += math.cos(lat1) * math.cos(lat2) * math.sin(d_lon / 2) ** 2
        total += 2 * 6371.0 * math.asin(math.sqrt(root))
    return total


def test_trucks_have_speed_and_distance_per_window(kafka: Broker, tmp_path: Path) -> None:
    """M82: a streaming job, end to end: late and malformed positions change nothing."""
    create_topic(kafka, "windows", PARTITIONS)
    # What is late in the first two batches, which know no watermark, is older than all windows.
    events = generated(kafka, "trucks", "a-", 2500)
    options = ["--input", "a-trucks", "--output", "windows", "--max-offsets-per-trigger", "500"]
    screen = run(kafka, "trucks", tmp_path, *options)
    assert "trucks: batch 2, " in screen
    assert "lag 0" in screen
    found = results(kafka, "windows")
    by_window = {
        (row["truck_id"], datetime.fromisoformat(row["window_start"])): row for row in found
    }
    assert len(by_window) == len(found), "a window was written twice"
    expected = truck_windows(events)
    last = max(start for _, start in expected)
    over = {key for key in expected if key[1] < last - timedelta(minutes=2)}
    assert len(over) > 300
    for key in over:
        row = by_window[key]
        assert row["positions"] == len(expected[key])
        assert row["distance_km"] == pytest.approx(kilometres(expected[key]), abs=0.01)


def test_orders_are_sorted_out_each_once(kafka: Broker, tmp_path: Path) -> None:
    """M82: good ones on, the others with the reason to a dead-letter topic."""
    create_topic(kafka, "good", PARTITIONS)
    create_topic(kafka, "bad", PARTITIONS)
    events = generated(kafka, "orders", "b-", 1000)
    run(kafka, "quality", tmp_path, "--input", "b-orders", "--good", "good", "--bad", "bad")
    kinds = Counter(event.kind for event in events)
    good = Counter(committed_values(kafka, "good", PARTITIONS))
    assert good == Counter(event.value for event in events if event.kind in ("good", "late"))
    reasons = Counter(row["reason"] for row in results(kafka, "bad"))
    assert sum(reasons.values()) == kinds["malformed"]
    assert reasons["quantity is below 1"] == reasons["quantity has the wrong type"] == 5
    assert reasons["the value is no JSON object"] == 10


def test_sessions_and_clicks_are_found(kafka: Broker, tmp_path: Path) -> None:
    """M82: sessions by transformWithState, clicks by a join of streams."""
    create_topic(kafka, "sessions", PARTITIONS)
    create_topic(kafka, "clicked", PARTITIONS)
    events = generated(kafka, "clickstream", "c-", 1000)
    options = ["--pages", "c-pages", "--impressions", "c-impressions", "--clicks", "c-clicks"]
    run(kafka, "clickstream", tmp_path, *options)
    clicked = Counter(row["impression_id"] for row in results(kafka, "clicked"))
    wanted = [json.loads(e.value)["impression_id"] for e in events if e.topic == "c-clicks"]
    assert clicked == Counter(wanted)
    sessions = results(kafka, "sessions")
    views = [json.loads(e.value) for e in events if e.topic == "c-pages" and e.kind == "good"]
    # Users are away for an hour after each 200 events: the last sessions are still open.
    users = {view["user_id"] for view in views}
    assert {session["user_id"] for session in sessions} == users
    assert all(session["pages"] >= 1 for session in sessions)
    assert sum(session["pages"] for session in sessions) >= len(views) * 0.7


def test_minutes_of_services_are_in_the_database_once(kafka: Broker, tmp_path: Path) -> None:
    """M82: foreachBatch, idempotent by the id of the batch."""
    events = generated(kafka, "logs", "d-", 1000)
    database = tmp_path / "metrics.db"
    options = ["--input", "d-logs", "--database", str(database), "--watermark", "2 hours"]
    run(kafka, "metrics", tmp_path, *options, "--max-offsets-per-trigger", "300")
    requests = sqlite3.connect(database).execute(
        "SELECT service, SUM(requests) FROM service_minutes GROUP BY service"
    )
    expected = Counter(event.key.decode() for event in events if event.kind != "malformed")
    assert dict(requests.fetchall()) == expected


def test_archive_has_every_record_once_in_few_files(kafka: Broker, tmp_path: Path) -> None:
    """M82: topics to Parquet, compacted; a second run adds what is new."""
    import pyarrow.dataset

    archive = tmp_path / "archive"
    options = ["--topics", "e-trucks", "--path", str(archive), "--compact-from", "4"]
    events = generated(kafka, "trucks", "e-", 1000)
    run(kafka, "archive", tmp_path, *options, "--max-offsets-per-trigger", "100")
    table = pyarrow.dataset.dataset(archive, partitioning="hive").to_table()
    assert Counter(table.column("value").to_pylist()) == Counter(e.value for e in events)
    places = set(zip(*(table.column(c).to_pylist() for c in ("partition", "offset")), strict=True))
    assert len(places) == 1000
    assert len(list(archive.rglob("*.parquet"))) < 12
    plan = Plan(count=100, seed=2, topic="e-trucks")
    send(GENERATORS["trucks"][0], plan, {"bootstrap.servers": kafka.bootstrap_servers})
    run(kafka, "archive", tmp_path, *options)
    assert pyarrow.dataset.dataset(archive, partitioning="hive").count_rows() == 1100


def test_report_shows_the_lag_of_a_group(kafka: Broker, tmp_path: Path) -> None:
    """M82: a batch job over a topic and the committed offsets."""
    generated(kafka, "logs", "f-", 200)
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, group_id="readers", enable_auto_commit=False
    )
    tps = [TopicPartition("f-logs", number) for number in range(PARTITIONS)]
    ends = consumer.end_offsets(tps)
    consumer.assign(tps)
    consumer.commit({tp: OffsetAndMetadata(max(0, end - 10), "") for tp, end in ends.items()})
    consumer.close()
    said = run(kafka, "lag-report", tmp_path, "--topic", "f-logs", "--output", "lag.html")
    lag = sum(min(10, end) for end in ends.values())
    assert f"200 records; lag readers {lag}" in said
    assert "<polyline" in (tmp_path / "lag.html").read_text()


def test_job_stops_cleanly_on_sigterm(kafka: Broker, tmp_path: Path) -> None:
    create_topic(kafka, "stopped", PARTITIONS)
    generated(kafka, "trucks", "g-", 10)
    given = command(kafka, "trucks", tmp_path, "--input", "g-trucks", "--output", "stopped")
    given[given.index("available-now")] = "1 second"
    environ = {"PYTHONPATH": str(ROOT)}
    with Process("trucks", given, tmp_path / "screen.log", cwd=tmp_path, env=environ) as job:
        job.wait_for_log("trucks: batch 0", timeout_s=120)
        job.send_signal(signal.SIGTERM)
        assert job.wait(60) == 0
        assert "stopped" in job.log_text()


def test_what_is_wrong_is_said_in_a_sentence(kafka: Broker, tmp_path: Path) -> None:
    done = subprocess.run(
        command(kafka, "trucks", tmp_path, "--input", "nowhere"),
        capture_output=True,
        text=True,
        timeout=400,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert "option subscribe nowhere: nowhere does not exist at" in done.stdout
