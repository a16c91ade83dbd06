"""The files that the log cleaner writes, and how they come into the log."""

import os
from pathlib import Path

import pytest

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.cleaner_batches import unchanged
from kafkalike.log.cleaner_input import SourceSegment, read_batches
from kafkalike.log.cleaner_output import CleanedSegmentWriter
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.log.file_records import FileSlice
from kafkalike.log.log import Log
from kafkalike.protocol.records.record_batch import iter_batches
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    batches_of,
    open_log,
    records_of,
)
from tests.support.log_cleaning import (
    COMPACT,
    LATEST,
    UPDATES,
    Cleaning,
    a_compacted_log,
    append_in_transaction,
    clean,
    files_of,
    pairs_of,
    put,
)


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
    before = log.segments.first
    clean(log)
    cleaned = log.segments.first
    assert cleaned is not before
    assert 1 <= cleaned.time_index.entries <= 5
    cleaned.sanity_check()
    assert len(records_of(log)) == 100
    log.close()
    for path in log.directory.glob("*index"):
        path.unlink()
    assert len(records_of(open_log(log.directory, **settings, had_clean_shutdown=False))) == 100


def test_indexes_are_cut_to_their_entries(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, segment_bytes=10**5, index_interval_bytes=200)
    for number in range(50):
        put(log, (b"%d" % number, b"v"), timestamp=NOW_MS + number)
    log.roll(NOW_MS)
    clean(log)
    cleaned = log.segments.first
    assert cleaned.offset_index.entries > 5
    assert cleaned.offset_index.path.stat().st_size == cleaned.offset_index.entries * 8
    assert cleaned.time_index.path.stat().st_size == cleaned.time_index.entries * 12
    # The last entry is for the whole segment: retention asks for it.
    assert cleaned.time_index.last_entry == (NOW_MS + 49, 49)
    assert cleaned.largest_timestamp == NOW_MS + 49


def test_cleaned_segment_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    synced: set[int] = set()
    fsync, rename = os.fsync, Path.rename
    unsynced: list[str] = []

    def note_fsync(fd: int) -> None:
        synced.add(os.fstat(fd).st_ino)
        fsync(fd)

    def note_rename(path: Path, target: Path) -> Path:
        if path.suffix == ".cleaned" and path.stat().st_ino not in synced:
            unsynced.append(path.name)
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "rename", note_rename)
    clean(log)
    assert not unsynced
    assert log.segments.first.log.path.stat().st_ino in synced


def test_segment_whose_offsets_are_too_far_apart_is_split_first(tmp_path: Path) -> None:
    """KAFKA-6264: older brokers could compact into segments that no index can hold."""
    far = (1 << 31) + 100
    directory = tmp_path / "orders-0"
    directory.mkdir()
    for suffix, offsets in ((0, [0, 7, far, far + 1]), (2 * far, [])):
        batches = [a_batch([b"v"], keys=[b"k"], base_offset=offset) for offset in offsets]
        (directory / f"{suffix:020d}.log").write_bytes(b"".join(batches))
        for kind in ("index", "timeindex"):
            (directory / f"{suffix:020d}.{kind}").touch()
    log = open_log(directory, **COMPACT)
    log.update_high_watermark(log.log_end_offset)
    assert log.segments.first.has_overflow()
    cleaning = Cleaning(log)
    assert cleaning.clean()
    assert [segment.base_offset for segment in log.segments] == [0, far, 2 * far]
    assert len(records_of(log)) == 4
    assert cleaning.clean()
    assert [record.offset for record in records_of(log)] == [far + 1]
    cleaning.close()


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


@pytest.mark.parametrize("isolation", [FetchIsolation.HIGH_WATERMARK, FetchIsolation.TXN_COMMITTED])
def test_positions_in_a_replaced_segment_are_looked_up_anew(
    tmp_path: Path, isolation: FetchIsolation
) -> None:
    """High watermark and last stable offset bound reads wherever they lie in the new file."""
    log = a_compacted_log(tmp_path, segment_bytes=1000)
    put(log, (b"a", b"large" * 50), (b"b", b"small"))
    append_in_transaction(log, 1, b"c")
    put(log, (b"d", b"small"))
    if isolation is FetchIsolation.HIGH_WATERMARK:
        log.update_high_watermark(2)
    log.roll(NOW_MS)
    assert read_offsets(log, isolation) == [0, 1]
    old = log.segments.first
    source = SourceSegment(0, old.log, (), True, NOW_MS)
    writer = CleanedSegmentWriter(log.directory, log.config, [source], NOW_MS)
    for header, batch in list(read_batches(old.log, 0, 1000))[1:]:
        writer.add(unchanged(header, batch, 1))
    writer.finish()
    log.replace_segments([writer.segment], [old])
    assert read_offsets(log, isolation) == [1]


def read_offsets(log: Log, isolation: FetchIsolation) -> list[int]:
    records = log.read(0, 10_000, isolation, min_one_message=True).records
    assert isinstance(records, FileSlice)
    return [header.base_offset for _, header in iter_batches(records.read())]


def test_restart_finds_the_cleaned_log(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, *UPDATES)
    clean(log)
    log.close()
    again = open_log(log.directory, **COMPACT)
    assert pairs_of(records_of(again)) == LATEST
    assert again.log_end_offset == 5
