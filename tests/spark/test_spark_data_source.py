"""format("kafkalike") as a user has it: found by its name, batch and streaming, both ways."""

from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.topics import committed_values, create_topic, fill
from tests.support.broker import Broker


def source(spark: SparkSession, kafka: Broker, topic: str, **options: str) -> DataFrame:
    given = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "subscribe": topic, **options}
    return spark.read.format("kafkalike").options(**given).load()


def copy(
    spark: SparkSession, kafka: Broker, checkpoint: Path, topics: tuple[str, str]
) -> list[int]:
    """Copy what is there now from topic to topic; return the rows of each batch."""
    query = (
        spark.readStream.format("kafkalike")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("subscribe", topics[0])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "300")
        .load()
        .select("key", "value")
        .writeStream.format("kafkalike")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("topic", topics[1])
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [progress["numInputRows"] for progress in query.recentProgress]


def test_topic_is_a_table(spark: SparkSession, kafka: Broker) -> None:
    """M82: Spark reads topics; no `register` is needed."""
    create_topic(kafka, "table")
    fill(kafka, "table", [b"v%d" % number for number in range(10)])
    rows = source(spark, kafka, "table", minPartitions="4", includeHeaders="true")
    found = rows.orderBy("partition", "offset").collect()
    assert [row.value for row in found if row.partition == 0] == [b"v0", b"v2", b"v4", b"v6", b"v8"]
    assert [row.offset for row in found] == [0, 1, 2, 3, 4] * 2
    assert {row.topic for row in found} == {"table"}
    assert {row.timestampType for row in found} == {0}
    assert {row.headers for row in found} == {None}


def test_stream_copies_a_topic_exactly_once_and_goes_on_where_it_was(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    """M82: a streaming job consumes topics."""
    create_topic(kafka, "in")
    create_topic(kafka, "out")
    first = [b"first-%d" % number for number in range(1000)]
    fill(kafka, "in", first)
    sizes = copy(spark, kafka, tmp_path / "checkpoint", ("in", "out"))
    assert sum(sizes) == 1000
    assert max(sizes) <= 300

    second = [b"second-%d" % number for number in range(100)]
    fill(kafka, "in", second)
    assert sum(copy(spark, kafka, tmp_path / "checkpoint", ("in", "out"))) == 100
    assert Counter(committed_values(kafka, "out")) == Counter(first + second)


def test_table_is_written_to_a_topic(spark: SparkSession, kafka: Broker) -> None:
    create_topic(kafka, "written")
    rows = spark.range(500).select(
        F.col("id").cast("string").alias("key"),
        F.concat(F.lit("row-"), F.col("id").cast("string")).alias("value"),
    )
    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "topic": "written"}
    rows.write.format("kafkalike").options(**options).mode("append").save()
    expected = Counter(b"row-%d" % number for number in range(500))
    assert Counter(committed_values(kafka, "written")) == expected
