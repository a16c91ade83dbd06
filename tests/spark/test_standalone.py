"""A Spark cluster from the wheel, by the commands that a user has."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from spark_pipeline.standalone import StandaloneCluster
from tests.spark.test_jobs import generated, run
from tests.spark.topics import committed_values, create_topic
from tests.support.broker import Broker

pytestmark = [pytest.mark.ensemble, pytest.mark.long]


def spark_cluster(*arguments: str) -> str:
    command = [sys.executable, "-m", "kafkalike.cli.main", "spark", "cluster", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_job_runs_on_a_cluster_of_two_workers(kafka: Broker, tmp_path: Path) -> None:
    """M82: a standalone cluster goes up, takes a job with all that it needs, and goes down."""
    folder = ["--dir", str(tmp_path / "spark")]
    screen = spark_cluster("up", "--workers", "2", *folder)
    try:
        started = StandaloneCluster.open(tmp_path / "spark")
        assert f"2 workers at {started.url}" in screen
        assert "2 workers alive" in spark_cluster("status", *folder)
        events = generated(kafka, "orders", "w-", 200)
        create_topic(kafka, "w-good", 3)
        create_topic(kafka, "w-bad", 3)
        topics = ["--input", "w-orders", "--good", "w-good", "--bad", "w-bad"]
        run(kafka, "quality", tmp_path, "--master", started.url, *topics)
        good = Counter(event.value for event in events if event.kind in ("good", "late"))
        assert Counter(committed_values(kafka, "w-good", 3)) == good
    finally:
        stopped = spark_cluster("down", *folder)
    assert stopped == "stopped: master, worker-0, worker-1\n"
    assert not any(started.is_running(name) for name in ("master", "worker-0", "worker-1"))
