"""Settings, progress, generators, the store of minutes, the chart: what needs no JVM."""

import json
import re
import sqlite3
import tomllib
import zipfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafkalike.cli.main import main
from spark_pipeline.chart import chart, page
from spark_pipeline.cli.generate import GENERATORS
from spark_pipeline.cli.spark import JOBS
from spark_pipeline.generators.events import Plan
from spark_pipeline.jobs.trucks import TrucksSettings
from spark_pipeline.minute_store import upsert
from spark_pipeline.progress import lag, progress_line
from spark_pipeline.settings import SettingsError, StreamSettings, make_settings, setting
from spark_pipeline.shipping import write_package
from spark_pipeline.transforms.sessions import split_at_gaps
from tests.support.source_tree import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(StreamSettings):
    output: str = setting("out", "Where to.")


def test_arguments_win_over_the_file_and_tables_are_merged() -> None:
    file = {
        "checkpoint": "here",
        "output": "file",
        "fail-on-data-loss": False,
        "kafka": {"security.protocol": "SSL", "acks": {"x": 1}},
    }
    made = make_settings(Settings, file, {"output": "arg", "kafka": ["security.protocol=SASL_SSL"]})
    assert (made.checkpoint, made.output, made.fail_on_data_loss) == ("here", "arg", False)
    assert made.kafka == {"security.protocol": "SASL_SSL", "acks.x": "1"}


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"outptu": "x"}, "outptu is not a setting of this job: is output meant"),
        ({"checkpoint": "c", "trigger": "5"}, "trigger: '5' is not like '5 seconds'"),
        ({"checkpoint": "c", "max_offsets_per_trigger": "many"}, "'many' is not a int"),
        ({"checkpoint": "c", "connector": "other"}, "neither native nor stock"),
        ({"checkpoint": "c", "delivery": "twice"}, "neither exactly-once nor at-least-once"),
        ({}, "checkpoint is missing"),
    ],
)
def test_wrong_setting_is_named(file: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make_settings(Settings, file, {})


@pytest.mark.parametrize("job", JOBS)
def test_every_job_explains_itself(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = CliRunner().invoke(main, ["spark", "submit", job, "--help"])
    assert result.exit_code == 0, result.output
    assert "--bootstrap-servers" in result.output + capsys.readouterr().out


def test_jobs_are_listed_and_a_wrong_one_is_named() -> None:
    listed = CliRunner().invoke(main, ["spark", "submit", "--help"]).output
    assert all(job in listed for job in JOBS)
    refused = CliRunner().invoke(main, ["spark", "submit", "nothing"])
    assert refused.exit_code == 2
    assert "there is no job nothing" in refused.output


def test_progress_says_rows_lag_and_state() -> None:
    found = {
        "name": "trucks",
        "batchId": 3,
        "numInputRows": 100,
        "processedRowsPerSecond": 50.4,
        "sources": [
            {"endOffset": '{"t":{"0":10,"1":5}}', "latestOffset": '{"t":{"0":12,"1":5,"2":3}}'}
        ],
        "stateOperators": [
            {"numRowsTotal": 7, "memoryUsedBytes": 1 << 20, "numRowsDroppedByWatermark": 2}
        ],
    }
    line = "trucks: batch 3, 100 rows, 50 rows/s, lag 5, state 7 rows (1.0 MiB), 2 too late"
    assert progress_line(found) == line
    assert lag({"sources": [{"endOffset": None}]}) is None


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_gives_the_same_events_in_known_numbers(name: str) -> None:
    generate = GENERATORS[name][0]
    first, again = list(generate(Plan(count=1000))), list(generate(Plan(count=1000)))
    assert first == again
    assert first != list(generate(Plan(count=1000, seed=2)))
    kinds = Counter(event.kind for event in first)
    assert kinds["late"] == 20
    assert kinds["malformed"] == (35 if name == "orders" else 10)
    assert {event.topic for event in first} == set(GENERATORS[name][1])


def test_generated_times_go_on_by_steps_but_for_late_ones() -> None:
    plan = Plan(count=100, start=datetime(2026, 5, 1, tzinfo=UTC), step=timedelta(seconds=1))
    events = [e for e in GENERATORS["trucks"][0](plan) if e.kind == "good"]
    times = [datetime.fromisoformat(json.loads(event.value)["event_time"]) for event in events]
    assert times[0] == plan.start
    assert all(later > earlier for earlier, later in pairwise(times))


def test_batch_that_comes_again_changes_nothing(tmp_path: Path) -> None:
    database = tmp_path / "m.db"
    assert upsert(database, "q", 0, [("a", "m", 1, 0, 1.0, 1.0)])
    assert not upsert(database, "q", 0, [("a", "m", 9, 9, 9.0, 9.0)])
    assert upsert(database, "q", 1, [("a", "m", 2, 0, 1.5, 2.0)])
    assert upsert(database, "other", 0, [("b", "m", 1, 0, 1.0, 1.0)])
    rows = sqlite3.connect(database).execute("SELECT * FROM service_minutes ORDER BY 1").fetchall()
    assert rows == [("a", "m", 2, 0, 1.5, 2.0), ("b", "m", 1, 0, 1.0, 1.0)]


def test_page_has_a_line_per_series_and_escapes_names() -> None:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    found = chart({"<a>": [(time, 1.0), (time + timedelta(minutes=1), 3.0)]})
    assert found.count("<polyline") == 1
    assert "&lt;a&gt;" in found
    assert "nothing to show" in page("t", {"empty": {}})


def test_session_ends_at_a_gap_and_late_events_join_the_open_one() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    at = [start + timedelta(minutes=minute) for minute in (0, 5, 90)]
    ended, left = split_at_gaps(None, [(at[1], "b"), (at[0], "a"), (at[2], "c")], 30 * 60_000)
    assert ended == [(at[0], at[1], 2, "a", "b")]
    assert left == (at[2], at[2], 1, "c", "c")
    ended, left = split_at_gaps(left, [(at[2] - timedelta(minutes=1), "before")], 30 * 60_000)
    assert not ended
    assert left == (at[2] - timedelta(minutes=1), at[2], 2, "before", "c")


def test_shipped_package_has_all_that_executors_import(tmp_path: Path) -> None:
    names = zipfile.ZipFile(write_package(tmp_path / "k.zip")).namelist()
    assert "kafkalike/protocol/messages/fetch.py" in names
    assert "spark_pipeline/datasource/range_reader.py" in names


def test_settings_that_the_documentation_shows_are_right() -> None:
    text = (ROOT / "docs/spark.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    made = make_settings(TrucksSettings, tomllib.loads(example), {})
    assert made.trigger == "10 seconds"
    assert made.kafka == {"security.protocol": "SASL_SSL"}
    assert made.spark == {"spark.executor.memory": "2g"}
