"""Positions of trucks to speed and distance per truck and window."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

EARTH_RADIUS_KM = 6371.0


def windowed_trips(events: DataFrame, window: str, watermark: str) -> DataFrame:
    """Return a row per truck and window; positions that are later than the watermark are left out.

    The distance is that along the positions of the window in the order of their times.
    """
    point = F.struct("event_time", "latitude", "longitude")
    return (
        events.withWatermark("event_time", watermark)
        .groupBy("truck_id", F.window("event_time", window).alias("window"))
        .agg(
            F.count("*").alias("positions"),
            F.round(F.avg("speed_kmh"), 2).alias("average_speed_kmh"),
            F.max("speed_kmh").alias("top_speed_kmh"),
            F.array_sort(F.collect_list(point)).alias("points"),
        )
        .select(
            "truck_id",
            F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"),
            "positions",
            "average_speed_kmh",
            "top_speed_kmh",
            F.round(path_km(F.col("points")), 3).alias("distance_km"),
        )
    )


def path_km(points: Column) -> Column:
    """Return the length of the way from point to point."""
    steps = F.arrays_zip(
        F.slice(points, F.lit(1), F.size(points) - 1).alias("from"),
        F.slice(points, F.lit(2), F.size(points) - 1).alias("to"),
    )
    lengths = F.transform(steps, lambda step: _step_km(step["from"], step["to"]))
    whole = F.aggregate(lengths, F.lit(0.0), lambda total, length: total + length)
    return F.when(F.size(points) > 1, whole).otherwise(F.lit(0.0))


def _step_km(start: Column, end: Column) -> Column:
    """Return the distance on the globe (the haversine formula)."""
    lat1, lat2 = F.radians(start["latitude"]), F.radians(end["latitude"])
    d_lat = F.sin((lat2 - lat1) / 2)
    d_lon = F.sin(F.radians(end["longitude"] - start["longitude"]) / 2)
    root = F.sqrt(d_lat * d_lat + F.cos(lat1) * F.cos(lat2) * d_lon * d_lon)
    return F.lit(2 * EARTH_RADIUS_KM) * F.asin(F.least(F.lit(1.0), root))
