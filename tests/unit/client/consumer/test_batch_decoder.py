"""The fast decoder reads what the plain reader reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.client.consumer.batch_decoder import decode_batch
from kafkalike.protocol.errors import InvalidRecordError, KafkaError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import TimestampType
from kafkalike.protocol.records.record_batch import iter_batches, parse_batch_header
from kafkalike.protocol.records.record_reader import iter_records
from tests.support.golden import expected_partitions, segment_files

NOW = 1_600_000_000_000
datas = st.one_of(st.none(), st.binary(max_size=300), st.just(b"x" * 40_000))
records = st.tuples(
    st.integers(NOW - 10**7, NOW + 10**7),
    datas,
    datas,
    st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=5)))),
)


@given(st.lists(records, min_size=1, max_size=20), st.sampled_from(CompressionType))
def test_records_come_out_as_they_went_in(given_records: list, codec: CompressionType) -> None:
    builder = BatchBuilder(compression=codec, base_offset=1000, leader_epoch=4)
    for record in given_records:
        builder.append(*record)
    data = memoryview(builder.build())
    found = decode_batch(data, 0, parse_batch_header(data), "t", 3, 0)
    assert [(r.timestamp, r.key, r.value, list(r.headers)) for r in found] == given_records
    assert [r.offset for r in found] == list(range(1000, 1000 + len(found)))
    assert {(r.topic, r.partition, r.leader_epoch) for r in found} == {("t", 3, 4)}


@pytest.mark.parametrize("name", sorted(expected_partitions()))
def test_logs_that_kafka_wrote_are_read_as_by_the_plain_reader(name: str) -> None:
    """M55: bytes to records."""
    for path in segment_files(name):
        data = memoryview(path.read_bytes())
        for position, header in iter_batches(data):
            found = decode_batch(data, position, header, "t", 0, 0)
            plain = list(iter_records(data, position, header))
            assert [(r.offset, r.timestamp, r.key, r.value) for r in found] == [
                (r.offset, r.timestamp, r.key, r.value) for r in plain
            ]


def test_append_time_is_the_time_of_every_record() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=99)
    builder.append(5, None, b"v")
    data = memoryview(builder.build())
    (record,) = decode_batch(data, 0, parse_batch_header(data), "t", 0, 0)
    assert (record.timestamp, record.timestamp_type) == (99, 1)


def test_records_before_the_wanted_offset_are_left_out() -> None:
    builder = BatchBuilder(base_offset=10)
    for _ in range(5):
        builder.append(NOW, None, b"v")
    data = memoryview(builder.build())
    found = decode_batch(data, 0, parse_batch_header(data), "t", 0, 13)
    assert [r.offset for r in found] == [13, 14]


@given(st.binary(max_size=60), st.integers(1, 5))
def test_garbage_is_an_error_and_nothing_else(body: bytes, count: int) -> None:
    builder = BatchBuilder()
    builder.append(NOW, None, body)
    data = bytearray(builder.build())
    data[61:] = body
    header = parse_batch_header(bytes(data))._replace(
        record_count=count, batch_length=49 + len(body)
    )
    try:
        decode_batch(memoryview(bytes(data)), 0, header, "t", 0, 0)
    except KafkaError:
        return


def test_record_that_is_cut_off_is_named() -> None:
    builder = BatchBuilder()
    builder.append(NOW, b"key", b"value")
    data = memoryview(builder.build())
    header = parse_batch_header(data)._replace(record_count=2)
    with pytest.raises(InvalidRecordError, match="t-0"):
        decode_batch(data, 0, header, "t", 0, 0)
