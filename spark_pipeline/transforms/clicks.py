"""Impressions of advertisements joined with the clicks on them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def clicked_impressions(
    impressions: DataFrame, clicks: DataFrame, watermark: str, within: str
) -> DataFrame:
    """Return an impression for each click that came within a time after it."""
    shown = impressions.select(
        "impression_id", "ad_id", "user_id", F.col("event_time").alias("shown_at")
    ).withWatermark("shown_at", watermark)
    clicked = clicks.select(
        F.col("impression_id").alias("clicked_id"), F.col("event_time").alias("clicked_at")
    ).withWatermark("clicked_at", watermark)
    in_time = F.expr(f"clicked_at BETWEEN shown_at AND shown_at + INTERVAL {within}")
    is_same = F.col("impression_id") == F.col("clicked_id")
    joined = shown.join(clicked, on=is_same & in_time, how="inner")
    return joined.select("impression_id", "ad_id", "user_id", "shown_at", "clicked_at")
