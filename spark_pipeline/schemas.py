"""The columns of every input and output, as the jobs expect and promise them."""

from typing import Final

from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)


def _struct(**types: object) -> StructType:
    return StructType([StructField(name, kind) for name, kind in types.items()])  # type: ignore[arg-type]


TRUCK_EVENT: Final = _struct(
    truck_id=StringType(),
    event_time=TimestampType(),
    latitude=DoubleType(),
    longitude=DoubleType(),
    speed_kmh=DoubleType(),
)
TRUCK_WINDOW: Final = _struct(
    truck_id=StringType(),
    window_start=TimestampType(),
    window_end=TimestampType(),
    positions=LongType(),
    average_speed_kmh=DoubleType(),
    top_speed_kmh=DoubleType(),
    distance_km=DoubleType(),
)
PAGE_EVENT: Final = _struct(
    event_id=StringType(),
    user_id=StringType(),
    page=StringType(),
    event_time=TimestampType(),
)
SESSION: Final = _struct(
    user_id=StringType(),
    session_start=TimestampType(),
    session_end=TimestampType(),
    pages=LongType(),
    first_page=StringType(),
    last_page=StringType(),
)
IMPRESSION: Final = _struct(
    impression_id=StringType(), ad_id=StringType(), user_id=StringType(), event_time=TimestampType()
)
CLICK: Final = _struct(impression_id=StringType(), event_time=TimestampType())
CLICKED: Final = _struct(
    impression_id=StringType(),
    ad_id=StringType(),
    user_id=StringType(),
    shown_at=TimestampType(),
    clicked_at=TimestampType(),
)
ORDER: Final = _struct(
    order_id=StringType(),
    customer_id=StringType(),
    quantity=IntegerType(),
    price=DoubleType(),
    currency=StringType(),
    ordered_at=TimestampType(),
)
LOG_LINE: Final = _struct(
    service=StringType(),
    level=StringType(),
    latency_ms=DoubleType(),
    event_time=TimestampType(),
)
SERVICE_MINUTE: Final = _struct(
    service=StringType(),
    minute=TimestampType(),
    requests=LongType(),
    errors=LongType(),
    average_latency_ms=DoubleType(),
    top_latency_ms=DoubleType(),
)
