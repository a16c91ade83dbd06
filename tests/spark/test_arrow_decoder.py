"""Record batches to Arrow: the same records as the plain reader finds, whatever the batches."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import CorruptRecordError, InvalidRecordError
from kafkalike.protocol.messages.fetch import AbortedTransaction
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import ControlRecordType
from kafkalike.protocol.records.record_batch import RECORD_BATCH_OVERHEAD, iter_batches
from kafkalike.protocol.records.record_reader import iter_records
from spark_pipeline.datasource.arrow_decoder import ArrowDecoder
from spark_pipeline.datasource.visible_batches import visible_batches, whole_batches
from tests.spark.record_batches import Content, a_batch, a_marker, values

TP = TopicPartition("t", 3)
FAR = 1 << 62

keys_and_values = st.one_of(st.none(), st.binary(max_size=200))
headers = st.lists(
    st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=5))), max_size=2
)
contents = st.lists(
    st.tuples(st.integers(0, 1 << 41), keys_and_values, keys_and_values, headers),
    min_size=1,
    max_size=20,
)
batches = st.lists(
    st.tuples(
        contents,
        st.sampled_from(CompressionType),
        st.one_of(st.none(), st.integers(0, 1 << 41)),
    ),
    min_size=1,
    max_size=4,
)


def decoded(data: bytes, first: int = 0, end: int = FAR) -> list[dict[str, Any]]:
    view = memoryview(data)
    decoder = ArrowDecoder(TP, with_headers=True)
    made = list(decoder.decode(view, iter_batches(view), first, end))
    return [row for batch in made for row in batch.cast(_plain(batch.schema)).to_pylist()]


def _plain(schema: pa.Schema) -> pa.Schema:
    """Times as numbers: Python's have no years beyond 9999."""
    place = schema.get_field_index("timestamp")
    return schema.set(place, pa.field("timestamp", pa.int64()))


def expected(data: bytes, first: int = 0, end: int = FAR) -> list[dict[str, Any]]:
    return [
        {
            "key": record.key,
            "value": record.value,
            "topic": "t",
            "partition": 3,
            "offset": record.offset,
            "timestamp": record.timestamp * 1000,
            "timestampType": int(header.timestamp_type),
            "headers": [{"key": name, "value": value} for name, value in record.headers] or None,
        }
        for position, header in iter_batches(data)
        for record in iter_records(data, position, header)
        if first <= record.offset < end
    ]


def in_a_row(made: list[tuple[list[Content], CompressionType, int | None]]) -> bytes:
    data = b""
    offset = 5
    for found, codec, append_time_ms in made:
        data += a_batch(offset, found, codec=codec, append_time_ms=append_time_ms)
        offset += len(found) + 2  # a gap, as compaction leaves it
    return data


@given(batches, st.integers(0, 100), st.integers(0, 100))
def test_columns_hold_what_the_plain_reader_finds(
    made: list[tuple[list[Content], CompressionType, int | None]], first: int, end: int
) -> None:
    """M37: all codecs."""
    data = in_a_row(made)
    assert decoded(data) == expected(data)
    assert decoded(data, first, end) == expected(data, first, end)


@pytest.mark.parametrize("size", [0, 1, 60, 100, 8200, 70_000])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_lengths_of_any_width_are_read(size: int, count: int) -> None:
    if size * count > 1 << 22:
        count = 70
    data = a_batch(0, [(10 * number, None, bytes(size), ()) for number in range(count)])
    assert decoded(data) == expected(data)


def test_records_of_equal_and_of_changing_sizes_stand_side_by_side() -> None:
    lengths = [30] * 200 + list(range(150)) + [7] * 100 + [300] * 40 + [5, 6] * 20
    data = a_batch(0, [(0, b"k", bytes(length), ()) for length in lengths])
    assert decoded(data) == expected(data)


def test_many_small_batches_are_read_side_by_side() -> None:
    data, offset = b"", 0
    for number in range(400):
        count = number % 7 + 1
        data += a_batch(offset, [(0, b"k%d" % number, bytes(number * 3), ())] * count)
        offset += count
    data += a_batch(offset, [(0, None, b"x" * number, ()) for number in range(300)])
    assert decoded(data) == expected(data)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_old_formats_are_read_among_new_ones(magic: int, codec: CompressionType) -> None:
    plain: list[Content] = [(1000 + number, b"k", b"%d" % number, ()) for number in range(3)]
    data = (
        values(0, b"a")
        + a_batch(1, plain, magic=magic, codec=codec)
        + values(4, b"b", b"c")
        + values(6, b"d")
    )
    assert decoded(data) == expected(data)
    assert [row["offset"] for row in decoded(data, 2, 6)] == [2, 3, 4, 5]


def test_arrow_schema_is_what_spark_makes_of_its_own() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    from spark_pipeline.datasource.arrow_schema import PLAIN_SCHEMA, SCHEMA_WITH_HEADERS
    from spark_pipeline.datasource.data_source import KafkalikeDataSource

    for given_options, schema in (
        ({}, PLAIN_SCHEMA),
        ({"includeHeaders": "true"}, SCHEMA_WITH_HEADERS),
    ):
        made = to_arrow_schema(KafkalikeDataSource(given_options).schema(), timezone="UTC")
        assert made.equals(schema)


@given(st.data())
def test_damaged_records_are_an_error_and_never_more(data: st.DataObject) -> None:
    whole = bytearray(a_batch(0, [(5, b"key", b"value", [("h", b"x")])] * 5))
    place = data.draw(st.integers(RECORD_BATCH_OVERHEAD, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255))
    try:
        decoded(bytes(whole))
    except (InvalidRecordError, CorruptRecordError, IndexError):
        return  # IndexError: headers that reach beyond the data


def test_wrong_checksum_is_told() -> None:
    data = bytearray(values(0, b"a"))
    data[-3] ^= 1
    with pytest.raises(CorruptRecordError):
        whole_batches(memoryview(bytes(data)), check_crcs=True)
    assert len(whole_batches(memoryview(bytes(data)), check_crcs=False)) == 1


def test_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    data = values(0, b"a") + values(1, b"b")[:-1]
    assert [
        header.base_offset for _, header in whole_batches(memoryview(data), check_crcs=True)
    ] == [0]


def seen(data: bytes, aborted: list[AbortedTransaction] | None) -> list[int]:
    view = memoryview(data)
    found = visible_batches(view, iter_batches(view), aborted)
    return [header.base_offset for _, header in found]


def test_aborted_transactions_are_left_out_and_committed_ones_are_not() -> None:
    """M57: a reader of committed records sees no aborted ones."""
    data = (
        values(0, b"a", producer_id=1)
        + values(1, b"b", producer_id=2)
        + values(2, b"c")
        + a_marker(3, 1, ControlRecordType.ABORT)
        + values(4, b"d", producer_id=1)
        + a_marker(5, 2, ControlRecordType.COMMIT)
        + a_marker(6, 1, ControlRecordType.COMMIT)
    )
    aborted = [AbortedTransaction(producer_id=1, first_offset=0)]
    assert seen(data, aborted) == [1, 2, 4]
    assert seen(data, None) == [0, 1, 2, 4]
    assert seen(data, []) == [0, 1, 2, 4]


def test_transaction_that_began_before_the_fetch_is_left_out() -> None:
    data = values(50, b"a", producer_id=1) + a_marker(51, 1, ControlRecordType.ABORT)
    assert seen(data, [AbortedTransaction(producer_id=1, first_offset=3)]) == []
