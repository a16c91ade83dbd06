"""M1: crash recovery of one log: torn tails, flipped bits, lost and corrupt indexes."""

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkalike.log.log import Log
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record_batch import PREFIX_BYTES, iter_batches
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    append_marker,
    batches_of,
    committed_offsets_of,
    copy_of,
    open_log,
    records_of,
    values_of,
)

SETTINGS: dict[str, Any] = {
    "segment_bytes": 700,
    "index_interval_bytes": 100,
    "segment_index_bytes": 4096,
}


def fill(log: Log, rounds: int) -> None:
    """Append plain, compressed and idempotent batches, and a transaction of each kind."""
    sequence = 0
    for number in range(rounds):
        epoch = number // 5
        append(log, a_batch([b"plain %d" % number] * 2), leader_epoch=epoch)
        append(log, a_batch([b"z" * 50] * 3, compression=CompressionType.ZSTD), leader_epoch=epoch)
        for is_commit in (True, False):
            batch = a_batch([b"txn"], producer_id=5, base_sequence=sequence, is_transactional=True)
            append(log, batch, leader_epoch=epoch)
            append_marker(log, 5, is_commit=is_commit, leader_epoch=epoch)
            sequence += 1


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Log:
    log = open_log(tmp_path_factory.mktemp("original") / "orders-0", **SETTINGS)
    fill(log, 12)
    assert len(log.segments) > 4
    return log


def recovered(directory: Path, *, recovery_point: int = 0) -> Log:
    log = open_log(directory, had_clean_shutdown=False, recovery_point=recovery_point, **SETTINGS)
    log.update_high_watermark(log.log_end_offset)
    return log


def assert_is_prefix(log: Log, original: Log) -> None:
    """The log is a beginning of the original, and goes on."""
    end = log.log_end_offset
    whole = [each for each in batches_of(original) if each[0].next_offset <= end]
    assert batches_of(log) == whole
    # Transactions come one after the other: only the last batch can be of an open one.
    last = whole[-1][0] if whole else None
    is_open = last is not None and last.is_transactional and not last.is_control
    stable = last.base_offset if last is not None and is_open else end
    assert log.last_stable_offset == stable
    assert committed_offsets_of(log) == [o for o in committed_offsets_of(original) if o < stable]
    if not is_open:
        assert append(log, a_batch([b"next"]), leader_epoch=9).first_offset == end
        assert values_of(log, end) == [b"next"]


def test_nothing_is_lost_when_nothing_is_torn(original: Log, tmp_path: Path) -> None:
    log = recovered(copy_of(original, tmp_path))
    assert log.log_end_offset == original.log_end_offset
    assert log.leader_epoch_cache is not None
    assert original.leader_epoch_cache is not None
    assert log.leader_epoch_cache.entries == original.leader_epoch_cache.entries
    assert_is_prefix(log, original)


def test_last_segment_cut_at_any_byte_loses_only_the_torn_batch(tmp_path: Path) -> None:
    """M1: wherever the write was cut off, all whole batches are kept."""
    original = open_log(tmp_path / "orders-0", **SETTINGS)
    fill(original, 2)
    last = original.active_segment
    data = last.log.path.read_bytes()
    ends = [(position + header.size_in_bytes, header) for position, header in iter_batches(data)]
    assert len(ends) > 3
    source = copy_of(original, tmp_path / "source")
    for size in range(last.size + 1):
        directory = tmp_path / f"cut-{size}" / "orders-0"
        shutil.copytree(source, directory)
        with (directory / last.log.path.name).open("r+b") as file:
            file.truncate(size)
        log = recovered(directory)
        kept = [(end, header.next_offset) for end, header in ends if end <= size]
        end, next_offset = kept[-1] if kept else (0, last.base_offset)
        assert (log.active_segment.size, log.log_end_offset) == (end, next_offset)
        assert_is_prefix(log, original)
        shutil.rmtree(directory)


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bit_cuts_the_log_before_its_batch(
    original: Log, tmp_path: Path, seed: int
) -> None:
    """Anywhere in any segment, but for offset and epoch, which no checksum covers."""
    random = Random(seed)
    directory = copy_of(original, tmp_path)
    path = random.choice(sorted(directory.glob("*.log")))
    data = bytearray(path.read_bytes())
    position, header = random.choice(list(iter_batches(bytes(data))))
    data[position + random.randrange(PREFIX_BYTES, header.size_in_bytes)] ^= 1 << random.randrange(
        8
    )
    path.write_bytes(data)
    log = recovered(directory)
    assert log.log_end_offset == header.base_offset
    assert_is_prefix(log, original)


@pytest.mark.parametrize("seed", range(20))
def test_any_garbage_in_the_last_segment_is_survived(
    original: Log, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    directory = copy_of(original, tmp_path)
    path = directory / original.active_segment.log.path.name
    data = bytearray(path.read_bytes())
    start = random.randrange(len(data))
    data[start:] = random.randbytes(random.randrange(1, 3000))
    path.write_bytes(data)
    log = recovered(directory)
    assert log.log_end_offset >= original.active_segment.base_offset
    append(log, a_batch([b"next"]))
    assert values_of(log)[-1] == b"next"


def test_zeros_after_a_power_cut_are_cut_off(original: Log, tmp_path: Path) -> None:
    directory = copy_of(original, tmp_path)
    with (directory / original.active_segment.log.path.name).open("ab") as file:
        file.write(bytes(10_000))
    log = recovered(directory)
    assert log.log_end_offset == original.log_end_offset
    assert_is_prefix(log, original)


def test_offset_that_goes_back_is_taken_as_corruption(original: Log, tmp_path: Path) -> None:
    directory = copy_of(original, tmp_path)
    path = directory / original.active_segment.log.path.name
    data = bytearray(path.read_bytes())
    position, header = list(iter_batches(bytes(data)))[1]
    data[position : position + 8] = (0).to_bytes(8, "big")
    path.write_bytes(data)
    log = recovered(directory)
    assert log.log_end_offset == header.base_offset
    assert_is_prefix(log, original)


def test_segments_before_the_recovery_point_are_not_read(original: Log, tmp_path: Path) -> None:
    directory = copy_of(original, tmp_path)
    path = directory / original.segments.first.log.path.name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    log = recovered(directory, recovery_point=original.active_segment.base_offset)
    assert log.log_end_offset == original.log_end_offset


@pytest.mark.parametrize("kind", [".index", ".timeindex", ".txnindex"])
@pytest.mark.parametrize("damage", ["missing", "empty", "odd length", "garbage", "zeros"])
@pytest.mark.parametrize("is_clean", [True, False])
def test_indexes_are_rebuilt(
    original: Log, tmp_path: Path, kind: str, damage: str, is_clean: bool
) -> None:
    """M4, M5: whatever happened to an index, lookups give the same answers."""
    directory = copy_of(original, tmp_path)
    if is_clean:
        open_log(directory, **SETTINGS).close()
    for path in directory.glob(f"*{kind}"):
        _damage(path, damage)
    log = open_log(
        directory,
        had_clean_shutdown=is_clean,
        recovery_point=original.log_end_offset if is_clean else 0,
        **SETTINGS,
    )
    log.update_high_watermark(log.log_end_offset)
    for offset in range(0, original.log_end_offset, 5):
        assert batches_of(log, offset) == batches_of(original, offset)
    assert log.fetch_offset_by_timestamp(NOW_MS) == original.fetch_offset_by_timestamp(NOW_MS)
    if kind != ".txnindex" or not is_clean:
        assert_is_prefix(log, original)


def _damage(path: Path, damage: str) -> None:
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "odd length":
        path.write_bytes(data + b"\0")
    elif damage == "garbage":
        path.write_bytes(Random(1).randbytes(len(data) or 8))
    else:
        path.write_bytes(bytes(len(data) or 24))


def test_missing_epochs_are_found_in_the_batches(original: Log, tmp_path: Path) -> None:
    directory = copy_of(original, tmp_path)
    (directory / "leader-epoch-checkpoint").unlink()
    log = recovered(directory)
    assert log.leader_epoch_cache is not None
    assert original.leader_epoch_cache is not None
    assert log.leader_epoch_cache.entries == original.leader_epoch_cache.entries


@pytest.mark.parametrize("damage", ["missing", "empty", "garbage"])
def test_lost_snapshots_are_rebuilt_from_the_log(
    original: Log, tmp_path: Path, damage: str
) -> None:
    directory = copy_of(original, tmp_path)
    for path in directory.glob("*.snapshot"):
        _damage(path, damage)
    log = recovered(directory)
    ours, theirs = log.producer_state.last_entry(5), original.producer_state.last_entry(5)
    assert ours is not None
    assert theirs is not None
    assert (ours.last_seq, ours.last_data_offset) == (theirs.last_seq, theirs.last_data_offset)
    assert_is_prefix(log, original)


def test_log_start_after_the_end_empties_the_log(original: Log, tmp_path: Path) -> None:
    """Segment files were deleted by hand, or lost: offsets never go back."""
    start = original.log_end_offset + 10
    log = open_log(
        copy_of(original, tmp_path), log_start_offset=start, had_clean_shutdown=False, **SETTINGS
    )
    assert (log.log_start_offset, log.log_end_offset) == (start, start)
    assert records_of(log) == []
    assert append(log, a_batch()).first_offset == start


def test_corrupt_end_is_recovered_even_after_a_clean_shutdown(
    original: Log, tmp_path: Path
) -> None:
    directory = copy_of(original, tmp_path)
    open_log(directory, **SETTINGS).close()
    path = directory / original.active_segment.log.path.name
    with path.open("ab") as file:
        file.write(b"\xff" * 100)
    log = open_log(directory, recovery_point=original.log_end_offset, **SETTINGS)
    assert log.log_end_offset == original.log_end_offset
    assert path.stat().st_size == original.active_segment.size


def test_recovery_keeps_the_recovery_point_where_it_was(original: Log, tmp_path: Path) -> None:
    """Only a flush raises it: recovery has read, not synced."""
    log = recovered(copy_of(original, tmp_path), recovery_point=20)
    assert log.recovery_point == 20


def test_second_recovery_finds_nothing_to_do(original: Log, tmp_path: Path) -> None:
    directory = copy_of(original, tmp_path)
    with (directory / original.active_segment.log.path.name).open("ab") as file:
        file.write(b"torn")
    first = recovered(directory)
    state = {path.name: path.read_bytes() for path in directory.glob("*.log")}
    recovered(directory)
    assert {path.name: path.read_bytes() for path in directory.glob("*.log")} == state
    assert_is_prefix(first, original)
