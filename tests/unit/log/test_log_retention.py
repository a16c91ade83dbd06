"""Retention: old segments go by age, by size and by log start offset."""

from pathlib import Path
from typing import Any

import pytest

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.retention import SegmentFacts, deletable_segments
from tests.support.log_builder import NOW_MS, a_batch, append, open_log, values_of

WEEK_MS = 7 * 24 * 3600 * 1000


def a_log(directory: Path, **settings: Any) -> Log:
    """Six records a second apart, each in a segment of its own."""
    log = open_log(directory / "orders-0", segment_bytes=100, **settings)
    for number in range(6):
        append(log, a_batch([b"%d" % number], timestamp=NOW_MS + number * 1000))
    return log


def test_default_keeps_a_week(tmp_path: Path) -> None:
    """M9: `log.retention.hours=168`; a segment goes when all in it is older."""
    log = a_log(tmp_path)
    assert TopicConfig().retention_ms == WEEK_MS
    assert log.delete_old_segments(NOW_MS + WEEK_MS) == 0
    assert log.delete_old_segments(NOW_MS + WEEK_MS + 1) == 1
    assert log.delete_old_segments(NOW_MS + WEEK_MS + 3001) == 3
    assert log.log_start_offset == 4
    assert values_of(log) == [b"4", b"5"]


def test_last_segment_goes_too_and_offsets_go_on(tmp_path: Path) -> None:
    log = a_log(tmp_path, retention_ms=1000)
    assert log.delete_old_segments(NOW_MS + 60_000) == 6
    assert (log.log_start_offset, log.log_end_offset) == (6, 6)
    assert append(log, a_batch()).first_offset == 6
    assert log.delete_old_segments(NOW_MS + 60_000) == 1


def test_empty_log_keeps_its_segment(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", retention_ms=0, retention_bytes=0)
    assert log.delete_old_segments(NOW_MS + WEEK_MS) == 0
    assert len(log.segments) == 1


def test_nothing_beyond_the_high_watermark_goes(tmp_path: Path) -> None:
    log = a_log(tmp_path, retention_ms=0)
    log.update_high_watermark(3)
    assert log.delete_old_segments(NOW_MS + WEEK_MS) == 3
    assert log.log_start_offset == 3


def test_size_leaves_at_least_what_is_to_be_kept(tmp_path: Path) -> None:
    size = len(a_batch([b"0"]))
    log = a_log(tmp_path, retention_bytes=int(size * 2.5))
    assert log.delete_old_segments(NOW_MS) == 3
    assert log.size == size * 3


@pytest.mark.parametrize("settings", [{"retention_ms": -1}, {"retention_bytes": -1}])
def test_minus_one_means_for_ever(tmp_path: Path, settings: dict[str, int]) -> None:
    log = a_log(tmp_path, **{"retention_ms": -1, **settings})
    assert log.delete_old_segments(NOW_MS + 100 * WEEK_MS) == 0


def test_segments_before_the_log_start_go_whatever_the_policy(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", segment_bytes=100, cleanup_policy=("compact",), retention_ms=0)
    for _ in range(6):
        append(log, a_batch(keys=[b"k"]))
    assert log.delete_old_segments(NOW_MS + WEEK_MS) == 0
    log.maybe_increment_log_start_offset(4)
    assert log.delete_old_segments(NOW_MS + WEEK_MS) == 4
    assert log.segments.first.base_offset == 4


def test_all_records_deleted_keeps_the_active_segment(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    log.maybe_increment_log_start_offset(6)
    assert log.delete_old_segments(NOW_MS) == 5
    assert values_of(log) == []
    assert append(log, a_batch([b"next"])).first_offset == 6


def test_deleted_segments_take_their_snapshots_along(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    log.delete_old_segments(NOW_MS + WEEK_MS + 3001)
    snapshots = sorted(int(path.stem) for path in log.directory.glob("*.snapshot"))
    assert snapshots == [4, 5]


def test_records_without_timestamp_age_with_their_file(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", retention_ms=1000)
    append(log, a_batch(timestamp=-1))
    written_ms = log.active_segment.last_modified_ms
    assert log.delete_old_segments(written_ms + 1000) == 0
    assert log.delete_old_segments(written_ms + 1001) == 1


def test_newer_record_keeps_older_segments_behind_it_waiting() -> None:
    """Segments go from the oldest on: one that must stay keeps all after it."""
    facts = [
        SegmentFacts(0, 10, 100, largest_timestamp=1000, is_active=False),
        SegmentFacts(10, 20, 100, largest_timestamp=9000, is_active=False),
        SegmentFacts(20, 30, 100, largest_timestamp=1000, is_active=True),
    ]
    config = TopicConfig(retention_ms=1000)
    count, reason = deletable_segments(
        facts, config, high_watermark=30, log_start_offset=0, now_ms=5000
    )
    assert (count, reason) == (1, "retention time 1000ms breach")
