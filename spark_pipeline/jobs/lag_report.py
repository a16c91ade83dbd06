"""Lag report: throughput of a topic and lag of its consumer groups over time, as a page."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_pipeline.chart import page
from spark_pipeline.io import read_batch
from spark_pipeline.running import run_batch
from spark_pipeline.settings import JobSettings, setting
from spark_pipeline.transforms.lag import commits, lag_over_time, throughput

_OFFSETS = "__consumer_offsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class LagReportSettings(JobSettings):
    """Settings of this job."""

    topic: str = setting("trucks", "Topic to report on.")
    output: str = setting("lag.html", "The page to write.")
    step: str = setting("1 minute", "Distance of two points.")


def report(spark: SparkSession, settings: LagReportSettings) -> str:
    """Write the page; returns what was found, as a sentence."""
    ends = throughput(read_batch(spark, settings, settings.topic), settings.step).cache()
    committed = commits(read_batch(spark, settings, _OFFSETS))
    committed = committed.where(F.col("topic") == settings.topic)
    lags = defaultdict(list)
    for row in lag_over_time(ends, committed, settings.step).collect():
        lags[row["group"]].append((row["time"], row["lag"]))
    rates = defaultdict(list)
    for row in ends.orderBy("time").collect():
        rates[f"{row['topic']}-{row['partition']}"].append((row["time"], row["records"]))
    charts = {f"Records per {settings.step}": rates, "Lag of consumer groups": lags}
    path = Path(settings.output)
    path.write_text(page(f"Topic {settings.topic}", charts), encoding="utf-8")
    last = ", ".join(f"{group} {found[-1][1]}" for group, found in sorted(lags.items()))
    return f"{path}: {sum(n for f in rates.values() for _, n in f)} records; lag {last or 'none'}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job."""
    return run_batch(LagReportSettings, __doc__, report, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
