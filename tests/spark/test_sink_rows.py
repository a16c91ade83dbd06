"""What may be written, and with which options."""

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from spark_pipeline.datasource.batch_marker import BatchMarker, parse_marker
from spark_pipeline.datasource.errors import DataSourceError, OptionError
from spark_pipeline.datasource.sink import batch_writer, stream_writer
from spark_pipeline.datasource.sink_options import parse_sink_options
from spark_pipeline.datasource.sink_rows import SinkRow, check_schema, iter_rows

LEAST = {"kafka.bootstrap.servers": "host:9092", "topic": "t"}
HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
VALUE = StructType([StructField("value", StringType())])


def schema(**columns: object) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])  # type: ignore[arg-type]


def test_all_columns_of_a_record_may_be_given() -> None:
    check_schema(
        schema(
            key=StringType(),
            value=BinaryType(),
            topic=StringType(),
            partition=IntegerType(),
            headers=HEADERS,
        ),
        None,
    )
    check_schema(VALUE, "t")


@pytest.mark.parametrize(
    ("columns", "topic", "said"),
    [
        ({"key": StringType()}, "t", "column value is missing: the columns are key"),
        ({"value": LongType()}, "t", "column value must be string or binary, not bigint"),
        ({"value": StringType(), "key": LongType()}, "t", "column key"),
        ({"value": StringType(), "partition": LongType()}, "t", "column partition must be integer"),
        ({"value": StringType(), "headers": StringType()}, "t", "column headers"),
        ({"value": StringType()}, None, "option topic is missing"),
    ],
)
def test_columns_that_cannot_be_written_are_named(
    columns: dict[str, object], topic: str | None, said: str
) -> None:
    with pytest.raises(DataSourceError, match=said):
        check_schema(schema(**columns), topic)


def test_rows_become_records() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "key": ["ä", None],
            "value": [b"1", None],
            "topic": ["a", "b"],
            "partition": pa.array([3, None], pa.int32()),
            "headers": [[{"key": "h", "value": b"x"}], []],
        }
    )
    assert list(iter_rows(batch, None)) == [
        SinkRow("a", "ä".encode(), b"1", [("h", b"x")], 3),
        SinkRow("b", None, None, None, None),
    ]
    assert [row.topic for row in iter_rows(batch, "t")] == ["t", "t"]


def test_row_without_a_topic_is_an_error() -> None:
    batch = pa.RecordBatch.from_pydict({"value": ["1"], "topic": pa.array([None], pa.string())})
    with pytest.raises(DataSourceError, match="null in column topic"):
        list(iter_rows(batch, None))


def test_writes_are_exactly_once_and_wait_for_all_replicas_unless_told() -> None:
    options = parse_sink_options(LEAST)
    assert options.is_exactly_once
    settings = options.producer_settings("id")
    assert (settings["acks"], settings["enable.idempotence"]) == ("all", "true")
    assert settings["transactional.id"] == "id"
    relaxed = parse_sink_options({**LEAST, "delivery": "at-least-once", "kafka.acks": "1"})
    assert not relaxed.is_exactly_once
    assert relaxed.producer_settings(None)["enable.idempotence"] == "false"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"delivery": "sometimes"}, "option delivery: 'sometimes'"),
        ({"kafka.value.serializer": "x"}, "kafka.value.serializer"),
        ({"kafka.transactional.id": "x"}, "transactionalIdPrefix"),
        ({"batchId": "3"}, "batchId needs transactionalIdPrefix"),
        ({"batchId": "-3", "transactionalIdPrefix": "p"}, "option batchId"),
        ({"kafka.compression.type": "best"}, "compression_type"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers"),
        ({"kafka.acks": "1"}, "acks"),
    ],
)
def test_a_wrong_option_is_an_error_that_names_it(more: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        parse_sink_options({**LEAST, **more})


def test_topic_cannot_be_overwritten() -> None:
    with pytest.raises(OptionError, match="mode overwrite"):
        batch_writer(LEAST, VALUE, overwrite=True)


def test_stream_numbers_its_batches_itself() -> None:
    with pytest.raises(OptionError, match="batchId"):
        stream_writer({**LEAST, "batchId": "1", "transactionalIdPrefix": "p"}, VALUE)


def test_marker_is_read_as_it_is_written() -> None:
    marker = BatchMarker(7, 1200)
    assert parse_marker(marker.offset, marker.metadata) == marker
    assert parse_marker(8, "written by hand") == BatchMarker(7)


def test_repeated_batch_with_other_rows_is_an_error() -> None:
    BatchMarker(7, 1200).check_repeats(7, 1200, "id")
    BatchMarker(7).check_repeats(7, 3, "id")
    BatchMarker(8, 1).check_repeats(7, 3, "id")
    with pytest.raises(DataSourceError, match="batch 7 was written before by id with 1200 rows"):
        BatchMarker(7, 1200).check_repeats(7, 1201, "id")
