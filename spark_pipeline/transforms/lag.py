"""How far consumer groups are behind, out of the topic and of `__consumer_offsets`."""

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalike.protocol.coordinator_records import decode_group_key, decode_offset_commit_value
from kafkalike.protocol.messages.coordinator_records import OffsetCommitKey

COMMIT_COLUMNS = "group string, topic string, partition int, committed long, committed_ms long"


def commits(offsets_records: DataFrame) -> DataFrame:
    """Return the commits in records of `__consumer_offsets`."""
    pairs = offsets_records.where(F.col("value").isNotNull()).select("key", "value")
    found: DataFrame = pairs.mapInArrow(_decode_batches, COMMIT_COLUMNS)
    return found.withColumn("time", F.timestamp_millis("committed_ms")).drop("committed_ms")


def _decode_batches(batches: Iterable[Any]) -> Iterator[Any]:
    # In tasks only: whoever plans needs no Arrow.
    import pyarrow as pa

    for batch in batches:
        keys, values = batch.column("key").to_pylist(), batch.column("value").to_pylist()
        rows = [row for pair in zip(keys, values, strict=True) if (row := decode_commit(*pair))]
        columns = list(zip(*rows, strict=True)) or [()] * 5
        kinds = [pa.string(), pa.string(), pa.int32(), pa.int64(), pa.int64()]
        names = ["group", "topic", "partition", "committed", "committed_ms"]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def decode_commit(key: bytes, value: bytes) -> tuple[str, str, int, int, int] | None:
    """Return group, topic, partition, offset and time of a commit; None if it is none."""
    found = decode_group_key(key)
    if not isinstance(found, OffsetCommitKey):
        return None
    commit = decode_offset_commit_value(value)
    return found.group, found.topic, found.partition, commit.offset, commit.commit_timestamp


def throughput(records: DataFrame, step: str) -> DataFrame:
    """Return how many records came per step of time, and where each partition then ended."""
    return (
        records.groupBy("topic", "partition", F.window("timestamp", step).start.alias("time"))
        .agg(F.count("*").alias("records"), (F.max("offset") + 1).alias("log_end"))
        .select("topic", "partition", "time", "records", "log_end")
    )


def lag_over_time(ends: DataFrame, committed: DataFrame, step: str) -> DataFrame:
    """Return the lag of each group, summed over partitions, at each step of time.

    Between two commits, and between two records, the last one counts.
    """
    place = ["topic", "partition"]
    at = committed.groupBy("group", *place, F.window("time", step).start.alias("time")).agg(
        F.max("committed").alias("committed")
    )
    groups = at.select("group", *place).distinct()
    steps = ends.select("time").union(at.select("time")).distinct()
    grid = groups.crossJoin(steps)
    joined = grid.join(ends.select(*place, "time", "log_end"), on=[*place, "time"], how="left")
    joined = joined.join(at, on=["group", *place, "time"], how="left")
    upto = (
        Window.partitionBy("group", *place)
        .orderBy("time")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    known = joined.select(
        "group",
        "time",
        F.coalesce(F.max("log_end").over(upto), F.lit(0)).alias("log_end"),
        F.coalesce(F.max("committed").over(upto), F.lit(0)).alias("committed"),
    )
    behind = F.greatest(F.col("log_end") - F.col("committed"), F.lit(0))
    return known.groupBy("group", "time").agg(F.sum(behind).alias("lag")).orderBy("group", "time")
