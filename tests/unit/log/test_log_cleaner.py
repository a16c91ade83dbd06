"""The log cleaner on real files: what is left of a log, and what stops it."""

import os
import shutil
from pathlib import Path

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.cleaner_config import CleanerConfig
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.log.file_records import FileSlice
from kafkalike.log.log import Log
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.protocol.records.compression import CompressionType
from tests.support.golden import expected_partitions, golden_bytes, partition_dir
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    append_marker,
    batches_of,
    committed_offsets_of,
    open_log,
    records_of,
)
from tests.support.log_cleaning import COMPACT, Cleaning, a_compacted_log, clean, pairs_of, put

HOUR_MS = 3600 * 1000
UPDATES = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"), (b"b", b"5")]
LATEST = [(2, b"a", b"3"), (3, b"c", b"4"), (4, b"b", b"5")]


def modify(log: Log, at_ms: int) -> None:
    """Say that all closed segments were written at a time."""
    for segment in list(log.segments)[:-1]:
        os.utime(segment.log.path, ns=(at_ms * 10**6, at_ms * 10**6))


def files_of(log: Log, *kinds: str) -> set[str]:
    return {path.name for path in log.directory.iterdir() if path.suffix in kinds}


# --- what is left


def test_last_value_of_each_key_is_left_where_it_was(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    clean(log)
    assert pairs_of(records_of(log)) == LATEST
    assert (log.log_start_offset, log.log_end_offset) == (0, 5)


def test_active_segment_is_never_cleaned(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES, segment_bytes=10_000)
    put(log, (b"a", b"6"), (b"a", b"7"))
    clean(log)
    # The value in the active segment has not overtaken the last clean one yet.
    assert pairs_of(records_of(log)) == [*LATEST, (5, b"a", b"6"), (6, b"a", b"7")]


def test_any_offset_can_be_read_from_after_cleaning(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    clean(log)
    for offset in range(log.log_end_offset):
        expected = [each for each in LATEST if each[0] >= offset]
        assert pairs_of(records_of(log, offset)) == expected


def test_log_of_which_everything_is_overtaken_keeps_its_offsets(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    put(log, *((key, b"new") for key in (b"a", b"b", b"c")))
    log.roll(NOW_MS)
    clean(log)
    assert [record.offset for record in records_of(log)] == [5, 6, 7]
    assert log.log_start_offset == 0
    assert [record.offset for record in records_of(log, 1)] == [5, 6, 7]


@pytest.mark.parametrize("codec", CompressionType)
def test_compressed_batches_are_cleaned_inside(tmp_path: Path, codec: CompressionType) -> None:
    log = a_compacted_log(tmp_path)
    keys, values = zip(*UPDATES, strict=True)
    append(log, a_batch(values, keys=keys, compression=codec))
    log.roll(NOW_MS)
    clean(log)
    assert pairs_of(records_of(log)) == LATEST
    ((header, _),) = batches_of(log)
    assert header.compression_type is codec
    assert (header.base_offset, header.last_offset) == (0, 4)


@pytest.mark.parametrize(("magic", "version"), [(0, "0.9.0"), (1, "0.10.2")])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.SNAPPY])
def test_old_formats_are_cleaned_too(
    tmp_path: Path, magic: int, version: str, codec: CompressionType
) -> None:
    log = a_compacted_log(tmp_path, message_format_version=version)
    keys, values = zip(*UPDATES, strict=True)
    append(log, a_batch(values, keys=keys, compression=codec, magic=magic))
    log.roll(NOW_MS)
    clean(log)
    assert pairs_of(records_of(log)) == LATEST
    assert {header.magic for header, _ in batches_of(log)} == {magic}


def test_time_index_finds_records_after_cleaning(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, segment_bytes=1000, index_interval_bytes=50)
    for number in range(20):
        put(log, (b"%d" % (number % 3), b"v"), timestamp=NOW_MS + number)
    log.roll(NOW_MS)
    clean(log)
    left = [record.offset for record in records_of(log)]
    for number in range(20):
        found = log.fetch_offset_by_timestamp(NOW_MS + number)
        expected = min((offset for offset in left if offset >= number), default=None)
        assert (found.offset if found else None) == expected


def test_records_without_key_are_removed(tmp_path: Path) -> None:
    """A topic that was not compacted from its first day may have such."""
    log = a_compacted_log(tmp_path, cleanup_policy=("delete",))
    put(log, (None, b"1"), (b"a", b"2"), (None, b"3"))
    log.roll(NOW_MS)
    log.update_config(TopicConfig(**COMPACT))
    clean(log)
    assert pairs_of(records_of(log)) == [(1, b"a", b"2")]


# --- tombstones


def test_tombstone_removes_its_key_and_stays_for_a_while(tmp_path: Path) -> None:
    """`delete.retention.ms`, counted between the files of what is cleaned and what is new."""
    log = a_compacted_log(tmp_path, (b"a", b"1"), (b"a", None), delete_retention_ms=HOUR_MS)
    modify(log, NOW_MS)
    cleaning = Cleaning(log)
    assert cleaning.clean()
    assert pairs_of(records_of(log)) == [(1, b"a", None)]
    put(log, (b"b", b"2"))
    log.roll(NOW_MS)
    modify(log, NOW_MS)
    assert cleaning.clean()
    assert pairs_of(records_of(log)) == [(1, b"a", None), (2, b"b", b"2")]
    cleaning.close()


def test_old_tombstone_goes_with_a_later_cleaning(tmp_path: Path) -> None:
    settings = {"delete_retention_ms": HOUR_MS, "segment_bytes": 100}
    log = a_compacted_log(tmp_path, (b"a", b"1"), (b"a", None), **settings)
    modify(log, NOW_MS)
    cleaning = Cleaning(log)
    assert cleaning.clean()
    # A segment of an hour later becomes clean; the one after it makes the log dirty again.
    for hours in (1, 2):
        put(log, (b"b", b"%d" % hours))
        log.roll(NOW_MS)
        path = list(log.segments)[-2].log.path
        at_ns = (NOW_MS + hours * HOUR_MS) * 10**6
        os.utime(path, ns=(at_ns, at_ns))
        assert cleaning.clean()
    assert pairs_of(records_of(log)) == [(3, b"b", b"2")]
    cleaning.close()


def test_cleaned_segment_is_as_old_as_what_it_replaces(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    modify(log, NOW_MS)
    clean(log)
    assert log.segments.first.last_modified_ms == NOW_MS


# --- segments and files


def test_small_segments_are_merged(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES, segment_bytes=100)
    assert len(log.segments) == 6
    log.update_config(TopicConfig(**{**COMPACT, "segment_bytes": 1000}))
    clean(log)
    assert [segment.base_offset for segment in log.segments] == [0, 5]
    assert files_of(log, ".log") == {f"{0:020d}.log", f"{5:020d}.log"}
    assert not files_of(log, ".cleaned", ".swap", ".deleted")


def test_snapshots_of_merged_segments_go(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, segment_bytes=100)
    for number in range(4):
        append(log, a_batch(keys=[b"k"], producer_id=1, base_sequence=number))
    log.roll(NOW_MS)
    log.update_config(TopicConfig(**{**COMPACT, "segment_bytes": 1000}))
    clean(log)
    assert files_of(log, ".snapshot") == {f"{4:020d}.snapshot"}


def test_index_entries_fit_however_small_the_index_is(tmp_path: Path) -> None:
    """A follower writes many batches at once, with one index entry; the cleaner must not have more
    entries than fit, nor may a recovery."""
    leader = a_compacted_log(tmp_path / "leader", segment_bytes=10**6)
    for number in range(100):
        put(leader, (b"%d" % number, b"v" * 50), timestamp=NOW_MS + number)
    settings = {**COMPACT, "segment_bytes": 10**6, "segment_index_bytes": 60}
    settings["index_interval_bytes"] = 100
    log = open_log(tmp_path / "orders-0", **settings)
    batches = b"".join(batch for _, batch in batches_of(leader))
    log.append_as_follower(memoryview(batches), NOW_MS)
    log.roll(NOW_MS)
    log.update_high_watermark(log.log_end_offset)
    clean(log)
    cleaned = log.segments.first
    assert 1 <= cleaned.time_index.entries <= 5
    cleaned.sanity_check()
    assert len(records_of(log)) == 100
    log.close()
    for path in log.directory.glob("*index"):
        path.unlink()
    assert len(records_of(open_log(log.directory, **settings, had_clean_shutdown=False))) == 100


def test_reader_of_an_old_segment_is_not_disturbed(tmp_path: Path) -> None:
    """What was read before the swap can still be sent, though its file is deleted already."""
    log = a_compacted_log(tmp_path, *UPDATES)
    before = log.read(0, 10_000, FetchIsolation.HIGH_WATERMARK, min_one_message=True).records
    assert isinstance(before, FileSlice)
    expected = before.read()
    clean(log)
    assert before.read() == expected
    after = log.read(0, 10_000, FetchIsolation.HIGH_WATERMARK, min_one_message=True).records
    assert isinstance(after, FileSlice)
    assert after.read() != expected


def test_high_watermark_still_bounds_reads_after_cleaning(tmp_path: Path) -> None:
    """Its position was in a segment that has been replaced."""
    log = a_compacted_log(tmp_path, *UPDATES, segment_bytes=1000)
    put(log, (b"a", b"6"))
    log.roll(NOW_MS)
    put(log, (b"a", b"7"))
    log.update_high_watermark(6)
    assert log.high_watermark_metadata.segment_base_offset == 6
    clean(log)
    log.append_as_leader(a_batch([b"8"], keys=[b"a"]), leader_epoch=0, now_ms=NOW_MS)
    info = log.read(5, 10_000, FetchIsolation.HIGH_WATERMARK, min_one_message=True)
    assert len(info.records) == len(a_batch([b"6"], keys=[b"a"]))
    assert log.high_watermark == 6


def test_restart_finds_the_cleaned_log(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    clean(log)
    log.close()
    again = open_log(log.directory, **COMPACT)
    assert pairs_of(records_of(again)) == LATEST
    assert again.log_end_offset == 5


# --- producers and transactions


def test_producer_goes_on_after_its_records_are_gone(tmp_path: Path) -> None:
    """Idempotence outlives compaction: the last sequence number is found after a restart."""
    log = a_compacted_log(tmp_path)
    for sequence in range(3):
        append(log, a_batch(keys=[b"k"], producer_id=5, base_sequence=sequence))
    put(log, (b"k", b"last"))
    log.roll(NOW_MS)
    clean(log)
    assert pairs_of(records_of(log)) == [(3, b"k", b"last")]
    empty = [header for header, _ in batches_of(log) if not header.record_count]
    assert [(header.base_offset, header.base_sequence) for header in empty] == [(2, 2)]
    log.close()
    for path in log.directory.glob("*.snapshot"):
        path.unlink()
    again = open_log(log.directory, **COMPACT, had_clean_shutdown=False)
    entry = again.producer_state.last_entry(5)
    assert entry is not None
    assert entry.last_seq == 2
    assert append(again, a_batch(keys=[b"k"], producer_id=5, base_sequence=3)).first_offset == 4


def transactional(log: Log, producer_id: int, key: bytes, sequence: int = 0) -> None:
    append(
        log,
        a_batch(keys=[key], producer_id=producer_id, base_sequence=sequence, is_transactional=True),
    )


def test_aborted_records_are_removed_and_do_not_overtake(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, (b"a", b"good"))
    transactional(log, 1, b"a")
    append_marker(log, 1, is_commit=False)
    transactional(log, 2, b"b")
    append_marker(log, 2, is_commit=True)
    # The producers go on elsewhere, so that no batch is kept for them alone.
    transactional(log, 1, b"x", 1)
    append_marker(log, 1, is_commit=True)
    log.roll(NOW_MS)
    clean(log)
    assert [record.key for record in records_of(log)] == [b"a", b"b", b"x"]
    assert committed_offsets_of(log) == [0, 3, 5]


def test_index_of_aborted_transactions_is_written_anew(tmp_path: Path) -> None:
    """The abort marker stays one cleaning longer than the records that it makes invalid."""
    log = a_compacted_log(tmp_path, segment_bytes=300)
    for sequence in range(4):
        transactional(log, 1, b"a", sequence)
        append_marker(log, 1, is_commit=False)
    log.roll(NOW_MS)
    before = log.collect_aborted_transactions(0, log.log_end_offset)
    assert len(before) == 4
    clean(log)
    assert log.collect_aborted_transactions(0, log.log_end_offset) == before
    # The last batch of the producer is there without its record.
    assert [(h.base_offset, h.record_count) for h, _ in batches_of(log) if not h.is_control] == [
        (6, 0)
    ]
    put(log, (b"b", b"1"))
    log.roll(NOW_MS)
    clean(log)
    assert log.collect_aborted_transactions(0, log.log_end_offset) == before[-1:]


def test_markers_go_with_old_tombstones(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, delete_retention_ms=0)
    transactional(log, 1, b"a")
    append_marker(log, 1, is_commit=True)
    put(log, (b"a", b"later"))
    log.producer_state.producers.clear()
    log.roll(NOW_MS)
    cleaning = Cleaning(log)
    offsets = []
    for _ in range(2):
        assert cleaning.clean()
        offsets.append([header.base_offset for header, _ in batches_of(log)])
        put(log, (b"b", b"more"))
        log.roll(NOW_MS)
    cleaning.close()
    assert offsets == [[1, 2], [2, 3]]


def test_open_transaction_is_not_touched(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, (b"a", b"1"), (b"a", b"2"))
    transactional(log, 1, b"a")
    put(log, *UPDATES)
    log.roll(NOW_MS)
    clean(log)
    assert [record.offset for record in records_of(log)] == [1, 2, 3, 4, 5, 6, 7]


# --- which log, and when


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


# --- its life


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


# --- a log that Kafka has cleaned


@pytest.fixture
def golden_log(tmp_path: Path) -> Log:
    """The compacted log of the golden directory: clean up to the active segment at 811."""
    source = partition_dir("compacted-0")
    shutil.copytree(source, tmp_path / source.name)
    shutil.copy(source.parent / "cleaner-offset-checkpoint", tmp_path)
    log = open_log(tmp_path / source.name, **{**COMPACT, "segment_bytes": 16384})
    log.update_high_watermark(log.log_end_offset)
    return log


def test_what_kafka_has_cleaned_is_clean(golden_log: Log) -> None:
    cleaning = Cleaning(golden_log)
    assert cleaning.checkpoint() == {golden_log.tp: 811}
    assert not cleaning.clean()
    cleaning.close()


def test_what_kafka_has_cleaned_stays_as_it_is_to_the_byte(golden_log: Log) -> None:
    first = golden_log.segments.first.log.path
    before = first.read_bytes()
    (golden_log.parent_dir / "cleaner-offset-checkpoint").unlink()
    cleaning = Cleaning(golden_log)
    assert cleaning.clean()
    assert first.read_bytes() == before
    cleaning.close()


def test_cleaning_goes_on_where_kafka_has_stopped(golden_log: Log) -> None:
    wanted = {
        golden_bytes(record["key"]): record["offset"]
        for record in expected_partitions()["compacted-0"]["records"]
    }
    golden_log.roll(NOW_MS)
    clean(golden_log)
    assert {record.key: record.offset for record in records_of(golden_log)} == wanted
    assert len(records_of(golden_log)) == len(wanted) == 20
