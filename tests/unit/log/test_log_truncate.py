"""Truncation: what followers do when they diverged from the leader."""

from pathlib import Path

import pytest

from kafkalike.log.log import Log
from kafkalike.log.log_environment import LogEnvironment
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    append_marker,
    open_log,
    values_of,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Ten records in ten batches, three to a segment."""
    log = open_log(tmp_path / "orders-0", segment_bytes=220, index_interval_bytes=0)
    for number in range(10):
        append(log, a_batch([b"%d" % number]), leader_epoch=number // 4)
    return log


@pytest.mark.parametrize("offset", range(10))
def test_everything_from_the_offset_on_is_gone(log: Log, offset: int) -> None:
    assert log.truncate_to(offset, NOW_MS)
    assert log.log_end_offset == offset
    assert values_of(log) == [b"%d" % number for number in range(offset)]
    assert log.high_watermark == offset
    assert append(log, a_batch([b"new"])).first_offset == offset
    assert values_of(log, offset) == [b"new"]


def test_truncation_cuts_before_the_batch_that_holds_the_offset(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    append(log, a_batch([b"a", b"b"]))
    append(log, a_batch([b"c", b"d", b"e"]))
    log.truncate_to(3, NOW_MS)
    assert values_of(log) == [b"a", b"b"]
    assert log.log_end_offset == 3


def test_truncation_to_the_end_does_nothing(log: Log) -> None:
    assert not log.truncate_to(10, NOW_MS)
    assert not log.truncate_to(99, NOW_MS)
    assert len(values_of(log)) == 10


def test_epoch_of_a_leader_that_wrote_nothing_is_forgotten(log: Log) -> None:
    log.maybe_assign_epoch_start_offset(9, 10)
    log.truncate_to(10, NOW_MS)
    assert log.latest_epoch == 2


def test_epochs_after_the_offset_are_forgotten(log: Log) -> None:
    log.truncate_to(6, NOW_MS)
    assert log.leader_epoch_cache is not None
    assert log.leader_epoch_cache.entries == [(0, 0), (1, 4)]
    assert log.end_offset_for_epoch(1) == (6, 1)


def test_negative_offset_is_refused(log: Log) -> None:
    with pytest.raises(ValueError, match="-1"):
        log.truncate_to(-1, NOW_MS)


def test_offset_before_the_first_segment_empties_the_log(log: Log) -> None:
    log.truncate_fully_and_start_at(100, NOW_MS)
    append(log, a_batch([b"at 100"]))
    assert log.truncate_to(50, NOW_MS)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert append(log, a_batch([b"at 50"])).first_offset == 50


def test_full_truncation_begins_anew_at_the_offset(log: Log) -> None:
    log.truncate_fully_and_start_at(1000, NOW_MS)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (1000, 1000, 1000)
    assert log.latest_epoch is None
    assert [segment.base_offset for segment in log.segments] == [1000]
    assert append(log, a_batch([b"x"])).first_offset == 1000
    assert values_of(log) == [b"x"]


def test_truncation_lowers_recovery_point_and_log_start(log: Log) -> None:
    log.flush(NOW_MS)
    log.maybe_increment_log_start_offset(5)
    log.truncate_to(4, NOW_MS)
    assert (log.log_start_offset, log.recovery_point) == (4, 4)


def test_flush_that_was_overtaken_by_a_truncation_promises_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    for _ in range(10):
        append(log, a_batch())
    job = log.prepare_flush()
    assert job is not None
    job.run()
    log.truncate_to(4, NOW_MS)
    for _ in range(8):
        append(log, a_batch([b"other"]))
    job.complete(NOW_MS)
    assert log.recovery_point == 0


def test_producers_go_back_to_where_they_were(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    for sequence in range(4):
        append(log, a_batch([b"v"], producer_id=7, base_sequence=sequence))
    log.truncate_to(2, NOW_MS)
    entry = log.producer_state.last_entry(7)
    assert entry is not None
    assert entry.last_seq == 1
    assert append(log, a_batch([b"v"], producer_id=7, base_sequence=2)).first_offset == 2


def test_transaction_whose_marker_was_truncated_is_open_again(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    log.append_as_leader(
        a_batch([b"v"], producer_id=7, is_transactional=True), leader_epoch=0, now_ms=NOW_MS
    )
    append_marker(log, 7, is_commit=False, moves_high_watermark=False)
    log.truncate_to(1, NOW_MS)
    assert log.first_unstable_offset == 0
    assert log.active_segment.txn_index.all_aborted_txns == []
    append_marker(log, 7, is_commit=False)
    assert log.active_segment.txn_index.all_aborted_txns == [(7, 0, 1, 2)]


def test_segments_go_by_another_name_until_they_are_deleted(tmp_path: Path) -> None:
    waiting = []
    environment = LogEnvironment(
        delete_later=lambda log_dir, delay_ms, delete: waiting.append((log_dir, delay_ms, delete)),
        flush_later=lambda job: job.complete(NOW_MS),
    )
    log = open_log(
        tmp_path / "t-0", environment=environment, segment_bytes=100, file_delete_delay_ms=777
    )
    for _ in range(3):
        append(log, a_batch())
    log.truncate_to(0, NOW_MS)
    assert [(log_dir, delay_ms) for log_dir, delay_ms, _ in waiting] == [(tmp_path, 777)]
    assert len(list(log.directory.glob("*.log.deleted"))) == 2
    waiting[0][2]()
    assert not list(log.directory.glob("*.deleted"))


def test_markers_before_the_offset_still_count(tmp_path: Path) -> None:
    """Producers are rebuilt from the log, markers included, where no snapshot is near."""
    log = open_log(tmp_path / "orders-0")
    for sequence, is_commit in enumerate((True, False)):
        append(log, a_batch([b"v"], producer_id=7, base_sequence=sequence, is_transactional=True))
        append_marker(log, 7, is_commit=is_commit, coordinator_epoch=3)
    append(log, a_batch([b"v"], producer_id=7, base_sequence=2, is_transactional=True))
    append(log, a_batch([b"plain"]))
    log.truncate_to(4, NOW_MS)
    entry = log.producer_state.last_entry(7)
    assert entry is not None
    assert (entry.last_seq, entry.coordinator_epoch) == (1, 3)
    assert entry.current_txn_first_offset is None
    assert (log.first_unstable_offset, log.last_stable_offset) == (None, 4)
