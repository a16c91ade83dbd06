"""The `.log` file of a segment: appends, slices, walking over batches."""

import os
from pathlib import Path

import pytest

from kafkalike.log.file_records import FileRecords
from kafkalike.protocol.errors import CorruptRecordError
from tests.support.log_builder import a_batch


@pytest.fixture
def file(tmp_path: Path) -> FileRecords:
    return FileRecords(tmp_path / "0.log", is_existing=False)


def fill(file: FileRecords, offsets: range) -> int:
    """Append a batch for each offset; return the size of one."""
    for offset in offsets:
        batch = a_batch([b"value"], base_offset=offset)
        file.append([batch], len(batch))
    return len(a_batch([b"value"]))


def test_parts_are_written_one_after_the_other(file: FileRecords) -> None:
    file.append([b"ab", memoryview(b"cd"), b""], 4)
    file.append([b"e"], 1)
    assert file.path.read_bytes() == b"abcde"
    assert file.size_in_bytes == 5


def test_more_parts_than_the_kernel_takes_at_once(file: FileRecords) -> None:
    file.append([b"x"] * 3000, 3000)
    assert file.path.read_bytes() == b"x" * 3000


def test_slice_is_cut_at_the_end_and_reads_its_own_bytes(file: FileRecords) -> None:
    file.append([b"0123456789"], 10)
    piece = file.slice(6, 100)
    assert (len(piece), piece.read()) == (4, b"6789")
    assert os.pread(piece.fileno(), 2, piece.position) == b"67"


def test_headers_are_found_without_their_bodies(file: FileRecords) -> None:
    size = fill(file, range(10, 300))
    found = list(file.headers())
    assert [header.base_offset for _, header in found] == list(range(10, 300))
    assert [position for position, _ in found] == [size * number for number in range(290)]
    assert [header.base_offset for _, header in file.headers(size * 288)] == [298, 299]


def test_batches_come_whole_even_if_larger_than_a_chunk(file: FileRecords) -> None:
    batches = [a_batch([bytes([n]) * size]) for n, size in enumerate((10, 3 << 20, 20, 2 << 20))]
    for batch in batches:
        file.append([batch], len(batch))
    assert [bytes(batch) for _, _, batch in file.batches()] == [bytes(each) for each in batches]


def test_batch_that_holds_an_offset_is_found(file: FileRecords) -> None:
    size = fill(file, range(0, 100, 10))
    assert file.search_for_offset_with_size(0, 0) == (0, 0, size)
    assert file.search_for_offset_with_size(11, 0) == (20, 2 * size, size)
    assert file.search_for_offset_with_size(91, 0) is None


@pytest.mark.parametrize("cut", [1, 5, 16, 17, 30, 60])
def test_walk_ends_before_a_batch_that_is_cut_off(file: FileRecords, cut: int) -> None:
    size = fill(file, range(3))
    file.truncate_to(2 * size + cut)
    assert [header.base_offset for _, header in file.headers()] == [0, 1]


def test_impossible_batch_is_corrupt(file: FileRecords) -> None:
    fill(file, range(1))
    file.append([b"\xff" * 100], 100)
    with pytest.raises(CorruptRecordError):
        list(file.headers())


def test_truncation_goes_back_and_appends_go_on(file: FileRecords) -> None:
    file.append([b"0123456789"], 10)
    assert file.truncate_to(4) == 6
    file.append([b"x"], 1)
    assert file.path.read_bytes() == b"0123x"
    with pytest.raises(ValueError, match="cannot be truncated to 6"):
        file.truncate_to(6)


def test_preallocated_file_is_trimmed_to_what_was_written(tmp_path: Path) -> None:
    file = FileRecords(tmp_path / "0.log", is_existing=False, preallocate_bytes=1000)
    assert (file.size_in_bytes, file.path.stat().st_size) == (0, 1000)
    file.append([b"abc"], 3)
    file.trim()
    assert file.path.read_bytes() == b"abc"


def test_file_is_closed_with_its_last_slice(file: FileRecords) -> None:
    file.append([b"abc"], 3)
    piece = file.slice(0, 3)
    descriptor = file.fileno()
    path = file.path
    del file
    path.unlink()
    assert piece.read() == b"abc"
    del piece
    # The fixture still holds the file: only its descriptor tells that it is open.
    assert os.fstat(descriptor).st_nlink == 0


def test_segment_larger_than_its_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.touch()
    os.truncate(path, 1 << 31)
    with pytest.raises(OSError, match="2147483648 bytes; a segment has at most 2147483647"):
        FileRecords(path)
