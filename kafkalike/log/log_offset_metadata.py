"""Where an offset lies in the log: its segment and byte position, where they are known."""

from typing import NamedTuple

UNKNOWN_POSITION = -1


class LogOffsetMetadata(NamedTuple):
    """A message offset, with the segment and the position in it if they are known."""

    message_offset: int
    segment_base_offset: int = UNKNOWN_POSITION
    relative_position_in_segment: int = UNKNOWN_POSITION

    @property
    def is_message_offset_only(self) -> bool:
        """Whether segment and position are still to be looked up."""
        return self.segment_base_offset == UNKNOWN_POSITION

    def is_on_older_segment(self, other: "LogOffsetMetadata") -> bool:
        """Whether this offset lies in an earlier segment than the other."""
        return self.segment_base_offset < other.segment_base_offset

    def position_diff(self, other: "LogOffsetMetadata") -> int:
        """Return how many bytes this is ahead of the other; both must lie in one segment."""
        if self.segment_base_offset != other.segment_base_offset:
            raise ValueError(f"{self} and {other} are not in the same segment")
        return self.relative_position_in_segment - other.relative_position_in_segment


UNKNOWN_OFFSET_METADATA = LogOffsetMetadata(-1)
