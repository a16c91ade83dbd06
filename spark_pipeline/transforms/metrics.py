"""Log lines of services, rolled up per minute."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def per_minute(lines: DataFrame, watermark: str) -> DataFrame:
    """Return requests, errors and latencies per service and minute."""
    is_error = F.col("level") == "ERROR"
    return (
        lines.withWatermark("event_time", watermark)
        .groupBy("service", F.window("event_time", "1 minute").alias("window"))
        .agg(
            F.count("*").alias("requests"),
            F.count_if(is_error).alias("errors"),
            F.round(F.avg("latency_ms"), 2).alias("average_latency_ms"),
            F.max("latency_ms").alias("top_latency_ms"),
        )
        .select(
            "service",
            F.col("window.start").alias("minute"),
            "requests",
            "errors",
            "average_latency_ms",
            "top_latency_ms",
        )
    )
