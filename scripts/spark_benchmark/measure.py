"""Runs in the environment of one connector: reads a topic, prints seconds of wall and CPU as JSON.

Needs nothing but pyspark. CPU is that of this process, the JVM and all Python workers.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s() -> float:
    """Return the CPU that all processes of this session have used."""
    session = os.getsid(0)
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS_PER_S


def batch(spark: SparkSession, source: str, options: dict[str, str]) -> None:
    """Read the whole topic, all columns, to nowhere."""
    rows = spark.read.format(source).options(**options).load()
    rows.write.format("noop").mode("overwrite").save()


def stream(spark: SparkSession, source: str, options: dict[str, str]) -> None:
    """Read the whole topic in five batches, to nowhere."""
    rows: DataFrame = (
        spark.readStream.format(source)
        .options(**options, startingOffsets="earliest", maxOffsetsPerTrigger="200000")
        .load()
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            rows.writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


def main() -> None:
    """Measure; the arguments are the format, the servers and the topics."""
    source, servers, *topics = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for topic in topics:
        options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
        for kind, run in (("batch", batch), ("stream", stream)):
            for attempt in ("first", "second", "third"):
                wall, cpu = time.perf_counter(), cpu_s()
                run(spark, source, options)
                found = {
                    "what": f"{kind} {topic}",
                    "attempt": attempt,
                    "wall_s": round(time.perf_counter() - wall, 2),
                    "cpu_s": round(cpu_s() - cpu, 2),
                }
                sys.stdout.write(f"RESULT {json.dumps(found)}\n")
                sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main()
