"""Which log is cleaned and when, up to where, and what stops it."""

from pathlib import Path

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.log.cleaner_config import CleanerConfig
from kafkalike.log.log_environment import LogEnvironment
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    open_log,
    records_of,
)
from tests.support.log_cleaning import (
    COMPACT,
    LATEST,
    UPDATES,
    Cleaning,
    a_compacted_log,
    clean,
    files_of,
    modify,
    pairs_of,
    put,
)

HOUR_MS = 3600 * 1000


def test_filthiest_log_comes_first(tmp_path: Path) -> None:
    logs = []
    for number, dirty in enumerate((1, 3, 2)):
        log = open_log(tmp_path / f"t-{number}", **{**COMPACT, "segment_bytes": 100})
        put(log, *UPDATES)
        log.roll(NOW_MS)
        logs.append((log, dirty))
    cleaning = Cleaning(*(log for log, _ in logs))
    for _ in logs:
        assert cleaning.clean()
    assert not cleaning.clean()
    for log, dirty in logs:
        put(log, *UPDATES[:dirty])
        log.roll(NOW_MS)
    order = []
    for _ in logs:
        before = cleaning.checkpoint()
        assert cleaning.clean()
        order += [tp.partition for tp, end in cleaning.checkpoint().items() if before[tp] != end]
    assert order == [1, 2, 0]
    assert not cleaning.clean()
    cleaning.close()


def test_log_that_is_not_dirty_enough_waits(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES, min_cleanable_dirty_ratio=0.5)
    cleaning = Cleaning(log)
    assert cleaning.clean()
    put(log, (b"a", b"6"))
    log.roll(NOW_MS)
    assert not cleaning.clean()
    assert 0 < cleaning.cleaner.manager.dirtiest_log_cleanable_ratio < 0.5
    put(log, *UPDATES)
    log.roll(NOW_MS)
    assert cleaning.clean()
    cleaning.close()


def test_log_with_the_policy_delete_is_left_alone(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES, cleanup_policy=("delete",))
    clean(log)
    assert len(records_of(log)) == 5


def test_compact_and_delete_does_both(tmp_path: Path) -> None:
    log = a_compacted_log(
        tmp_path,
        *UPDATES,
        cleanup_policy=("compact", "delete"),
        retention_ms=HOUR_MS,
        segment_bytes=100,
    )
    put(log, (b"d", b"new"), timestamp=NOW_MS + 2 * HOUR_MS)
    log.roll(NOW_MS)
    modify(log, NOW_MS)
    cleaning = Cleaning(log)
    cleaning.clean()
    assert [record.key for record in records_of(log)] == [b"a", b"c", b"b", b"d"]
    cleaning.time.clock.advance(3600 * 1.5)
    cleaning.clean()
    assert [record.key for record in records_of(log)] == [b"d"]
    assert log.log_start_offset == 5
    cleaning.close()


def test_records_before_the_log_start_are_deleted_by_the_cleaner(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES, segment_bytes=100, min_cleanable_dirty_ratio=1.0)
    log.maybe_increment_log_start_offset(3)
    clean(log)
    assert log.segments.first.base_offset == 3


def test_checkpoint_tells_up_to_where_the_log_is_clean(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    cleaning = Cleaning(log)
    cleaning.clean()
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\norders 0 5\n"
    assert not cleaning.clean()
    cleaning.close()
    again = Cleaning(log)
    assert not again.clean()
    again.close()


def test_broken_checkpoint_means_that_all_is_dirty(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    (tmp_path / "cleaner-offset-checkpoint").write_text("nonsense\nmore\n")
    cleaning = Cleaning(log)
    assert cleaning.clean()
    assert list(cleaning.checkpoint().values()) == [5]
    cleaning.close()


def test_gap_at_the_end_of_a_segment_is_clean_too(tmp_path: Path) -> None:
    """The last records of a segment were compacted away: the cleaner must not stop before them."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(a_batch(keys=[b"k"]))
    (directory / f"{10:020d}.log").touch()
    log = open_log(directory, **COMPACT)
    log.update_high_watermark(10)
    cleaning = Cleaning(log)
    assert cleaning.clean()
    assert cleaning.checkpoint() == {log.tp: 10}
    assert not cleaning.clean()
    cleaning.close()


def test_partitions_that_are_gone_leave_the_checkpoint(tmp_path: Path) -> None:
    """Nobody tells of what was deleted while the broker was down."""
    log = a_compacted_log(tmp_path, *UPDATES)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nold 3 17\n")
    cleaning = Cleaning(log)
    cleaning.clean()
    assert cleaning.checkpoint() == {log.tp: 5}
    cleaning.close()


def test_small_buffer_cleans_in_several_passes(tmp_path: Path) -> None:
    """The map holds so many keys; what it does not hold is left for the next time."""
    updates = [(b"%d" % (number % 40), b"%d" % number) for number in range(120)]
    log = a_compacted_log(tmp_path, *updates, segment_bytes=1000)
    cleaning = Cleaning(log, log_cleaner_dedupe_buffer_size=24 * 20)
    ends = []
    while cleaning.clean():
        ends += cleaning.checkpoint().values()
        assert ends == sorted(set(ends))
        latest = dict(updates)
        assert {record.key: record.value for record in records_of(log)} == latest
    assert ends[0] == 18
    assert ends[-1] == log.active_segment.base_offset
    # One pass sees 18 keys of 40: what was overtaken within its reach is gone, and that is all.
    assert len(records_of(log)) < 120
    cleaning.close()


def test_batch_larger_than_the_buffer_is_cleaned(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, segment_bytes=10**6)
    append(log, a_batch([b"v" * 5000] * 3, keys=[b"a", b"b", b"a"]))
    put(log, (b"b", b"small"))
    log.roll(NOW_MS)
    clean(log, log_cleaner_io_buffer_size=1000)
    assert [record.offset for record in records_of(log)] == [2, 3]


# --- what stops it


def interrupt(cleaning: Cleaning, at_call: int, action: object) -> None:
    """Do something when the cleaner goes to its thread for the n-th time."""
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == at_call:
            action()

    cleaning.before_blocking = count


@pytest.mark.parametrize("at_call", [1, 2, 3])
def test_truncation_stops_the_cleaning(tmp_path: Path, at_call: int) -> None:
    """1: the map is built, 2: files are opened, 3: segments are copied."""
    log = a_compacted_log(tmp_path, *UPDATES, segment_bytes=100)
    cleaning = Cleaning(log)

    def truncate() -> None:
        with cleaning.cleaner.manager.truncation(log, 2):
            log.truncate_to(2, NOW_MS)

    interrupt(cleaning, at_call, truncate)
    assert cleaning.clean()
    assert pairs_of(records_of(log)) == [(0, b"a", b"1"), (1, b"b", b"2")]
    assert cleaning.checkpoint() == {}
    assert not files_of(log, ".cleaned", ".swap")
    assert cleaning.cleaner.manager.states.get(log.tp) is None
    put(log, *UPDATES)
    log.roll(NOW_MS)
    cleaning.before_blocking = lambda: None
    assert cleaning.clean()
    assert [record.offset for record in records_of(log)] == [4, 5, 6]
    cleaning.close()


def test_cleaning_that_is_aborted_does_not_read_on(tmp_path: Path) -> None:
    """However much there is still to read: it stops at the next slice."""
    log = a_compacted_log(tmp_path, segment_bytes=10**6)
    for number in range(500):
        put(log, (b"%d" % number, b"v"))
    log.roll(NOW_MS)
    cleaning = Cleaning(log)
    interrupt(cleaning, 1, lambda: cleaning.cleaner.manager.abort_cleaning(log.tp))
    cleaning.clean()
    assert cleaning.blocking_calls == 1
    cleaning.close()


def test_truncation_takes_the_checkpoint_back(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES, segment_bytes=100)
    cleaning = Cleaning(log)
    cleaning.clean()
    manager = cleaning.cleaner.manager
    with manager.truncation(log, 3):
        log.truncate_to(3, NOW_MS)
    assert list(cleaning.checkpoint().values()) == [log.active_segment.base_offset]
    with manager.truncation(log):
        log.truncate_fully_and_start_at(0, NOW_MS)
    assert list(cleaning.checkpoint().values()) == [0]
    cleaning.close()


def test_truncation_within_the_active_segment_does_not_matter(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    put(log, (b"a", b"6"))
    cleaning = Cleaning(log)

    def truncate() -> None:
        with cleaning.cleaner.manager.truncation(log, 5):
            log.truncate_to(5, NOW_MS)

    interrupt(cleaning, 1, truncate)
    assert cleaning.clean()
    assert list(cleaning.checkpoint().values()) == [5]
    assert pairs_of(records_of(log)) == LATEST
    cleaning.close()


@pytest.mark.parametrize("at_call", [1, 2, 3])
def test_deletion_of_the_log_stops_the_cleaning(tmp_path: Path, at_call: int) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    cleaning = Cleaning(log)

    def delete() -> None:
        cleaning.pool.remove(log.tp)
        cleaning.cleaner.manager.forget(log)
        log.rename_dir("orders-0.1234-delete")

    interrupt(cleaning, at_call, delete)
    assert cleaning.clean()
    assert len(records_of(log)) == 5
    assert cleaning.checkpoint() == {}
    assert not cleaning.failures
    cleaning.close()


def test_log_that_is_moving_is_not_cleaned(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    cleaning = Cleaning(log)
    future = open_log(tmp_path / "orders-0.1234-future", **COMPACT)
    interrupt(cleaning, 2, lambda: cleaning.pool.add(future))
    assert cleaning.clean()
    assert len(records_of(log)) == 5
    cleaning.before_blocking = lambda: None
    assert not cleaning.clean()
    cleaning.pool.remove(log.tp, is_future=True)
    assert cleaning.clean()
    assert pairs_of(records_of(log)) == LATEST
    cleaning.close()


def test_log_in_another_directory_keeps_its_checkpoint(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path / "a", *UPDATES)
    cleaning = Cleaning(log)
    cleaning.clean()
    moved = open_log(tmp_path / "a" / "orders-0", **COMPACT)
    cleaning.cleaner.manager.alter_checkpoint_dir(log, moved)
    assert list(cleaning.checkpoint().values()) == [5]
    cleaning.close()


def test_disk_error_takes_the_directory_offline(tmp_path: Path) -> None:
    told: list[Path] = []
    environment = LogEnvironment(on_storage_failure=lambda path, *_: told.append(path))
    log = open_log(tmp_path / "orders-0", environment=environment, **COMPACT)
    put(log, *UPDATES)
    log.roll(NOW_MS)
    cleaning = Cleaning(log)

    def spoil() -> None:
        raise OSError(5, "Input/output error")

    interrupt(cleaning, 2, spoil)
    assert cleaning.clean()
    assert told == [tmp_path]
    cleaning.close()


def test_log_that_cannot_be_read_is_not_tried_again(tmp_path: Path) -> None:
    """The others are; and the log stays as it is."""
    bad = a_compacted_log(tmp_path, *UPDATES, segment_bytes=1000)
    good = open_log(tmp_path / "good-0", **COMPACT)
    put(good, *UPDATES)
    good.roll(NOW_MS)
    path = bad.segments.first.log.path
    data = bytearray(path.read_bytes())
    data[8:12] = b"\x7f\xff\xff\xff"
    path.write_bytes(data)
    cleaning = Cleaning(bad, good)
    results = [cleaning.clean() for _ in range(3)]
    assert sorted(results) == [False, False, True]
    assert cleaning.cleaner.manager.uncleanable_partitions(tmp_path) == {bad.tp}
    assert pairs_of(records_of(good)) == LATEST
    assert path.read_bytes() == data
    assert not files_of(bad, ".cleaned", ".swap")
    cleaning.close()


# --- its pace


def test_throttle_makes_it_wait(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    cleaning = Cleaning(log, log_cleaner_io_max_bytes_per_second=10.0)
    cleaning.before_blocking = lambda: cleaning.time.clock.advance(1)
    started_ms = cleaning.time.now_ms()
    assert cleaning.clean()
    # All is read twice, and what stays is written once.
    moved_bytes = (5 + 5 + 3) * len(a_batch([b"1"], keys=[b"a"]))
    assert cleaning.time.now_ms() - started_ms >= moved_bytes / 10 * 1000
    cleaning.close()


def test_rate_can_change_while_it_waits(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    cleaning = Cleaning(log, log_cleaner_io_max_bytes_per_second=0.001)
    interrupt(cleaning, 1, lambda: cleaning.time.clock.advance(1))
    started_ms = cleaning.time.now_ms()
    faster = CleanerConfig.of(BrokerConfig(log_cleaner_io_max_bytes_per_second=1e9))
    cleaning.time.clock.callLater(60, cleaning.cleaner.reconfigure, faster)
    assert cleaning.clean()
    assert cleaning.time.now_ms() - started_ms < 90_000
    cleaning.close()


def test_stats_tell_what_was_done(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    cleaning = Cleaning(log)
    cleaning.clean()
    stats = cleaning.cleaner.last_stats
    assert (stats.messages_read, stats.messages_written, stats.map_messages_read) == (5, 3, 5)
    assert stats.bytes_read == 5 * len(a_batch([b"1"], keys=[b"a"]))
    assert "40.0% fewer messages" in stats.summary()
    cleaning.close()
