"""The records of one segment in its file: append, slices for `sendfile`, walking over batches.

The file descriptor belongs to the object and closes when the last reference goes: a slice that
still waits in some connection's output can be sent although its segment was deleted long ago.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.records.record_batch import (
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    parse_batch_header,
)

MAX_SIZE = (1 << 31) - 1
_CHUNK_BYTES = 8 << 10
_LARGE_CHUNK_BYTES = 1 << 20
_MAX_IOVECS = 1024


class OffsetPosition(NamedTuple):
    """A batch found in the file: its last offset, position and size."""

    offset: int
    position: int
    size: int


class FileRecords:
    """The `.log` file of a segment, written at its end only."""

    __slots__ = ("_fd", "path", "size_in_bytes")

    def __init__(
        self, path: Path, *, is_existing: bool = True, preallocate_bytes: int | None = None
    ) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o644)
        self.size_in_bytes = 0
        if not is_existing and preallocate_bytes is not None:
            os.ftruncate(self._fd, preallocate_bytes)
            return
        self.size_in_bytes = os.fstat(self._fd).st_size
        if self.size_in_bytes > MAX_SIZE:
            raise OSError(
                f"{path} has {self.size_in_bytes} bytes; a segment has at most {MAX_SIZE}"
            )
        os.lseek(self._fd, self.size_in_bytes, os.SEEK_SET)

    def __del__(self) -> None:
        # The descriptor is not there if opening has failed.
        fd = getattr(self, "_fd", -1)
        if fd >= 0:
            self._fd = -1
            os.close(fd)

    def fileno(self) -> int:
        """Return the open file descriptor."""
        return self._fd

    def append(self, parts: Sequence[bytes | memoryview], size: int) -> None:
        """Write the parts, `size` bytes in all, at the end of the file."""
        if size > MAX_SIZE - self.size_in_bytes:
            raise ValueError(f"{self.path}: {size} bytes more than a segment can hold")
        written = os.writev(self._fd, parts) if len(parts) <= _MAX_IOVECS else 0
        if written != size:
            self._append_rest(parts, written)
        self.size_in_bytes += size

    def _append_rest(self, parts: Sequence[bytes | memoryview], written: int) -> None:
        rest = memoryview(b"".join(parts))[written:]
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def slice(self, position: int, size: int) -> "FileSlice":
        """Return a range of the file, cut at its present end."""
        return FileSlice(self, position, min(size, self.size_in_bytes - position))

    def read(self, position: int, size: int) -> bytes:
        """Return bytes of the file; fewer at its end."""
        size = min(size, self.size_in_bytes - position)
        data = os.pread(self._fd, size, position)
        while len(data) < size:
            more = os.pread(self._fd, size - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of every whole batch from a position on, bodies unread.

        A length or magic that cannot be raises `CorruptRecordError`.
        """
        end = self.size_in_bytes
        chunk, chunk_start = b"", position
        while position + HEADER_SIZE_UP_TO_MAGIC <= end:
            if position + RECORD_BATCH_OVERHEAD > chunk_start + len(chunk):
                chunk, chunk_start = os.pread(self._fd, _CHUNK_BYTES, position), position
            try:
                header = parse_batch_header(chunk, position - chunk_start)
            except CorruptRecordError:
                # The last bytes of the file may be the beginning of a batch that was cut off.
                if self._is_cut_off(chunk, position - chunk_start, end - position):
                    return
                raise
            following = position + header.batch_length + LOG_OVERHEAD
            if following > end:
                return
            yield position, header
            position = following

    @staticmethod
    def _is_cut_off(chunk: bytes, start: int, left: int) -> bool:
        length = int.from_bytes(chunk[start + 8 : start + 12], "big", signed=True)
        return left < RECORD_BATCH_OVERHEAD and length + LOG_OVERHEAD > left

    def batches(self, position: int = 0) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """Yield (position, header, the whole batch) from a position on, read in large chunks."""
        chunk, chunk_start = memoryview(b""), position
        for start, header in self.headers(position):
            size = header.batch_length + LOG_OVERHEAD
            if start + size > chunk_start + len(chunk):
                chunk = memoryview(self.read(start, max(size, _LARGE_CHUNK_BYTES)))
                chunk_start = start
            yield start, header, chunk[start - chunk_start : start - chunk_start + size]

    def search_for_offset_with_size(self, offset: int, position: int) -> OffsetPosition | None:
        """Return the first batch from a position on that ends at or after an offset."""
        for start, header in self.headers(position):
            last_offset = header.base_offset + header.last_offset_delta
            if last_offset >= offset:
                return OffsetPosition(last_offset, start, header.batch_length + LOG_OVERHEAD)
        return None

    def truncate_to(self, size: int) -> int:
        """Cut the file and return how many bytes went."""
        original = self.size_in_bytes
        if not 0 <= size <= original:
            raise ValueError(f"{self.path} has {original} bytes and cannot be truncated to {size}")
        if size < os.fstat(self._fd).st_size:
            os.ftruncate(self._fd, size)
            os.lseek(self._fd, size, os.SEEK_SET)
            self.size_in_bytes = size
        return original - size

    def trim(self) -> None:
        """Give back what was preallocated and not written."""
        self.truncate_to(self.size_in_bytes)

    def flush(self) -> None:
        """Force what was written to the disk."""
        os.fsync(self._fd)

    def rename_to(self, path: Path) -> None:
        """Move the file."""
        try:
            self.path.rename(path)
        finally:
            self.path = path


class FileSlice:
    """A range of a segment's file; keeps the file open as long as it lives."""

    __slots__ = ("file", "position", "size")

    def __init__(self, file: FileRecords, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"FileSlice({self.file.path.name}, {self.position}, {self.size})"

    def fileno(self) -> int:
        """Return the descriptor to `os.sendfile` from."""
        return self.file.fileno()

    def read(self) -> bytes:
        """Return the bytes, for those who cannot `sendfile`."""
        return self.file.read(self.position, self.size)
