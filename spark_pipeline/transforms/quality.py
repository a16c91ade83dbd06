"""Orders that can be used, and the others with the reason why not."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_pipeline.schemas import ORDER

_CURRENCIES = ("EUR", "GBP", "USD")


def judged(records: DataFrame) -> DataFrame:
    """Return all records with the parsed `order` and a `reason`, null for good ones."""
    text = F.col("value").cast("string")
    parsed = records.withColumn("order", F.from_json(text, ORDER))
    return parsed.withColumn("reason", _reason(text, F.col("order")))


def _reason(text: Column, order: Column) -> Column:
    # Spark reads an object of the wrong types as one of nulls: then the text tells them apart.
    is_object = F.get_json_object(text, "$").startswith("{")
    reason = F.when(text.isNull(), F.lit("the value is null"))
    reason = reason.when(is_object.isNull() | ~is_object, F.lit("the value is no JSON object"))
    for name in ORDER.fieldNames():
        given = F.get_json_object(text, f"$.{name}").isNotNull()
        field = order[name]
        reason = reason.when(field.isNull() & ~given, F.lit(f"{name} is missing"))
        reason = reason.when(field.isNull(), F.lit(f"{name} has the wrong type"))
    reason = reason.when(order["quantity"] < 1, F.lit("quantity is below 1"))
    reason = reason.when(order["price"] < 0, F.lit("price is below 0"))
    known = order["currency"].isin(*_CURRENCIES)
    return reason.when(~known, F.lit("currency is not known"))


def without_repetitions(judgements: DataFrame, watermark: str) -> DataFrame:
    """Return each good order once, by its id, within the watermark; bad records all stay."""
    place = F.concat_ws("/", "topic", "partition", "offset")
    identity = F.when(F.col("reason").isNull(), F.col("order.order_id")).otherwise(place)
    return (
        judgements.withColumn("identity", F.concat(F.isnull("reason").cast("string"), identity))
        .withWatermark("timestamp", watermark)
        .dropDuplicatesWithinWatermark(["identity"])
    )


def sorted_out(judgements: DataFrame, good_topic: str, bad_topic: str) -> DataFrame:
    """Return records to write: good ones as they came, bad ones with reason and origin."""
    is_good = F.col("reason").isNull()
    report = F.to_json(
        F.struct(
            "reason",
            F.col("topic"),
            F.col("partition"),
            F.col("offset"),
            F.col("value").cast("string").alias("value"),
        )
    )
    return judgements.select(
        F.when(is_good, F.lit(good_topic)).otherwise(F.lit(bad_topic)).alias("topic"),
        F.when(is_good, F.col("order.order_id"))
        .otherwise(F.col("key").cast("string"))
        .alias("key"),
        F.when(is_good, F.col("value").cast("string")).otherwise(report).alias("value"),
    )
