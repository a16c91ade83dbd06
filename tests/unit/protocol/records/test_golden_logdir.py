"""M10: every partition that Kafka wrote reads back to exactly the records its consumer saw."""

import pytest

from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import ControlRecordType, read_end_txn_marker
from kafkalike.protocol.records.record import NO_TIMESTAMP, TimestampType
from kafkalike.protocol.records.record_batch import (
    BatchHeader,
    check_crc,
    iter_batches,
    parse_batch_header,
)
from kafkalike.protocol.records.record_reader import iter_records
from tests.support.golden import LOGDIR, expected_partitions, golden_bytes, segment_files

TIMESTAMP_TYPES = {
    None: TimestampType.NO_TIMESTAMP_TYPE,
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}


def batches_of(name: str) -> list[tuple[bytes, int, BatchHeader]]:
    found = []
    for file in segment_files(name):
        data = file.read_bytes()
        found += [(data, position, header) for position, header in iter_batches(data)]
    return found


@pytest.mark.parametrize("name", sorted(expected_partitions()))
def test_partition_reads_to_exactly_the_records_of_kafkas_consumer(name: str) -> None:
    expected = expected_partitions()[name]
    read = []
    for data, position, header in batches_of(name):
        check_crc(data, position, header)
        if header.is_control:
            continue
        epoch = header.partition_leader_epoch if header.magic == 2 else None
        read += [
            (*record[:4], list(record.headers), header.timestamp_type, epoch)
            for record in iter_records(data, position, header)
            if record.offset >= expected["log_start_offset"]
        ]
    assert read == [
        (
            record["offset"],
            # The consumer that made the file says 0 where a record has no timestamp.
            record["timestamp"] if record["timestamp_type"] else NO_TIMESTAMP,
            golden_bytes(record["key"]),
            golden_bytes(record["value"]),
            [(name, golden_bytes(value)) for name, value in record["headers"]],
            TIMESTAMP_TYPES[record["timestamp_type"]],
            record["leader_epoch"],
        )
        for record in expected["records"]
    ]


@pytest.mark.parametrize("path", sorted(LOGDIR.rglob("*.log")), ids=lambda path: path.parent.name)
def test_batches_fill_every_segment_without_a_gap(path) -> None:
    data = path.read_bytes()
    end = 0
    next_offset = -1
    for position, header in iter_batches(data):
        assert position == end
        assert header.base_offset >= next_offset
        assert header == parse_batch_header(data[position:])
        end, next_offset = position + header.size_in_bytes, header.next_offset
    assert end == len(data)


@pytest.mark.parametrize("codec", CompressionType)
def test_codec_partition_holds_batches_of_its_codec(codec: CompressionType) -> None:
    batches = batches_of(f"codec-{codec.name.lower()}-0")
    found = {header.compression_type for _, _, header in batches}
    assert found == {codec}


def test_transactional_partition_has_commits_and_aborts() -> None:
    markers = [
        read_end_txn_marker(data, position, header)
        for data, position, header in batches_of("transactional-0")
        if header.is_control
    ]
    kinds = {marker.control_type for marker in markers if marker}
    assert kinds == {ControlRecordType.COMMIT, ControlRecordType.ABORT}
    assert None not in markers
