"""Loading a log: files that an interrupted deletion, cleaning or split left, and odd segments."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_file_names import CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX
from kafkalike.log.log_segment import LogSegment
from kafkalike.log.segment_splitter import create_cleaned_segment
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record_batch import parse_batch_header
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    batches_of,
    copy_of,
    open_log,
    records_of,
    values_of,
)

SETTINGS: dict[str, Any] = {"segment_bytes": 220, "index_interval_bytes": 0}
KINDS = (".log", ".index", ".timeindex")


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Nine records in nine batches, in three segments."""
    log = open_log(tmp_path / "orders-0", **SETTINGS)
    for number in range(9):
        append(log, a_batch([b"%d" % number]))
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6]
    return log


def reopened(log: Log, *, had_clean_shutdown: bool = False) -> Log:
    if had_clean_shutdown:
        log.close()
    return open_log(log.directory, had_clean_shutdown=had_clean_shutdown, **SETTINGS)


def cleaned(log: Log, base_offset: int, offsets: list[int], suffix: str) -> LogSegment:
    """Write a segment as the cleaner does, with some of the log's batches."""
    segment = create_cleaned_segment(log.directory, base_offset, TopicConfig(), NOW_MS)
    for header, batch in batches_of(log):
        if header.base_offset in offsets:
            segment.append(
                [batch],
                len(batch),
                header,
                largest_offset=header.last_offset,
                largest_timestamp=header.max_timestamp,
                offset_of_max_timestamp=header.last_offset,
            )
    segment.on_become_inactive()
    segment.change_file_suffixes(CLEANED_FILE_SUFFIX, suffix)
    return segment


def names(log: Log) -> set[str]:
    return {path.name for path in log.directory.iterdir()}


def test_deleted_files_are_removed(log: Log) -> None:
    (log.directory / "00000000000000000003.log.deleted").write_bytes(b"old")
    again = reopened(log)
    assert not any(name.endswith(".deleted") for name in names(again))
    assert len(values_of(again)) == 9


def test_cleaned_files_are_removed(log: Log) -> None:
    cleaned(log, 0, [0, 5], CLEANED_FILE_SUFFIX)
    again = reopened(log)
    assert not any(name.endswith(".cleaned") for name in names(again))
    assert len(values_of(again)) == 9


def test_interrupted_swap_is_completed(log: Log) -> None:
    """The cleaner had merged two segments into one and was about to delete them."""
    cleaned(log, 0, [1, 5], SWAP_FILE_SUFFIX)
    again = reopened(log)
    assert [segment.base_offset for segment in again.segments] == [0, 6]
    assert [record.offset for record in records_of(again)] == [1, 5, 6, 7, 8]
    assert not any("swap" in name or "deleted" in name for name in names(again))


def test_swap_whose_old_segments_are_gone_is_completed(log: Log) -> None:
    cleaned(log, 0, [1, 5], SWAP_FILE_SUFFIX)
    for base_offset, kind in itertools.product((0, 3), KINDS):
        (log.directory / f"{base_offset:020d}{kind}").unlink()
    again = reopened(log)
    assert [record.offset for record in records_of(again)] == [1, 5, 6, 7, 8]


def test_swap_interrupted_while_its_files_lost_their_suffix_is_completed(log: Log) -> None:
    segment = cleaned(log, 0, [1], SWAP_FILE_SUFFIX)
    segment.log.path.rename(log.directory / "00000000000000000000.log")
    again = reopened(log)
    assert [record.offset for record in records_of(again)] == [1, 3, 4, 5, 6, 7, 8]
    assert not any("swap" in name for name in names(again))


def test_swap_after_a_cleaned_file_is_of_an_unfinished_split(log: Log) -> None:
    """A split renames from the last to the first: one is not renamed, so nothing is valid."""
    cleaned(log, 3, [3], CLEANED_FILE_SUFFIX)
    cleaned(log, 4, [4, 5], SWAP_FILE_SUFFIX)
    again = reopened(log)
    assert len(values_of(again)) == 9
    assert not any("swap" in name or "cleaned" in name for name in names(again))


@pytest.mark.parametrize("had_clean_shutdown", [True, False])
def test_index_without_its_log_is_removed(log: Log, had_clean_shutdown: bool) -> None:
    orphan = log.directory / "00000000000000000007.index"
    orphan.write_bytes(bytes(8))
    again = reopened(log, had_clean_shutdown=had_clean_shutdown)
    assert not orphan.exists()
    assert len(values_of(again)) == 9


def test_clean_log_is_opened_without_reading_its_batches(log: Log) -> None:
    """Everything but the tail could be anything: start-up does not depend on the log's size."""
    log.close()
    first = log.segments.first.log.path
    first.write_bytes(bytes(len(first.read_bytes())))
    again = open_log(log.directory, **SETTINGS)
    assert again.log_end_offset == 9
    assert values_of(again, 3) == [b"%d" % number for number in range(3, 9)]


def test_active_segment_has_room_in_its_indexes_again(log: Log) -> None:
    again = reopened(log, had_clean_shutdown=True)
    assert again.active_segment.offset_index.max_entries == 10485760 // 8
    while len(again.segments) == 3:
        append(again, a_batch())
    assert again.active_segment.base_offset == 10 - 1


def test_log_start_offset_hides_what_lies_before(log: Log) -> None:
    log.close()
    again = open_log(log.directory, log_start_offset=4, **SETTINGS)
    assert again.log_start_offset == 4
    assert again.high_watermark == 4
    assert values_of(again) == [b"%d" % number for number in range(4, 9)]


def test_log_that_is_to_be_deleted_is_not_recovered(log: Log, tmp_path: Path) -> None:
    directory = copy_of(log, tmp_path / "copy")
    doomed = directory.with_name("orders-0.0123456789abcdef0123456789abcdef-delete")
    directory.rename(doomed)
    for path in doomed.glob("*.log"):
        path.write_bytes(b"rubbish")
    deleted = open_log(doomed, had_clean_shutdown=False)
    assert str(deleted.tp) == "orders-0"
    deleted.delete()
    assert not doomed.exists()


def test_stray_snapshots_are_removed_but_for_the_last(log: Log) -> None:
    log.close()
    template = (log.directory / "00000000000000000003.snapshot").read_bytes()
    for offset in (1, 5, 9):
        (log.directory / f"{offset:020d}.snapshot").write_bytes(template)
    again = open_log(log.directory, **SETTINGS)
    snapshots = sorted(int(path.stem) for path in again.directory.glob("*.snapshot"))
    assert snapshots == [3, 6, 9]


# --- segments whose offsets are too far apart


def overflowed(directory: Path, batches: list[memoryview]) -> None:
    directory.mkdir()
    (directory / "00000000000000000000.log").write_bytes(b"".join(batches))


FAR = (1 << 31) + 100


@pytest.mark.parametrize("had_clean_shutdown", [True, False])
def test_overflowed_segment_is_split(tmp_path: Path, had_clean_shutdown: bool) -> None:
    """KAFKA-6264: older brokers could compact into segments that no index can hold."""
    offsets = [0, 7, FAR, FAR + 1, 3 * FAR]
    batches = [a_batch([b"%d" % offset], base_offset=offset) for offset in offsets]
    overflowed(tmp_path / "orders-0", batches)
    log = open_log(tmp_path / "orders-0", had_clean_shutdown=had_clean_shutdown)
    assert [record.offset for record in records_of(log)] == offsets
    assert values_of(log) == [b"%d" % offset for offset in offsets]
    assert len(log.segments) == 3
    assert all(not segment.has_overflow() for segment in log.segments)
    assert names(log) & {"00000000000000000000.log", "leader-epoch-checkpoint"}
    assert not any("." in name.partition(".")[2] for name in names(log) - {"partition.metadata"})


def test_overflowed_segment_of_old_compressed_messages_is_split(tmp_path: Path) -> None:
    def wrapper(offset: int) -> memoryview:
        values = [b"%d" % n for n in range(5)]
        return a_batch(values, magic=1, compression=CompressionType.GZIP, base_offset=offset)

    overflowed(tmp_path / "t-0", [wrapper(0), wrapper(FAR)])
    log = open_log(tmp_path / "t-0", had_clean_shutdown=False, message_format_version="0.10.2")
    wanted = [*range(5), *range(FAR, FAR + 5)]
    assert [record.offset for record in records_of(log)] == wanted
    assert [record.offset for record in records_of(log, FAR + 2)] == wanted[7:]


def test_recovered_headers_are_the_originals(log: Log, tmp_path: Path) -> None:
    again = open_log(copy_of(log, tmp_path / "copy"), had_clean_shutdown=False, **SETTINGS)
    assert [parse_batch_header(batch) for _, batch in batches_of(again)] == [
        header for header, _ in batches_of(log)
    ]
