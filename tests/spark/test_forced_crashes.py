"""Tasks that die like kill -9 just before and just after they commit: 20,000 rows are wanted."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_pipeline.datasource.data_source import KafkalikeDataSource
from spark_pipeline.datasource.sink import StreamWriter, stream_writer
from tests.spark.topics import committed_values, create_topic, fill
from tests.support.broker import Broker

pytestmark = [pytest.mark.ensemble, pytest.mark.long]

ROWS = 20_000


def crashing_source(flags: Path) -> type[KafkalikeDataSource]:
    """Return a data source whose tasks die at a point while there is a file of its name."""

    # Local classes: what is not importable by name is sent to the tasks whole.
    class CrashingWriter(StreamWriter):
        def _at(self, point: str) -> None:
            try:
                os.unlink(flags / point.replace(" ", "-"))  # noqa: PTH108
            except FileNotFoundError:
                return
            os._exit(9)

    class CrashingSource(KafkalikeDataSource):
        @classmethod
        def name(cls) -> str:
            return "crashing"

        def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:
            return CrashingWriter(stream_writer(self.options, schema)._options)

    return CrashingSource


@pytest.fixture(scope="module")
def given(kafka: Broker) -> Counter[bytes | None]:
    values = [b"%d" % number for number in range(ROWS)]
    create_topic(kafka, "wanted")
    fill(kafka, "wanted", values)
    return Counter(values)


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_rows_are_there_once_though_tasks_die(
    spark: SparkSession, kafka: Broker, given: Counter[bytes], tmp_path: Path, delivery: str
) -> None:
    """M57, M82: exactly once means once; at least once shows what else would happen."""
    flags = tmp_path / "flags"
    flags.mkdir()
    for point in ("before-commit", "after-commit"):
        (flags / point).touch()
    spark.dataSource.register(crashing_source(flags))
    create_topic(kafka, delivery)
    query = (
        spark.readStream.format("kafkalike")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("subscribe", "wanted")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", ROWS // 4)
        .load()
        .select("key", "value")
        .writeStream.format("crashing")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("topic", delivery)
        .option("delivery", delivery)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    left = {flag.name for flag in flags.iterdir()}
    found = Counter(committed_values(kafka, delivery))
    assert set(found) == set(given)
    if delivery == "exactly-once":
        assert not left, "no task died there"
        assert found == given
    else:
        assert left == {"before-commit"}
        assert sum(found.values()) > ROWS
