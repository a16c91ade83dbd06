"""The offset map: a hash table in a bounded piece of memory."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.log.offset_map import BYTES_PER_ENTRY, OffsetMap


def a_map(slots: int, load_factor: float = 1.0, expected_keys: int | None = None) -> OffsetMap:
    return OffsetMap(slots * BYTES_PER_ENTRY, load_factor, expected_keys)


def test_last_offset_of_a_key_is_found() -> None:
    offset_map = a_map(100)
    offset_map.put(b"a", 0)
    offset_map.put(b"b", 1)
    offset_map.put(b"a", 7)
    assert [offset_map.get(key) for key in (b"a", b"b", b"c", b"")] == [7, 1, -1, -1]
    assert (offset_map.size, offset_map.latest_offset) == (2, 7)


def test_empty_key_is_a_key() -> None:
    offset_map = a_map(10)
    offset_map.put(b"", 3)
    assert offset_map.get(b"") == 3
    assert offset_map.get(b"\0") == -1


@given(
    keys=st.lists(st.binary(max_size=3), max_size=300),
    spare_slots=st.integers(0, 20),
)
def test_map_is_a_dict(keys: list[bytes], spare_slots: int) -> None:
    """However full the table is, every key that is in is found and no other."""
    expected = {key: offset for offset, key in enumerate(keys)}
    offset_map = a_map(max(len(expected), 1) + spare_slots)
    for offset, key in enumerate(keys):
        offset_map.put(key, offset)
    assert offset_map.size == len(expected)
    assert {key: offset_map.get(key) for key in expected} == expected
    for number in range(300):
        other = b"other %d" % number
        assert offset_map.get(other) == -1


def test_full_means_full_to_the_load_factor() -> None:
    offset_map = a_map(1000, load_factor=0.9)
    random = Random(5)
    while not offset_map.is_full:
        offset_map.put(random.randbytes(8), offset_map.size)
    assert offset_map.size == offset_map.max_size == 900
    assert offset_map.utilization == 0.9


def test_table_is_as_large_as_what_is_expected() -> None:
    """128 MB are not touched for a log of a hundred records, and no key too many gets in."""
    offset_map = OffsetMap(128 << 20, 0.9, expected_keys=100)
    assert offset_map.max_size == int((128 << 20) // 24 * 0.9)
    assert offset_map.memory_bytes < 100 * 2 * BYTES_PER_ENTRY
    for number in range(150):
        offset_map.put(b"%d" % number, number)
    with pytest.raises(ValueError, match="full offset map of 150 keys"):
        offset_map.put(b"one more", 150)


def test_memory_is_what_was_allowed() -> None:
    assert a_map(5000).memory_bytes <= 5002 * BYTES_PER_ENTRY


def test_memory_for_less_than_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        a_map(1, load_factor=0.9)


def test_closed_map_gives_its_memory_back() -> None:
    offset_map = a_map(10)
    offset_map.put(b"a", 0)
    offset_map.close()
    with pytest.raises(ValueError, match=r"closed|released"):
        offset_map.get(b"a")
