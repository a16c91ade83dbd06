"""The fast encoder writes what the plain builder writes."""

from hypothesis import given
from hypothesis import strategies as st

from kafkalike.client.producer.batch_encoder import (
    RECORD_OVERHEAD_BYTES,
    PendingRecord,
    compress_records,
    encode_batch,
    encode_records,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType

NOW = 1_600_000_000_000
datas = st.one_of(st.none(), st.binary(max_size=300), st.just(b"x" * 20_000))
records = st.tuples(
    st.integers(NOW - 100_000, NOW + 100_000),
    datas,
    datas,
    st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=5)))),
)


def built(given_records: list[PendingRecord], codec: CompressionType, **who: int) -> bytes:
    builder = BatchBuilder(compression=codec, **who)  # type: ignore[arg-type]
    for timestamp, key, value, headers in given_records:
        builder.append(timestamp, key, value, headers)
    return builder.build()


@given(st.lists(records, min_size=1, max_size=20))
def test_batch_has_the_bytes_of_the_plain_builder(given_records: list[PendingRecord]) -> None:
    none = CompressionType.NONE
    body = encode_records(given_records)
    assert encode_batch(given_records, body, none) == built(given_records, none)


def test_batch_of_equal_records_has_the_bytes_of_the_plain_builder() -> None:
    many: list[PendingRecord] = [(NOW + n // 9, None, b"v" * 100, ()) for n in range(20_000)]
    body = encode_records(many)
    assert encode_batch(many, body, CompressionType.NONE) == built(many, CompressionType.NONE)


def test_sequence_and_codec_are_in_the_header() -> None:
    few: list[PendingRecord] = [(NOW, b"k", b"v" * 500, ())] * 3
    body = compress_records(CompressionType.LZ4, encode_records(few))
    who = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 40}
    data = encode_batch(few, body, CompressionType.LZ4, **who)
    assert data == built(few, CompressionType.LZ4, **who)


def test_overhead_is_never_more_than_its_bound() -> None:
    far: list[PendingRecord] = [(0, None, None, ()), (NOW, b"k" * 20_000, b"v" * 3_000_000, ())]
    first = len(encode_records(far[:1]))
    assert len(encode_records(far)) - first - 3_020_000 <= RECORD_OVERHEAD_BYTES
