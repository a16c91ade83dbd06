"""Offset index, time index and transaction index against plain lists."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.log.errors import CorruptIndexError, InvalidOffsetError
from kafkalike.log.offset_index import OffsetIndex
from kafkalike.log.time_index import TimeIndex
from kafkalike.log.transaction_index import AbortedTxn, TransactionIndex

BASE = 1000
ROOM = 80 * 12  # for 120 offsets or 80 times

growing = st.lists(st.integers(1, 1 << 20), min_size=0, max_size=60).map(
    lambda steps: [sum(steps[: n + 1]) for n in range(len(steps))]
)


def offset_index(directory: Path, entries: list[tuple[int, int]]) -> OffsetIndex:
    index = OffsetIndex(directory / "i.index", BASE, ROOM)
    for offset, position in entries:
        index.append(offset, position)
    return index


def time_index(directory: Path, entries: list[tuple[int, int]]) -> TimeIndex:
    index = TimeIndex(directory / "t.timeindex", BASE, ROOM)
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    return index


# --- offset index


@settings(deadline=None)
@given(steps=growing, target=st.integers(0, 1 << 26), is_closed=st.booleans())
def test_lookup_finds_the_last_entry_at_or_before_an_offset(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], target: int, is_closed: bool
) -> None:
    entries = [(BASE + step, step * 3) for step in steps]
    index = offset_index(tmp_path_factory.mktemp("index"), entries)
    if is_closed:
        index.trim_to_valid_size()
    offset = BASE + target
    fitting = [entry for entry in entries if entry[0] <= offset]
    assert index.lookup(offset) == (fitting[-1] if fitting else (BASE, 0))
    assert index.entries == len(entries)


@settings(deadline=None)
@given(steps=growing, position=st.integers(0, 1 << 27), size=st.integers(0, 1 << 20))
def test_upper_bound_is_the_first_entry_after_a_fetch(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], position: int, size: int
) -> None:
    entries = [(BASE + step, step * 3) for step in steps]
    index = offset_index(tmp_path_factory.mktemp("index"), entries)
    after = [entry for entry in entries if entry[1] >= position + size]
    assert index.fetch_upper_bound_offset(position, size) == (after[0] if after else None)


@settings(deadline=None)
@given(steps=growing, target=st.integers(0, 1 << 26))
def test_truncation_removes_entries_from_the_offset_on(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], target: int
) -> None:
    entries = [(BASE + step, step) for step in steps]
    index = offset_index(tmp_path_factory.mktemp("index"), entries)
    index.truncate_to(BASE + target)
    kept = [entry for entry in entries if entry[0] < BASE + target]
    assert [index.entry_at(slot) for slot in range(index.entries)] == kept
    index.append(BASE + (1 << 27), 1 << 27)
    assert index.last_entry == (BASE + (1 << 27), 1 << 27)


def test_file_is_preallocated_and_cut_when_closed(tmp_path: Path) -> None:
    index = offset_index(tmp_path, [(1001, 10), (1005, 20)])
    assert index.path.stat().st_size == ROOM
    index.close()
    assert index.path.read_bytes() == bytes.fromhex("00000001 0000000a 00000005 00000014")
    again = OffsetIndex(index.path, BASE, ROOM)
    assert (again.entries, again.last_offset) == (2, 1005)
    again.resize(ROOM)
    again.append(1009, 30)
    assert [again.entry_at(slot) for slot in range(3)] == [(1001, 10), (1005, 20), (1009, 30)]


def test_offsets_only_grow(tmp_path: Path) -> None:
    index = offset_index(tmp_path, [(1005, 20)])
    with pytest.raises(InvalidOffsetError, match="1005 is not larger than the last, 1005"):
        index.append(1005, 30)


def test_full_index_takes_no_more(tmp_path: Path) -> None:
    index = OffsetIndex(tmp_path / "i.index", BASE, 17)
    index.append(1001, 1)
    assert not index.is_full
    index.append(1002, 2)
    assert index.is_full
    with pytest.raises(ValueError, match="full"):
        index.append(1003, 3)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\0" * 9, "no multiple of 8"),
        (bytes.fromhex("00000005 0000000a 00000001 00000014"), "not sorted"),
        (bytes.fromhex("00000001 00000014 00000005 0000000a"), "not sorted"),
        (b"\0" * 16, "not sorted"),
        (bytes.fromhex("ffffffff 00000001"), "not sorted"),
        (bytes.fromhex("00000001 00000064"), "position 100 of a log of 100 bytes"),
    ],
)
def test_offset_index_that_cannot_be_is_found(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / "i.index").write_bytes(data)
    with pytest.raises(CorruptIndexError, match=problem):
        OffsetIndex(tmp_path / "i.index", BASE, ROOM).sanity_check(log_size=100)


# --- time index


@settings(deadline=None)
@given(steps=growing, target=st.integers(-10, 1 << 26))
def test_time_lookup_finds_the_last_entry_at_or_before_a_time(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], target: int
) -> None:
    entries = [(step, BASE + number) for number, step in enumerate(steps)]
    index = time_index(tmp_path_factory.mktemp("index"), entries)
    fitting = [entry for entry in entries if entry[0] <= target]
    assert index.lookup(target) == (fitting[-1] if fitting else (-1, BASE))
    index.truncate_to(BASE + len(steps) // 2)
    kept = entries[: len(steps) // 2]
    assert [index.entry_at(slot) for slot in range(index.entries)] == kept


def test_time_that_is_not_newer_needs_no_entry(tmp_path: Path) -> None:
    index = time_index(tmp_path, [(5000, 1001), (5000, 1002)])
    assert index.entries == 1
    with pytest.raises(InvalidOffsetError):
        index.maybe_append(6000, 1000)
    with pytest.raises(ValueError, match="4000 is smaller"):
        index.maybe_append(4000, 1003)


def test_last_place_is_kept_for_the_roll(tmp_path: Path) -> None:
    index = TimeIndex(tmp_path / "t.timeindex", BASE, 24)
    index.maybe_append(1, 1001)
    assert index.is_full
    with pytest.raises(ValueError, match="full"):
        index.maybe_append(2, 1002)
    index.maybe_append(2, 1002, skip_full_check=True)
    assert index.entries == 2


# --- transaction index

txns = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 20), st.integers(0, 9)), max_size=15
).map(
    lambda drawn: [
        AbortedTxn(pid, max(0, number * 10 - back), number * 10 + 5, number * 10 + stable)
        for number, (pid, back, stable) in enumerate(drawn)
    ]
)


@settings(deadline=None)
@given(entries=txns, start=st.integers(0, 150), size=st.integers(0, 60))
def test_aborted_transactions_that_overlap_are_found(
    tmp_path_factory: pytest.TempPathFactory, entries: list[AbortedTxn], start: int, size: int
) -> None:
    path = tmp_path_factory.mktemp("index") / "x.txnindex"
    index = TransactionIndex(path, 0)
    for entry in entries:
        index.append(entry)
    again = TransactionIndex(path, 0)
    end = start + size
    found = set(again.collect_aborted_txns(start, end).aborted_transactions)
    upto = next(
        (n for n, txn in enumerate(entries, 1) if txn.last_stable_offset >= end), len(entries)
    )
    overlapping = {
        txn for txn in entries[:upto] if txn.last_offset >= start and txn.first_offset < end
    }
    assert found == overlapping
    again.truncate_to(start)
    assert TransactionIndex(path, 0).all_aborted_txns == [
        txn for txn in entries if txn.last_offset < start
    ]


def test_no_transaction_makes_no_file(tmp_path: Path) -> None:
    index = TransactionIndex(tmp_path / "x.txnindex", 0)
    assert index.all_aborted_txns == []
    index.reset()
    index.truncate_to(0)
    assert index.open_for_flush() is None
    assert not index.path.exists()


def test_transaction_entry_has_kafkas_bytes(tmp_path: Path) -> None:
    index = TransactionIndex(tmp_path / "x.txnindex", 0)
    index.append(AbortedTxn(7, 10, 20, 15))
    assert index.path.read_bytes() == b"\0\0" + b"".join(
        number.to_bytes(8, "big") for number in (7, 10, 20, 15)
    )
    with pytest.raises(ValueError, match="not larger"):
        index.append(AbortedTxn(7, 10, 20, 15))


def test_entry_of_a_future_version_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "x.txnindex").write_bytes(b"\0\x01" + bytes(32))
    with pytest.raises(CorruptIndexError, match="unknown version 1"):
        TransactionIndex(tmp_path / "x.txnindex", 0).sanity_check()


def test_large_index_is_searched_in_place(tmp_path: Path) -> None:
    """More entries than are read at once: halved by single reads first."""
    index = OffsetIndex(tmp_path / "i.index", BASE, 8 * 5000)
    for number in range(5000):
        index.append(BASE + 2 * number + 1, number)
    for number in (0, 1, 700, 1023, 1024, 2500, 4095, 4998, 4999):
        assert index.lookup(BASE + 2 * number + 1).position == number
        assert index.lookup(BASE + 2 * number + 2).position == number
        assert index.fetch_upper_bound_offset(number, 0) == (BASE + 2 * number + 1, number)
    assert index.lookup(BASE) == (BASE, 0)
    with pytest.raises(IndexError, match="no entry 5000"):
        index.entry_at(5000)
