"""The offsets of a log: high watermark, log start, and their order."""

from pathlib import Path

import pytest

from kafkalike.log.log import Log
from kafkalike.protocol.errors import OffsetOutOfRangeError
from tests.support.log_builder import NOW_MS, a_batch, open_log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Ten records in ten batches, nothing replicated."""
    log = open_log(tmp_path / "orders-0", segment_bytes=300)
    for number in range(10):
        log.append_as_leader(a_batch([b"%d" % number]), leader_epoch=0, now_ms=NOW_MS)
    return log


def test_leader_raises_the_high_watermark_and_never_lowers_it(log: Log) -> None:
    assert log.maybe_increment_high_watermark(4)
    assert not log.maybe_increment_high_watermark(4)
    assert not log.maybe_increment_high_watermark(2)
    assert log.high_watermark == 4


def test_high_watermark_cannot_exceed_the_log(log: Log) -> None:
    with pytest.raises(ValueError, match="11 would exceed the log end offset 10"):
        log.maybe_increment_high_watermark(11)


def test_follower_sets_the_high_watermark_within_its_log(log: Log) -> None:
    assert log.update_high_watermark(7) == 7
    assert log.update_high_watermark(3) == 3
    assert log.update_high_watermark(99) == 10
    log.maybe_increment_log_start_offset(5)
    assert log.update_high_watermark(1) == 5


def test_snapshot_tells_where_all_offsets_lie(log: Log) -> None:
    log.maybe_increment_high_watermark(5)
    snapshot = log.fetch_offset_snapshot()
    size = len(a_batch([b"0"]))
    assert snapshot.log_start_offset == 0
    assert snapshot.log_end_offset == log.log_end_offset_metadata
    segment = log.segments.floor(5)
    assert segment is not None
    position = (5 - segment.base_offset) * size
    assert snapshot.high_watermark == (5, segment.base_offset, position)
    assert snapshot.last_stable_offset == snapshot.high_watermark


def test_high_watermark_at_the_end_moves_to_the_new_segment(log: Log) -> None:
    log.maybe_increment_high_watermark(10)
    log.roll(NOW_MS)
    assert log.high_watermark_metadata == (10, 10, 0)


def test_log_start_cannot_pass_the_high_watermark(log: Log) -> None:
    log.maybe_increment_high_watermark(4)
    with pytest.raises(OffsetOutOfRangeError, match="larger than the high watermark 4"):
        log.maybe_increment_log_start_offset(5)
    assert log.maybe_increment_log_start_offset(4)
    assert not log.maybe_increment_log_start_offset(4)
    assert not log.maybe_increment_log_start_offset(2)
    assert log.log_start_offset == 4


def test_log_start_takes_the_epochs_along(log: Log) -> None:
    log.append_as_leader(a_batch(), leader_epoch=3, now_ms=NOW_MS)
    log.maybe_increment_high_watermark(11)
    log.maybe_increment_log_start_offset(5)
    assert log.leader_epoch_cache is not None
    assert log.leader_epoch_cache.entries == [(0, 5), (3, 10)]


def test_log_start_raises_the_recovery_point(log: Log) -> None:
    log.maybe_increment_high_watermark(10)
    log.recovery_point = 0
    log.maybe_increment_log_start_offset(6)
    assert log.recovery_point == 6
