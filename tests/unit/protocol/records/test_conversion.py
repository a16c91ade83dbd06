from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import ControlRecordType, build_end_txn_marker
from kafkalike.protocol.records.conversion import down_convert
from kafkalike.protocol.records.record_batch import iter_batches
from kafkalike.protocol.records.record_reader import iter_all_records


def batch(first: int, count: int, **options: object) -> bytes:
    builder = BatchBuilder(base_offset=first, **options)  # type: ignore[arg-type]
    for number in range(count):
        headers = [("h", b"x")] if options.get("magic", 2) == 2 else ()
        builder.append(1000 + number, b"k", b"v%d" % number, headers)
    return builder.build()


def offsets_of(data: bytes) -> list[int]:
    return [record.offset for record in iter_all_records(data)]


def magics_of(data: bytes) -> list[int]:
    return [header.magic for _, header in iter_batches(data)]


def test_batches_that_are_old_enough_stay_as_they_are() -> None:
    data = batch(0, 2, magic=0) + batch(2, 2, magic=1)
    assert down_convert(data, 1, 0) == (data, 0)
    converted = down_convert(data, 0, 0)
    assert magics_of(converted.data) == [0, 0, 0, 0]
    assert converted.data.startswith(batch(0, 2, magic=0))
    assert converted.record_count == 2


def test_a_reader_in_the_middle_of_a_batch_gets_no_earlier_record() -> None:
    data = batch(10, 5)
    assert offsets_of(down_convert(data, 1, 12).data) == [12, 13, 14]
    assert offsets_of(down_convert(data, 1, 0).data) == [10, 11, 12, 13, 14]
    assert down_convert(data, 1, 15) == (b"", 0)


def test_a_compressed_batch_is_converted_whole() -> None:
    data = batch(10, 5, compression=CompressionType.GZIP)
    converted = down_convert(data, 1, 12)
    assert offsets_of(converted.data) == [10, 11, 12, 13, 14]
    [(_, header)] = iter_batches(converted.data)
    assert (header.base_offset, header.is_compressed) == (14, True)


def test_control_batches_and_headers_are_left_out() -> None:
    marker = build_end_txn_marker(
        ControlRecordType.COMMIT,
        producer_id=1,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp=5,
        base_offset=3,
    )
    converted = down_convert(batch(0, 3) + marker + batch(4, 1), 1, 0)
    assert offsets_of(converted.data) == [0, 1, 2, 4]
    assert all(not record.headers for record in iter_all_records(converted.data))


def test_gaps_that_compaction_left_are_kept() -> None:
    builder = BatchBuilder(base_offset=5, compression=CompressionType.SNAPPY)
    for offset in (5, 9, 20):
        builder.append(0, b"k", b"v", offset=offset)
    assert offsets_of(down_convert(builder.build(), 1, 0).data) == [5, 9, 20]
    assert offsets_of(down_convert(builder.build(), 0, 0).data) == [5, 9, 20]


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    data = batch(0, 2) + batch(2, 2)
    assert offsets_of(down_convert(data[:-1], 1, 0).data) == [0, 1]
