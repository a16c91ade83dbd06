"""`.index`: offset to byte position in the `.log` file, one entry about every 4 KiB.

An entry is 8 bytes: the offset relative to the segment's base offset, and the position.
"""

from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kafkalike.log.abstract_index import AbstractIndex
from kafkalike.log.errors import CorruptIndexError, InvalidOffsetError

_OFFSET, _POSITION = 0, 1


class IndexEntry(NamedTuple):
    """The batch that ends with this offset begins at this position."""

    offset: int
    position: int


class OffsetIndex(AbstractIndex):
    """Finds where to begin to look for an offset."""

    entry = Struct(">ii")

    def __init__(self, path: Path, base_offset: int, max_index_size: int) -> None:
        super().__init__(path, base_offset, max_index_size)
        self._last_entry: IndexEntry | None = None

    @property
    def last_entry(self) -> IndexEntry:
        """The last entry; the beginning of the segment if there is none."""
        if self._last_entry is None:
            self._load_last_entry()
        assert self._last_entry is not None
        return self._last_entry

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, or the base offset."""
        return self.last_entry.offset

    def _load_last_entry(self) -> None:
        entries = self.entries
        self._last_entry = (
            self.entry_at(entries - 1) if entries else IndexEntry(self.base_offset, 0)
        )

    def entry_at(self, slot: int) -> IndexEntry:
        """Return the entry of a slot."""
        relative_offset, position = self.raw_entry(slot)
        return IndexEntry(self.base_offset + relative_offset, position)

    def append(self, offset: int, position: int) -> None:
        """Add an entry; offsets only grow."""
        if self.entries >= self.max_entries:
            raise ValueError(f"{self.path} is full ({self.entries} entries)")
        if self.entries and offset <= self.last_offset:
            raise InvalidOffsetError(
                f"{self.path}: offset {offset} is not larger than the last, {self.last_offset}"
            )
        self._write_entry(offset - self.base_offset, position)
        self._last_entry = IndexEntry(offset, position)

    def lookup(self, offset: int) -> IndexEntry:
        """Return the last entry at or before an offset; the segment's beginning if none is."""
        last = self._last_entry or self.last_entry
        if offset >= last.offset:
            return last
        slot = self._lower_bound_slot(offset - self.base_offset, _OFFSET)
        return self.entry_at(slot) if slot >= 0 else IndexEntry(self.base_offset, 0)

    def fetch_upper_bound_offset(self, position: int, fetch_size: int) -> IndexEntry | None:
        """Return the first entry at or after the end of a fetch, if there is one."""
        target = position + fetch_size
        slot = self._lower_bound_slot(target, _POSITION)
        if slot >= 0 and self.entry_at(slot).position == target:
            return self.entry_at(slot)
        return self.entry_at(slot + 1) if slot + 1 < self.entries else None

    def truncate_to(self, offset: int) -> None:
        """Remove all entries at or after an offset."""
        slot = self._lower_bound_slot(offset - 1 - self.base_offset, _OFFSET)
        self._truncate_to_entries(slot + 1)

    def sanity_check(self, log_size: int) -> None:
        """Raise `CorruptIndexError` if length or last entry cannot be (`log_size`: the `.log`)."""
        self._check_length()
        last = self.last_entry
        if not self.entries:
            return
        first = self.entry_at(0)
        grows = last.offset > first.offset and last.position > first.position
        if last.offset < self.base_offset or (self.entries > 1 and not grows):
            raise CorruptIndexError(
                f"{self.path} is not sorted: from {first} to {last}, base {self.base_offset}"
            )
        if not 0 <= last.position < max(log_size, 1):
            raise CorruptIndexError(
                f"{self.path} points to position {last.position} of a log of {log_size} bytes"
            )
