"""What of a log is dirty, how dirty it is, and which segments are cleaned together."""

from pathlib import Path

import pytest

from kafkalike.log.abstract_index import MAX_RELATIVE_OFFSET
from kafkalike.log.cleaner_groups import group_segments_by_size
from kafkalike.log.cleaner_offsets import (
    LogToClean,
    OffsetsToClean,
    cleanable_offsets,
    log_to_clean,
    max_compaction_delay_ms,
)
from kafkalike.log.log import Log
from tests.support.log_builder import NOW_MS, a_batch, append
from tests.support.log_cleaning import a_compacted_log, put

SIX = [(b"k", b"%d" % number) for number in range(6)]
MAX_LONG = (1 << 63) - 1


def one_record_segments(directory: Path, **settings: object) -> Log:
    """Six records a second apart in segments of their own, and an empty active segment."""
    log = a_compacted_log(directory, segment_bytes=100, **settings)
    for number in range(6):
        append(log, a_batch([b"v"], keys=[b"k"], timestamp=NOW_MS + number * 1000))
    log.roll(NOW_MS)
    return log


def measured(log: Log, last_clean_offset: int | None = None) -> LogToClean:
    offsets = cleanable_offsets(log, last_clean_offset, NOW_MS)
    return log_to_clean(log, offsets, needs_compaction_now=False)


def test_all_but_the_active_segment_can_be_cleaned(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    assert cleanable_offsets(log, None, NOW_MS) == OffsetsToClean(0, 6)
    assert cleanable_offsets(log, 4, NOW_MS) == OffsetsToClean(4, 6)
    assert cleanable_offsets(log, 6, NOW_MS) == OffsetsToClean(6, 6)


def test_nothing_beyond_an_open_transaction_is_cleaned(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    append(log, a_batch(keys=[b"k"], producer_id=1, is_transactional=True))
    put(log, *SIX)
    assert log.first_unstable_offset == 6
    assert cleanable_offsets(log, None, NOW_MS) == OffsetsToClean(0, 6)


def test_nothing_beyond_the_high_watermark_is_cleaned(tmp_path: Path) -> None:
    """It may be truncated still, and with it what has overtaken older records."""
    log = one_record_segments(tmp_path)
    log.update_high_watermark(3)
    assert cleanable_offsets(log, None, NOW_MS) == OffsetsToClean(0, 3)
    assert measured(log).first_uncleanable_offset == 3


def test_segments_are_cleaned_whole(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *SIX, segment_bytes=1000)
    put(log, *SIX)
    log.roll(NOW_MS)
    log.update_high_watermark(8)
    assert cleanable_offsets(log, None, NOW_MS) == OffsetsToClean(0, 8)
    assert measured(log).first_uncleanable_offset == 6


@pytest.mark.parametrize(("lag_ms", "end"), [(0, 6), (1, 6), (2000, 4), (4999, 1), (5002, 0)])
def test_segments_with_newer_records_than_the_lag_wait(
    tmp_path: Path, lag_ms: int, end: int
) -> None:
    """`min.compaction.lag.ms`; the records are from 1 to 5001 ms old."""
    log = one_record_segments(tmp_path, min_compaction_lag_ms=lag_ms)
    assert cleanable_offsets(log, None, NOW_MS + 5001) == OffsetsToClean(0, end)


def test_new_segment_keeps_older_ones_behind_it_waiting(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path, min_compaction_lag_ms=1000)
    put(log, (b"k", b"new"), timestamp=NOW_MS + 60_000)
    put(log, *SIX, timestamp=NOW_MS)
    assert cleanable_offsets(log, 2, NOW_MS + 30_000) == OffsetsToClean(2, 6)


@pytest.mark.parametrize("checkpoint", [2, 99])
def test_checkpoint_outside_of_the_log_is_reset_to_its_start(
    tmp_path: Path, checkpoint: int
) -> None:
    log = one_record_segments(tmp_path)
    log.maybe_increment_log_start_offset(4)
    expected = OffsetsToClean(4, 6, forces_checkpoint_update=True)
    assert cleanable_offsets(log, checkpoint, NOW_MS) == expected


def test_log_that_was_never_cleaned_is_dirty_from_its_start(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    log.maybe_increment_log_start_offset(4)
    assert cleanable_offsets(log, None, NOW_MS) == OffsetsToClean(4, 6)


def test_dirty_ratio_is_of_bytes_that_can_be_cleaned(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    put(log, *SIX[:2])
    size = log.segments.first.size
    cleanable = measured(log, last_clean_offset=4)
    assert (cleanable.clean_bytes, cleanable.cleanable_bytes) == (4 * size, 3 * size)
    assert cleanable.cleanable_ratio == 3 / 7
    assert measured(log).cleanable_ratio == 1.0


@pytest.mark.parametrize(("ratio", "is_due"), [(0.49, True), (0.5, False), (1.0, False)])
def test_log_is_due_above_its_ratio(tmp_path: Path, ratio: float, is_due: bool) -> None:
    log = one_record_segments(tmp_path, min_cleanable_dirty_ratio=ratio)
    assert measured(log, last_clean_offset=3).is_due is is_due


def test_log_with_nothing_to_clean_is_not_due(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path, max_compaction_lag_ms=1)
    offsets = cleanable_offsets(log, 6, NOW_MS)
    assert not log_to_clean(log, offsets, needs_compaction_now=True).is_due


def test_log_is_due_when_a_record_has_waited_too_long(tmp_path: Path) -> None:
    """`max.compaction.lag.ms`, counted from the first batch of the oldest dirty segment."""
    log = one_record_segments(tmp_path, max_compaction_lag_ms=10_000, min_cleanable_dirty_ratio=1)
    assert max_compaction_delay_ms(log, 0, NOW_MS + 10_000) == 0
    assert max_compaction_delay_ms(log, 0, NOW_MS + 10_700) == 700
    assert max_compaction_delay_ms(log, 2, NOW_MS + 10_700) == 0
    assert max_compaction_delay_ms(log, 6, NOW_MS + 100_000) == 0
    offsets = cleanable_offsets(log, None, NOW_MS)
    assert log_to_clean(log, offsets, needs_compaction_now=True).is_due


def test_no_lag_is_too_long_by_default(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    assert log.config.max_compaction_lag_ms == MAX_LONG
    assert max_compaction_delay_ms(log, 0, NOW_MS + (1 << 50)) == 0


def test_records_without_timestamp_have_not_waited(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, max_compaction_lag_ms=1)
    append(log, a_batch(keys=[b"k"], timestamp=-1))
    log.roll(NOW_MS)
    assert max_compaction_delay_ms(log, 0, NOW_MS + 100) == 0


# --- groups


def groups_of(log: Log, **limits: int) -> list[list[int]]:
    limits = {"max_size": 1 << 30, "max_index_size": 1 << 20, **limits}
    groups = group_segments_by_size(
        list(log.segments)[:-1], **limits, first_uncleanable_offset=log.log_end_offset
    )
    return [[segment.base_offset for segment in group] for group in groups]


def test_small_neighbours_become_one(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    size = log.segments.first.size
    assert groups_of(log) == [[0, 1, 2, 3, 4, 5]]
    assert groups_of(log, max_size=2 * size) == [[0, 1], [2, 3], [4, 5]]
    assert groups_of(log, max_size=3 * size - 1) == [[0, 1], [2, 3], [4, 5]]
    assert groups_of(log, max_size=1) == [[0], [1], [2], [3], [4], [5]]


def test_indexes_must_fit_too(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    assert {segment.time_index.entries for segment in list(log.segments)[:-1]} == {1}
    assert groups_of(log, max_index_size=24) == [[0, 1], [2, 3], [4, 5]]


def test_offsets_of_a_group_fit_an_index(tmp_path: Path) -> None:
    log = one_record_segments(tmp_path)
    limits = {"max_size": 1 << 30, "max_index_size": 1 << 20}
    segments = list(log.segments)[:-1]
    far = MAX_RELATIVE_OFFSET + 1
    groups = group_segments_by_size(segments, **limits, first_uncleanable_offset=far)
    assert len(groups) == 1
    groups = group_segments_by_size(segments, **limits, first_uncleanable_offset=far + 1)
    assert [len(group) for group in groups] == [5, 1]


def test_no_segments_are_no_groups() -> None:
    assert not group_segments_by_size([], max_size=1, max_index_size=1, first_uncleanable_offset=0)
