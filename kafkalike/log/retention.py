"""Which old segments may go: by age, by size of the log, by log start offset. Decisions only.

A segment goes only if all before it go too, and if the high watermark has passed its end.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafkalike.config.topic_config import TopicConfig


class SegmentFacts(NamedTuple):
    """What retention needs to know of a segment; `end_offset` is the next one's base offset."""

    base_offset: int
    end_offset: int
    size: int
    largest_timestamp: int
    is_active: bool


def _leading(
    segments: Sequence[SegmentFacts], high_watermark: int, goes: Callable[[SegmentFacts], bool]
) -> int:
    count = 0
    for segment in segments:
        is_empty_active = segment.is_active and not segment.size
        if is_empty_active or high_watermark < segment.end_offset or not goes(segment):
            break
        count += 1
    return count


def breached_by_time(
    segments: Sequence[SegmentFacts], high_watermark: int, retention_ms: int, now_ms: int
) -> int:
    """Return how many segments, from the oldest on, are older than `retention.ms`."""
    if retention_ms < 0:
        return 0
    return _leading(
        segments,
        high_watermark,
        lambda segment: now_ms - segment.largest_timestamp > retention_ms,
    )


def breached_by_size(
    segments: Sequence[SegmentFacts], high_watermark: int, retention_bytes: int
) -> int:
    """Return how many segments can go with at least `retention.bytes` left."""
    surplus = sum(segment.size for segment in segments) - retention_bytes
    if retention_bytes < 0 or surplus < 0:
        return 0

    def goes(segment: SegmentFacts) -> bool:
        nonlocal surplus
        surplus -= segment.size
        return surplus >= 0

    return _leading(segments, high_watermark, goes)


def breached_by_start_offset(
    segments: Sequence[SegmentFacts], high_watermark: int, log_start_offset: int
) -> int:
    """Return how many segments end at or before the log start offset."""
    return _leading(
        segments,
        high_watermark,
        lambda segment: not segment.is_active and segment.end_offset <= log_start_offset,
    )


def deletable_segments(
    segments: Sequence[SegmentFacts],
    config: TopicConfig,
    *,
    high_watermark: int,
    log_start_offset: int,
    now_ms: int,
) -> tuple[int, str]:
    """Return how many of the oldest segments must go now, and why; call again until it is 0."""
    if "delete" in config.cleanup_policy:
        count = breached_by_time(segments, high_watermark, config.retention_ms, now_ms)
        if count:
            return count, f"retention time {config.retention_ms}ms breach"
        count = breached_by_size(segments, high_watermark, config.retention_bytes)
        if count:
            return count, f"retention size {config.retention_bytes} breach"
    count = breached_by_start_offset(segments, high_watermark, log_start_offset)
    return count, f"log start offset {log_start_offset} breach"
