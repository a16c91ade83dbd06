"""Appending to a log: offsets, refusals, epochs, rolls."""

from pathlib import Path
from random import Random

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.errors import OffsetsOutOfOrderError, UnexpectedAppendOffsetError
from kafkalike.log.log import Log
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.protocol.errors import (
    CorruptRecordError,
    InvalidRecordError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
)
from kafkalike.protocol.records.compression import CompressionType
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    batches_of,
    open_log,
    records_of,
    values_of,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return open_log(tmp_path / "orders-0", segment_bytes=2000, segment_index_bytes=1200)


def test_new_log_is_empty_and_begins_at_zero(log: Log) -> None:
    """M7: offsets start at 0."""
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (0, 0, 0)
    assert records_of(log) == []
    assert [segment.base_offset for segment in log.segments] == [0]


@settings(deadline=None)
@given(counts=st.lists(st.integers(1, 20), min_size=1, max_size=30))
def test_offsets_are_dense_and_count_every_record(
    counts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """M7: each record gets the next offset, over batches, segments and a restart."""
    directory = tmp_path_factory.mktemp("dense") / "orders-0"
    log = open_log(directory, segment_bytes=600)
    for count in counts:
        info = append(log, a_batch([b"v"] * count))
        assert info.last_offset - info.first_offset == count - 1
    assert [record.offset for record in records_of(log)] == list(range(sum(counts)))
    log.close()
    again = open_log(directory, segment_bytes=600)
    assert [record.offset for record in records_of(again)] == list(range(sum(counts)))
    assert append(again, a_batch()).first_offset == sum(counts)


def test_append_info_tells_offsets_timestamps_and_size(log: Log) -> None:
    append(log, a_batch([b"a", b"b"]))
    batch = a_batch([b"c", b"d", b"e"], timestamp=NOW_MS + 5)
    info = append(log, batch, leader_epoch=3)
    assert (info.first_offset, info.last_offset, info.num_messages) == (2, 4, 3)
    assert (info.max_timestamp, info.offset_of_max_timestamp) == (NOW_MS + 5, 4)
    assert (info.last_leader_epoch, info.shallow_count) == (3, 1)
    assert (info.valid_bytes, info.log_append_time) == (len(batch), -1)


def test_bytes_of_a_plain_batch_go_to_the_file_as_they_came(log: Log) -> None:
    """M10: only base offset and leader epoch, which the checksum leaves out, are the broker's."""
    append(log, a_batch([b"first"]))
    batch = a_batch([bytes(range(256)), b"", None], compression=CompressionType.GZIP)
    append(log, batch, leader_epoch=7)
    data = log.active_segment.log.path.read_bytes()[-len(batch) :]
    assert data[16:] == batch[16:]
    assert data[:8] == (1).to_bytes(8, "big")
    assert data[12:16] == (7).to_bytes(4, "big")
    assert values_of(log, 1) == [bytes(range(256)), b"", None]


def test_log_append_time_replaces_the_producers_timestamp(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", message_timestamp_type="LogAppendTime")
    info = append(log, a_batch([b"a", b"b"], timestamp=5), now_ms=NOW_MS + 1)
    assert info.log_append_time == NOW_MS + 1
    assert [record.timestamp for record in records_of(log)] == [NOW_MS + 1] * 2


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_compression_type_of_the_topic_is_applied(tmp_path: Path, codec: str) -> None:
    log = open_log(tmp_path / "orders-0", compression_type=codec)
    append(log, a_batch([b"a" * 100, b"b"], compression=CompressionType.NONE))
    append(log, a_batch([b"c"], compression=CompressionType.LZ4))
    wanted = CompressionType.for_name(codec)
    assert {header.compression_type for header, _ in batches_of(log)} == {wanted}
    assert values_of(log) == [b"a" * 100, b"b", b"c"]


def test_nothing_is_appended_by_an_empty_or_cut_off_set(log: Log) -> None:
    assert append(log, memoryview(b"")).num_messages == 0
    assert append(log, a_batch([b"v" * 100])[:-1]).num_messages == 0
    assert log.log_end_offset == 0


def test_flipped_bit_is_refused_and_leaves_no_trace(log: Log) -> None:
    batch = bytearray(a_batch([b"value"]))
    batch[-1] ^= 1
    with pytest.raises(CorruptRecordError, match="orders-0"):
        append(log, memoryview(batch))
    assert (log.log_end_offset, log.size) == (0, 0)


def test_batch_larger_than_max_message_bytes_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", max_message_bytes=200)
    with pytest.raises(RecordTooLargeError, match="200"):
        append(log, a_batch([b"v" * 200]))


def test_batch_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", segment_bytes=200)
    with pytest.raises(RecordBatchTooLargeError, match="segment size of 200"):
        append(log, a_batch([b"v" * 200]))


def test_key_is_needed_in_a_compacted_topic(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", cleanup_policy=("compact",))
    with pytest.raises(InvalidRecordError):
        append(log, a_batch([b"no key"]))
    append(log, a_batch([b"v"], keys=[b"k"]))
    assert log.log_end_offset == 1


# --- rolls


def test_segment_rolls_before_it_would_exceed_its_size(log: Log) -> None:
    while len(log.segments) < 4:
        append(log, a_batch([b"v" * 300]))
    assert all(segment.size <= 2000 for segment in log.segments)
    assert [segment.base_offset for segment in log.segments] == [0, 5, 10, 15]


def test_segment_rolls_when_its_index_is_full(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", segment_index_bytes=36, index_interval_bytes=0)
    for _ in range(11):
        append(log, a_batch())
    # Four entries fit, and the first batch of a segment has none.
    assert [segment.base_offset for segment in log.segments] == [0, 5, 10]


def test_index_without_any_room_still_takes_appends(tmp_path: Path) -> None:
    """KAFKA-6388: such a segment is full while it is empty."""
    log = open_log(tmp_path / "orders-0", segment_index_bytes=0)
    for number in range(3):
        append(log, a_batch([b"%d" % number]))
    assert values_of(log) == [b"0", b"1", b"2"]
    log.close()
    assert values_of(open_log(log.directory, segment_index_bytes=0)) == [b"0", b"1", b"2"]


def test_segment_rolls_by_the_time_of_its_records(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", segment_ms=1000)
    append(log, a_batch(timestamp=NOW_MS))
    append(log, a_batch(timestamp=NOW_MS + 1000))
    assert len(log.segments) == 1
    append(log, a_batch(timestamp=NOW_MS + 1001))
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_segment_without_timestamps_rolls_by_its_age(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", segment_ms=1000)
    append(log, a_batch(timestamp=-1), now_ms=NOW_MS)
    append(log, a_batch(timestamp=-1), now_ms=NOW_MS + 1000)
    append(log, a_batch(timestamp=-1), now_ms=NOW_MS + 1001)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_compacted_segment_rolls_in_time_for_the_compaction_lag(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", cleanup_policy=("compact",), max_compaction_lag_ms=500)
    append(log, a_batch(keys=[b"k"], timestamp=NOW_MS))
    append(log, a_batch(keys=[b"k"], timestamp=NOW_MS + 501))
    assert len(log.segments) == 2


def test_closed_segment_never_changes_again(log: Log) -> None:
    """M6: neither appends, reads nor a restart touch the files of a segment that was rolled."""
    for number in range(30):
        append(log, a_batch([b"%d" % number * 100]))
    closed = [segment.log.path for segment in log.segments][:-1]
    kinds = (".log", ".index", ".timeindex")
    before = {
        path.with_suffix(k): path.with_suffix(k).read_bytes() for path in closed for k in kinds
    }
    for number in range(30):
        append(log, a_batch([b"%d" % number * 100]))
    values_of(log)
    log.close()
    values_of(open_log(log.directory, segment_bytes=2000, segment_index_bytes=1200))
    assert {path: path.read_bytes() for path in before} == before


def test_preallocated_segment_is_cut_when_it_is_rolled(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", preallocate=True, segment_bytes=1000)
    path = log.active_segment.log.path
    assert path.stat().st_size == 1000
    append(log, a_batch([b"v" * 500]))
    append(log, a_batch([b"w" * 500]))
    assert path.stat().st_size == log.segments.first.size < 1000
    log.close()
    assert values_of(open_log(log.directory)) == [b"v" * 500, b"w" * 500]


# --- as follower


def batch_at(offset: int, count: int = 1, epoch: int = 0) -> memoryview:
    return a_batch([b"v"] * count, base_offset=offset, leader_epoch=epoch)


def test_follower_keeps_the_leaders_offsets_and_epochs(log: Log) -> None:
    records = memoryview(bytes(batch_at(0, 3, epoch=1)) + bytes(batch_at(3, 2, epoch=4)))
    info = log.append_as_follower(records, NOW_MS)
    assert (info.first_offset, info.last_offset, info.shallow_count) == (0, 4, 2)
    assert log.latest_epoch == 4
    found = log.end_offset_for_epoch(1)
    assert found is not None
    assert found == (3, 1)


def test_follower_takes_offsets_with_gaps(log: Log) -> None:
    """A compacted leader sends no offset that it no longer has."""
    log.append_as_follower(batch_at(7), NOW_MS)
    log.append_as_follower(batch_at(100), NOW_MS)
    assert log.log_end_offset == 101
    assert [record.offset for record in records_of(log, 8)] == [100]


def test_follower_refuses_what_is_before_its_end(log: Log) -> None:
    log.append_as_follower(batch_at(0, 5), NOW_MS)
    with pytest.raises(UnexpectedAppendOffsetError, match="First offset 3") as refused:
        log.append_as_follower(batch_at(3, 4), NOW_MS)
    assert (refused.value.first_offset, refused.value.last_offset) == (3, 6)
    assert log.log_end_offset == 5


def test_follower_refuses_offsets_that_go_back(log: Log) -> None:
    records = memoryview(bytes(batch_at(4)) + bytes(batch_at(2)))
    with pytest.raises(OffsetsOutOfOrderError):
        log.append_as_follower(records, NOW_MS)
    assert log.log_end_offset == 0


def test_follower_rolls_where_the_offset_is_too_far_for_the_index(log: Log) -> None:
    log.append_as_follower(batch_at(0), NOW_MS)
    far = (1 << 31) + 5
    log.append_as_follower(batch_at(far), NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, far]
    assert [record.offset for record in records_of(log)] == [0, far]


def test_follower_rolls_below_a_compressed_legacy_message(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", message_format_version="0.10.2", segment_bytes=200)
    wrapper = a_batch(
        [b"v" * 90] * 9, magic=1, compression=CompressionType.GZIP, base_offset=1 << 33
    )
    log.append_as_follower(batch_v1(0), NOW_MS)
    log.append_as_follower(wrapper, NOW_MS)
    first = log.active_segment.base_offset
    assert first <= 1 << 33
    assert [record.offset for record in records_of(log, 1)] == [(1 << 33) + n for n in range(9)]


def batch_v1(offset: int) -> memoryview:
    return a_batch([b"v"], magic=1, base_offset=offset)


# --- leader epochs


def test_each_epoch_begins_where_its_first_batch_lies(log: Log) -> None:
    append(log, a_batch([b"a", b"b"]), leader_epoch=0)
    append(log, a_batch(), leader_epoch=2)
    assert log.latest_epoch == 2
    assert log.leader_epoch_cache is not None
    assert log.leader_epoch_cache.entries == [(0, 0), (2, 2)]
    assert log.end_offset_for_epoch(2) == (3, 2)
    assert log.end_offset_for_epoch(1) == (2, 0)
    assert log.end_offset_for_epoch(3) is None


def test_old_message_format_has_no_epochs(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", message_format_version="0.10.2")
    append(log, batch_v1(0))
    assert log.leader_epoch_cache is None
    assert log.latest_epoch is None
    assert log.end_offset_for_epoch(0) is None


def test_unexpected_old_batch_clears_the_epochs(log: Log) -> None:
    append(log, a_batch(), leader_epoch=1)
    log.append_as_follower(batch_v1(1), NOW_MS)
    assert log.latest_epoch is None


# --- configuration


def test_other_message_format_takes_effect_at_once(log: Log) -> None:
    append(log, a_batch([b"v2"]), leader_epoch=1)
    log.update_config(TopicConfig(message_format_version="0.10.2"))
    append(log, a_batch([b"v1"]))
    assert [header.magic for header, _ in batches_of(log)] == [2, 1]
    assert log.leader_epoch_cache is None
    assert not (log.directory / "leader-epoch-checkpoint").exists()
    log.update_config(TopicConfig())
    append(log, a_batch([b"v2 again"]), leader_epoch=4)
    assert log.latest_epoch == 4
    assert values_of(log) == [b"v2", b"v1", b"v2 again"]


def test_segments_roll_earlier_by_a_random_jitter(tmp_path: Path) -> None:
    environment = LogEnvironment(random=Random(3), flush_later=lambda job: job.complete(NOW_MS))
    log = open_log(
        tmp_path / "t-0", environment=environment, segment_ms=1000, segment_jitter_ms=900
    )
    jitter_ms = log.active_segment.roll_jitter_ms
    assert 0 < jitter_ms < 900
    append(log, a_batch(timestamp=NOW_MS))
    append(log, a_batch(timestamp=NOW_MS + 1000 - jitter_ms))
    assert len(log.segments) == 1
    append(log, a_batch(timestamp=NOW_MS + 1001 - jitter_ms))
    assert len(log.segments) == 2


@pytest.mark.parametrize(
    ("position", "value", "problem"),
    [
        (23, -1, "invalid offset range"),
        (57, 0, "Invalid reported count"),
        (57, 5, "Inconsistent batch offset range"),
    ],
)
def test_header_that_contradicts_itself_is_refused(
    log: Log, position: int, value: int, problem: str
) -> None:
    batch = bytearray(a_batch([b"a", b"b"]))
    batch[position : position + 4] = value.to_bytes(4, "big", signed=True)
    batch[17:21] = int(crc32c(memoryview(batch)[21:])).to_bytes(4, "big")
    with pytest.raises(InvalidRecordError, match=problem):
        append(log, memoryview(batch))
