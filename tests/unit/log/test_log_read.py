"""Reading a log: isolation, sizes, ranges, offsets by time."""

from pathlib import Path

import pytest

from kafkalike.log.fetch_data_info import FetchDataInfo, FetchIsolation
from kafkalike.log.file_records import FileSlice
from kafkalike.log.log import Log
from kafkalike.protocol.errors import OffsetOutOfRangeError, UnsupportedForMessageFormatError
from tests.support.log_builder import NOW_MS, a_batch, append, open_log, records_of, values_of

LOG_END = FetchIsolation.LOG_END
HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Ten batches of three records of 100 bytes, in several segments."""
    log = open_log(tmp_path / "orders-0", segment_bytes=1500, index_interval_bytes=200)
    for number in range(10):
        values = [b"%d-%d".ljust(100, b".") % (number, index) for index in range(3)]
        append(log, a_batch(values, timestamp=NOW_MS + number * 10))
    return log


def bytes_of(info: FetchDataInfo) -> bytes:
    return info.records if isinstance(info.records, bytes) else info.records.read()


def test_any_offset_is_found_in_its_batch(log: Log) -> None:
    assert len(log.segments) > 2
    for offset in range(30):
        records = records_of(log, offset)
        assert records[0].offset == offset
        assert len(records) == 30 - offset


def test_read_gives_a_range_of_the_file_and_where_it_lies(log: Log) -> None:
    info = log.read(4, 1 << 20, LOG_END, min_one_message=False)
    assert isinstance(info.records, FileSlice)
    size = log.segments.first.size // 3
    assert info.fetch_offset_metadata == (4, 0, size)
    assert (info.records.position, len(info.records)) == (size, 2 * size)
    assert info.aborted_transactions is None


def test_read_ends_with_the_segment(log: Log) -> None:
    first = log.segments.first
    assert len(bytes_of(log.read(0, 1 << 20, LOG_END, min_one_message=True))) == first.size


def test_read_is_cut_at_max_length_even_within_a_batch(log: Log) -> None:
    info = log.read(0, 10, LOG_END, min_one_message=False)
    assert len(bytes_of(info)) == 10
    assert info.first_entry_incomplete


def test_first_batch_comes_whole_if_at_least_one_message_is_wanted(log: Log) -> None:
    info = log.read(0, 10, LOG_END, min_one_message=True)
    assert len(bytes_of(info)) == log.segments.first.size // 3
    assert not info.first_entry_incomplete


def test_no_bytes_are_read_with_a_length_of_zero(log: Log) -> None:
    assert bytes_of(log.read(3, 0, LOG_END, min_one_message=False)) == b""


def test_consumers_read_up_to_the_high_watermark_only(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    for _ in range(4):
        log.append_as_leader(a_batch([b"a", b"b"]), leader_epoch=0, now_ms=NOW_MS)
    log.maybe_increment_high_watermark(4)
    size = log.size // 4
    assert len(bytes_of(log.read(0, 1 << 20, HIGH_WATERMARK, min_one_message=True))) == 2 * size
    assert len(bytes_of(log.read(0, 1 << 20, LOG_END, min_one_message=True))) == 4 * size
    at_mark = log.read(4, 1 << 20, HIGH_WATERMARK, min_one_message=True)
    assert bytes_of(at_mark) == b""
    assert at_mark.fetch_offset_metadata == (4, 0, 2 * size)
    beyond = log.read(6, 1 << 20, HIGH_WATERMARK, min_one_message=True)
    assert bytes_of(beyond) == b""
    assert beyond.fetch_offset_metadata == (6, 0, 3 * size)


def test_high_watermark_within_a_batch_hides_the_whole_batch(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    log.append_as_leader(a_batch([b"a"]), leader_epoch=0, now_ms=NOW_MS)
    log.append_as_leader(a_batch([b"b", b"c", b"d"]), leader_epoch=0, now_ms=NOW_MS)
    log.maybe_increment_high_watermark(2)
    data = bytes_of(log.read(0, 1 << 20, HIGH_WATERMARK, min_one_message=True))
    assert len(data) == len(a_batch([b"a"]))
    assert bytes_of(log.read(1, 1 << 20, HIGH_WATERMARK, min_one_message=True)) == b""


@pytest.mark.parametrize("offset", [-1, 31, 1 << 40])
def test_offset_outside_the_log_is_out_of_range(log: Log, offset: int) -> None:
    with pytest.raises(OffsetOutOfRangeError, match=rf"offset {offset} .* range 0 to 30"):
        log.read(offset, 1, LOG_END, min_one_message=True)


def test_offset_below_the_log_start_is_out_of_range(log: Log) -> None:
    log.maybe_increment_log_start_offset(4)
    with pytest.raises(OffsetOutOfRangeError, match="range 4 to 30"):
        log.read(3, 1, LOG_END, min_one_message=True)
    assert records_of(log, 4)[0].offset == 4


def test_end_of_the_log_reads_as_nothing_yet(log: Log) -> None:
    info = log.read(30, 1 << 20, LOG_END, min_one_message=True)
    assert bytes_of(info) == b""
    assert info.fetch_offset_metadata == log.log_end_offset_metadata


def test_offset_in_a_gap_reads_on_with_the_next_record(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    for offset in (0, 10, 20):
        log.append_as_follower(a_batch([b"%d" % offset], base_offset=offset), NOW_MS)
    log.roll(NOW_MS, 40)
    log.append_as_follower(a_batch([b"50"], base_offset=50), NOW_MS)
    assert values_of(log, 11) == [b"20", b"50"]
    assert values_of(log, 21) == [b"50"]


def test_slice_can_still_be_read_when_its_segment_is_deleted(log: Log) -> None:
    info = log.read(0, 1 << 20, LOG_END, min_one_message=True)
    log.truncate_fully_and_start_at(100, NOW_MS)
    assert not log.directory.joinpath("00000000000000000000.log").exists()
    assert b"0-0....." in bytes_of(info)


def test_reader_at_the_end_finds_each_new_batch(log: Log) -> None:
    for number in range(5):
        info = append(log, a_batch([b"new %d" % number] * 2))
        assert values_of(log, info.first_offset) == [b"new %d" % number] * 2
        assert values_of(log, info.last_offset) == [b"new %d" % number]


# --- by time


def test_earliest_and_latest_offsets_come_with_their_epochs(log: Log) -> None:
    append(log, a_batch(), leader_epoch=5)
    assert log.fetch_offset_by_timestamp(-2) == (-1, 0, 0)
    assert log.fetch_offset_by_timestamp(-1) == (-1, 31, 5)


def test_timestamp_finds_the_first_record_at_or_after_it(log: Log) -> None:
    """M5: through the time indexes of all segments."""
    for number in range(10):
        wanted = (NOW_MS + number * 10, number * 3, 0)
        assert log.fetch_offset_by_timestamp(NOW_MS + number * 10) == wanted
        assert log.fetch_offset_by_timestamp(NOW_MS + number * 10 - 9) == wanted
    assert log.fetch_offset_by_timestamp(0) == (NOW_MS, 0, 0)
    assert log.fetch_offset_by_timestamp(NOW_MS + 91) is None


def test_timestamp_finds_nothing_before_the_log_start(log: Log) -> None:
    log.maybe_increment_log_start_offset(4)
    assert log.fetch_offset_by_timestamp(NOW_MS) == (NOW_MS + 10, 4, 0)


def test_format_without_timestamps_cannot_be_searched_by_time(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", message_format_version="0.9.0")
    append(log, a_batch(magic=0, timestamp=-1))
    assert log.fetch_offset_by_timestamp(-1) == (-1, 1, None)
    with pytest.raises(UnsupportedForMessageFormatError, match=r"0\.9\.0"):
        log.fetch_offset_by_timestamp(NOW_MS)


def test_legacy_lookup_gives_segment_starts_newest_first(log: Log) -> None:
    starts = [segment.base_offset for segment in log.segments]
    far_future = 1 << 50
    assert log.legacy_fetch_offsets_before(-1, 100, far_future) == [30, *reversed(starts)]
    assert log.legacy_fetch_offsets_before(-1, 2, far_future) == [30, starts[-1]]
    assert log.legacy_fetch_offsets_before(-2, 5, far_future) == [0]
    assert log.legacy_fetch_offsets_before(far_future - 1, 1, far_future) == [starts[-1]]
    assert log.legacy_fetch_offsets_before(5, 10, far_future) == []
