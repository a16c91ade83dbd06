"""The segments of one log, by base offset."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from kafkalike.log.log_segment import LogSegment


class LogSegments:
    """A sorted map from base offset to segment; the last one is active."""

    def __init__(self) -> None:
        self._base_offsets: list[int] = []
        self._segments: dict[int, LogSegment] = {}
        self._active: LogSegment | None = None

    def __len__(self) -> int:
        return len(self._base_offsets)

    def __contains__(self, base_offset: int) -> bool:
        return base_offset in self._segments

    def __iter__(self) -> Iterator[LogSegment]:
        """Yield the segments in order; the map may change meanwhile."""
        segments = self._segments
        return iter([segments[base_offset] for base_offset in self._base_offsets])

    def __getitem__(self, base_offset: int) -> LogSegment:
        return self._segments[base_offset]

    @property
    def active(self) -> LogSegment:
        """The last segment, which takes the appends."""
        assert self._active is not None, "a loaded log has a segment"
        return self._active

    @property
    def first(self) -> LogSegment:
        """The oldest segment."""
        return self._segments[self._base_offsets[0]]

    @property
    def size(self) -> int:
        """Bytes of records in all segments."""
        return sum(segment.size for segment in self._segments.values())

    def add(self, segment: LogSegment) -> None:
        """Add a segment, in place of one with the same base offset."""
        if segment.base_offset not in self._segments:
            insort(self._base_offsets, segment.base_offset)
        self._segments[segment.base_offset] = segment
        self._find_active()

    def remove(self, base_offset: int) -> None:
        """Remove a segment."""
        del self._segments[base_offset]
        del self._base_offsets[bisect_left(self._base_offsets, base_offset)]
        self._find_active()

    def clear(self) -> None:
        """Remove all segments."""
        self._base_offsets.clear()
        self._segments.clear()
        self._active = None

    def _find_active(self) -> None:
        self._active = self._segments[self._base_offsets[-1]] if self._base_offsets else None

    def floor(self, offset: int) -> LogSegment | None:
        """Return the segment in which an offset would lie."""
        active = self._active
        if active is not None and offset >= active.base_offset:
            return active
        index = bisect_right(self._base_offsets, offset) - 1
        return self._segments[self._base_offsets[index]] if index >= 0 else None

    def lower(self, base_offset: int) -> LogSegment | None:
        """Return the segment before a base offset."""
        index = bisect_left(self._base_offsets, base_offset) - 1
        return self._segments[self._base_offsets[index]] if index >= 0 else None

    def higher(self, base_offset: int) -> LogSegment | None:
        """Return the segment after a base offset."""
        index = bisect_right(self._base_offsets, base_offset)
        if index == len(self._base_offsets):
            return None
        return self._segments[self._base_offsets[index]]

    def between(self, start: int, end: int) -> list[LogSegment]:
        """Return the segments that can hold offsets from `start` to before `end`."""
        if start >= end:
            return []
        first = max(0, bisect_right(self._base_offsets, start) - 1)
        last = bisect_left(self._base_offsets, end)
        return [self._segments[base_offset] for base_offset in self._base_offsets[first:last]]
