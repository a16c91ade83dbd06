"""Spark's own Kafka connector on our brokers: batch, stream, both sinks, restart; and a job."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from spark_pipeline import stock_connector
from spark_pipeline.cli.generate import send
from spark_pipeline.generators import trucks
from spark_pipeline.generators.events import Plan
from spark_pipeline.session import prepare_environment
from tests.spark.test_jobs import results, run
from tests.spark.topics import committed_values, create_topic, fill
from tests.support.broker import Broker

HOME = stock_connector.cache_directory(os.environ)
pytestmark = [
    pytest.mark.ensemble,
    pytest.mark.slow,
    pytest.mark.skipif(
        not stock_connector.is_ready(HOME),
        reason=f"no stock connector in {HOME}: scripts/spark-connector fetch",
    ),
]

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

servers, home = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").getOrCreate()
options = {"kafka.bootstrap.servers": servers}

def stream():
    return (
        spark.readStream.format("kafka").options(**options)
        .option("subscribe", "stock-in").option("startingOffsets", "earliest").load()
    )

def run(writer, name):
    query = writer.option("checkpointLocation", f"{home}/{name}").trigger(availableNow=True).start()
    query.awaitTermination()

rows = spark.read.format("kafka").options(**options, subscribe="stock-in").load()
print("RESULT", json.dumps({"batch": rows.count(), "columns": rows.columns}))
run(stream().selectExpr("value", "partition", "offset").writeStream.format("parquet")
    .option("path", f"{home}/files"), "parquet")
run(stream().select("key", "value").writeStream.format("kafka").options(**options)
    .option("topic", "stock-out"), "kafka")
print("RESULT", json.dumps({"files": spark.read.parquet(f"{home}/files").count()}))
"""


def run_program(kafka: Broker, home: Path) -> list[dict[str, object]]:
    environ = stock_connector.environment(os.environ)
    prepare_environment(environ)
    python = str(stock_connector.python(HOME))
    jars = ",".join(map(str, stock_connector.jars(HOME)))
    environ |= {
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "PYSPARK_SUBMIT_ARGS": f"--jars {jars} --conf spark.ui.enabled=false pyspark-shell",
    }
    done = subprocess.run(
        [python, "-c", PROGRAM, kafka.bootstrap_servers, str(home)],
        capture_output=True,
        text=True,
        timeout=400,
        env=environ,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return [json.loads(line.removeprefix("RESULT ")) for line in lines]


def test_stock_connector_reads_writes_and_goes_on_where_it_was(
    kafka: Broker, tmp_path: Path
) -> None:
    """M82: the connector that Spark users have works on the same topics."""
    create_topic(kafka, "stock-in")
    create_topic(kafka, "stock-out")
    first = [b"first-%d" % number for number in range(1000)]
    fill(kafka, "stock-in", first)
    batch, files = run_program(kafka, tmp_path)
    assert batch["batch"] == files["files"] == 1000
    assert batch["columns"] == [
        "key", "value", "topic", "partition", "offset", "timestamp", "timestampType",
    ]  # fmt: skip
    second = [b"second-%d" % number for number in range(100)]
    fill(kafka, "stock-in", second)
    batch, files = run_program(kafka, tmp_path)
    assert batch["batch"] == files["files"] == 1100
    assert Counter(committed_values(kafka, "stock-out")) == Counter(first + second)


def test_job_runs_with_the_stock_connector(kafka: Broker, tmp_path: Path) -> None:
    create_topic(kafka, "s-trucks", 3)
    create_topic(kafka, "s-windows", 3)
    plan = Plan(count=3000, topic="s-trucks")
    send(trucks.generate, plan, {"bootstrap.servers": kafka.bootstrap_servers})
    options = ["--connector", "stock", "--input", "s-trucks", "--output", "s-windows"]
    assert "done" in run(kafka, "trucks", tmp_path, *options)
    assert {row["truck_id"] for row in results(kafka, "s-windows")} == {
        f"truck-{number}" for number in range(10)
    }
