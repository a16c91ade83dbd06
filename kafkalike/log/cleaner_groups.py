"""Segments that are cleaned into one (Kafka's `groupSegmentsBySize`). Decisions only."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalike.log.abstract_index import MAX_RELATIVE_OFFSET
from kafkalike.log.log_segment import LogSegment


class _Size(NamedTuple):
    log: int
    offset_index: int
    time_index: int

    def __add__(self, other: object) -> "_Size":
        assert isinstance(other, _Size)
        return _Size(*(mine + its for mine, its in zip(self, other, strict=True)))

    def fits(self, max_size: int, max_index_size: int) -> bool:
        return self.log <= max_size and max(self.offset_index, self.time_index) <= max_index_size


def _size_of(segment: LogSegment) -> _Size:
    offsets, times = segment.offset_index, segment.time_index
    return _Size(
        segment.size, offsets.entries * offsets.entry.size, times.entries * times.entry.size
    )


def group_segments_by_size(
    segments: Sequence[LogSegment],
    *,
    max_size: int,
    max_index_size: int,
    first_uncleanable_offset: int,
) -> list[list[LogSegment]]:
    """Put neighbours together that fit one segment, so that cleaning leaves no tiny ones.

    A group fits with its indexes even if nothing goes. Which offset is a segment's last is not
    known without reading it, but it is below the next one's base offset.
    """
    groups: list[list[LogSegment]] = []
    size = _Size(0, 0, 0)
    ends = [*(segment.base_offset for segment in segments[1:]), first_uncleanable_offset]
    for segment, end in zip(segments, ends, strict=False):
        own = _size_of(segment)
        if (
            groups
            and (size + own).fits(max_size, max_index_size)
            and end - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET
        ):
            groups[-1].append(segment)
            size += own
        else:
            groups.append([segment])
            size = own
    return groups
