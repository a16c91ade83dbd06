"""What offset index and time index share: a file of entries of one size, sorted, searched in place.

The file is preallocated (sparse) while its segment is active and cut to its entries afterwards, as
Kafka's. Kafka maps it; here it is written with `pwrite` and searched with `pread`: a full disk is
then an `OSError` and not a SIGBUS, and no page of an index counts as memory of the broker.
"""

import os
from pathlib import Path
from struct import Struct
from typing import Any, ClassVar

from kafkalike.log.errors import CorruptIndexError

MAX_RELATIVE_OFFSET = (1 << 31) - 1
_BLOCK_ENTRIES = 1024
_CLOSED = -1


class AbstractIndex:
    """A sorted file of fixed-size entries.

    The descriptor is opened at the first write and kept while the segment is active; a closed
    segment's index is opened for each lookup, so that idle segments cost one descriptor only.
    """

    entry: ClassVar[Struct]

    def __init__(self, path: Path, base_offset: int, max_index_size: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.max_index_size = max_index_size
        self._fd = _CLOSED
        try:
            self.length = path.stat().st_size
            self.entries = self.length // self.entry.size
        except FileNotFoundError:
            self.length = self._round_down(max_index_size)
            self.entries = 0
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            os.ftruncate(fd, self.length)
            os.close(fd)
        self.max_entries = self.length // self.entry.size

    def __del__(self) -> None:
        self.close_handler()

    def _round_down(self, size: int) -> int:
        return size - size % self.entry.size

    def _open(self) -> int:
        if self._fd == _CLOSED:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        return self._fd

    def _write_entry(self, *fields: int) -> None:
        fd = self._fd
        if fd == _CLOSED:
            fd = self._open()
        os.pwrite(fd, self.entry.pack(*fields), self.entries * self.entry.size)
        self.entries += 1

    def _read_entries(self, first: int, count: int) -> bytes:
        size = self.entry.size
        if self._fd != _CLOSED:
            return os.pread(self._fd, count * size, first * size)
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(fd, count * size, first * size)
        finally:
            os.close(fd)

    def raw_entry(self, slot: int) -> tuple[Any, ...]:
        """Return the fields of one entry as they are in the file."""
        if not 0 <= slot < self.entries:
            raise IndexError(f"{self.path} has {self.entries} entries, no entry {slot}")
        return self.entry.unpack(self._read_entries(slot, 1))

    def _lower_bound_slot(self, target: int, field: int) -> int:
        """Return the last slot whose field is at most `target`, -1 if there is none."""
        low, high = 0, self.entries  # the answer + 1 lies in low..high
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if self.raw_entry(middle)[field] <= target:
                low = middle + 1
            else:
                high = middle
        if low == high:
            return low - 1
        block, start = self._read_entries(low, high - low), low
        unpack, size = self.entry.unpack_from, self.entry.size
        while low < high:
            middle = (low + high) // 2
            if unpack(block, (middle - start) * size)[field] <= target:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _check_length(self) -> None:
        if self.length % self.entry.size:
            raise CorruptIndexError(
                f"{self.path} has {self.length} bytes, which is no multiple of {self.entry.size}"
            )

    def _truncate_to_entries(self, entries: int) -> None:
        self.entries = entries
        self._load_last_entry()

    def _load_last_entry(self) -> None:
        raise NotImplementedError

    def can_append_offset(self, offset: int) -> bool:
        """Whether an offset is near enough to the base offset for an entry."""
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    @property
    def is_full(self) -> bool:
        """Whether there is no room for one entry more."""
        return self.entries >= self.max_entries

    def reset(self) -> None:
        """Forget all entries and make room for new ones."""
        self._truncate_to_entries(0)
        self.resize(self.max_index_size)

    def resize(self, size: int) -> None:
        """Give the file a new length; entries beyond it are lost."""
        size = self._round_down(size)
        if size != self.length:
            os.truncate(self.path, size)
            self.length = size
            self.max_entries = size // self.entry.size
            if self.entries > self.max_entries:
                self._truncate_to_entries(self.max_entries)

    def trim_to_valid_size(self) -> None:
        """Cut the file to its entries and give the descriptor back."""
        self.resize(self.entries * self.entry.size)
        self.close_handler()

    def open_for_flush(self) -> int:
        """Return a descriptor of its own for an fsync in a thread; the caller closes it."""
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Cut the file to its entries and close it."""
        self.trim_to_valid_size()

    def close_handler(self) -> None:
        """Close the file as it is."""
        fd = getattr(self, "_fd", _CLOSED)
        if fd != _CLOSED:
            self._fd = _CLOSED
            os.close(fd)

    def rename_to(self, path: Path) -> None:
        """Move the file."""
        try:
            self.path.rename(path)
        finally:
            self.path = path

    def delete_if_exists(self) -> None:
        """Close and remove the file."""
        self.close_handler()
        self.path.unlink(missing_ok=True)
