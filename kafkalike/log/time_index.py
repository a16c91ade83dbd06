"""`.timeindex`: largest timestamp so far to offset, for lookups by time and retention.

An entry is 12 bytes: timestamp, and the offset relative to the segment's base offset. It says that
no record before that offset has a larger timestamp.
"""

from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kafkalike.log.abstract_index import AbstractIndex
from kafkalike.log.errors import CorruptIndexError, InvalidOffsetError
from kafkalike.protocol.records.record import NO_TIMESTAMP

_TIMESTAMP, _OFFSET = 0, 1


class TimestampOffset(NamedTuple):
    """The batch that ends with this offset has the largest timestamp up to here."""

    timestamp: int
    offset: int


class TimeIndex(AbstractIndex):
    """Finds the offset before which no record is newer than a timestamp."""

    entry = Struct(">qi")

    def __init__(self, path: Path, base_offset: int, max_index_size: int) -> None:
        super().__init__(path, base_offset, max_index_size)
        self._last_entry: TimestampOffset | None = None

    @property
    def is_full(self) -> bool:
        """Whether only the last entry, kept for the roll of the segment, is left."""
        return self.entries >= self.max_entries - 1

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry, or no timestamp and the base offset."""
        if self._last_entry is None:
            self._load_last_entry()
        assert self._last_entry is not None
        return self._last_entry

    def _load_last_entry(self) -> None:
        entries = self.entries
        self._last_entry = (
            self.entry_at(entries - 1)
            if entries
            else TimestampOffset(NO_TIMESTAMP, self.base_offset)
        )

    def entry_at(self, slot: int) -> TimestampOffset:
        """Return the entry of a slot."""
        timestamp, relative_offset = self.raw_entry(slot)
        return TimestampOffset(timestamp, self.base_offset + relative_offset)

    def maybe_append(self, timestamp: int, offset: int, *, skip_full_check: bool = False) -> None:
        """Add an entry if the timestamp is larger than the last one."""
        last = self._last_entry or self.last_entry
        if not skip_full_check and self.is_full:
            raise ValueError(f"{self.path} is full ({self.entries} entries)")
        if self.entries and offset < last.offset:
            raise InvalidOffsetError(
                f"{self.path}: offset {offset} is smaller than the last, {last.offset}"
            )
        if self.entries and timestamp < last.timestamp:
            raise ValueError(
                f"{self.path}: timestamp {timestamp} is smaller than the last, {last.timestamp}"
            )
        if timestamp > last.timestamp:
            self._write_entry(timestamp, offset - self.base_offset)
            self._last_entry = TimestampOffset(timestamp, offset)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """Return the last entry at or before a timestamp; the segment's beginning if none is."""
        last = self.last_entry
        if timestamp >= last.timestamp:
            return last
        slot = self._lower_bound_slot(timestamp, _TIMESTAMP)
        return self.entry_at(slot) if slot >= 0 else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Remove all entries at or after an offset."""
        slot = self._lower_bound_slot(offset - 1 - self.base_offset, _OFFSET)
        self._truncate_to_entries(slot + 1)

    def sanity_check(self) -> None:
        """Raise `CorruptIndexError` if length, first and last entry cannot be."""
        self._check_length()
        if not self.entries:
            return
        first, last = self.entry_at(0), self.last_entry
        if last.timestamp < first.timestamp or last.offset < self.base_offset:
            raise CorruptIndexError(
                f"{self.path} is not sorted: from {first} to {last}, base {self.base_offset}"
            )
