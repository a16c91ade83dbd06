"""The log cleaner on real files: which records are left of a log."""

import os
import shutil
from pathlib import Path

import pytest

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
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
from tests.support.log_cleaning import (
    COMPACT,
    LATEST,
    UPDATES,
    Cleaning,
    a_compacted_log,
    append_in_transaction,
    clean,
    modify,
    pairs_of,
    put,
)

HOUR_MS = 3600 * 1000


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


def test_aborted_records_are_removed_and_do_not_overtake(tmp_path: Path) -> None:
    log = a_compacted_log(tmp_path, (b"a", b"good"))
    append_in_transaction(log, 1, b"a")
    append_marker(log, 1, is_commit=False)
    append_in_transaction(log, 2, b"b")
    append_marker(log, 2, is_commit=True)
    # The producers go on elsewhere, so that no batch is kept for them alone.
    append_in_transaction(log, 1, b"x", 1)
    append_marker(log, 1, is_commit=True)
    log.roll(NOW_MS)
    clean(log)
    assert [record.key for record in records_of(log)] == [b"a", b"b", b"x"]
    assert committed_offsets_of(log) == [0, 3, 5]


def test_index_of_aborted_transactions_is_written_anew(tmp_path: Path) -> None:
    """The abort marker stays one cleaning longer than the records that it makes invalid."""
    log = a_compacted_log(tmp_path, segment_bytes=300)
    for sequence in range(4):
        append_in_transaction(log, 1, b"a", sequence)
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
    append_in_transaction(log, 1, b"a")
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
    append_in_transaction(log, 1, b"a")
    put(log, *UPDATES)
    log.roll(NOW_MS)
    clean(log)
    assert [record.offset for record in records_of(log)] == [1, 2, 3, 4, 5, 6, 7]


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
