"""Which part of a log is dirty, and how dirty the log is. Decisions only.

Part of Kafka's `LogCleanerManager`. A log is clean up to its first dirty offset; from there on it
can be cleaned up to the active segment, to what is not stable yet, or to what is too new.
"""

from typing import NamedTuple

from twisted.logger import Logger

from kafkalike.log.log import Log
from kafkalike.log.log_segment import LogSegment
from kafkalike.model.topic_partition import TopicPartition

logger = Logger()


class OffsetsToClean(NamedTuple):
    """The dirty range that can be cleaned; the checkpoint may have to be set to its beginning."""

    first_dirty_offset: int
    first_uncleanable_dirty_offset: int
    forces_checkpoint_update: bool = False


class LogToClean(NamedTuple):
    """A log, and what there is to clean in it: whole segments from the first dirty offset on."""

    log: Log
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    needs_compaction_now: bool

    @property
    def tp(self) -> TopicPartition:
        """The partition of the log."""
        return self.log.tp

    @property
    def total_bytes(self) -> int:
        """What a cleaning would read."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """How dirty the log is, from 0 to 1."""
        return self.cleanable_bytes / self.total_bytes

    @property
    def is_due(self) -> bool:
        """Whether the log is dirty enough, or some of it has waited too long."""
        if self.needs_compaction_now and self.cleanable_bytes:
            return True
        return self.cleanable_ratio > self.log.config.min_cleanable_dirty_ratio


def log_to_clean(log: Log, offsets: OffsetsToClean, *, needs_compaction_now: bool) -> LogToClean:
    """Measure what there is to clean."""
    first_uncleanable, cleanable_bytes = calculate_cleanable_bytes(log, offsets)
    clean = log.segments.between(-1, offsets.first_dirty_offset)
    return LogToClean(
        log,
        offsets.first_dirty_offset,
        first_uncleanable,
        sum(segment.size for segment in clean),
        cleanable_bytes,
        needs_compaction_now,
    )


def cleanable_offsets(log: Log, last_clean_offset: int | None, now_ms: int) -> OffsetsToClean:
    """Return the dirty range of a log that can be cleaned."""
    first_dirty, is_reset = _first_dirty_offset(log, last_clean_offset)
    bounds = [
        # What is not replicated, or whose transaction is open, may still change. (Kafka 2.8 heeds
        # transactions alone; later versions heed the high watermark too.)
        log.last_stable_offset,
        log.active_segment.base_offset,
    ]
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in _inactive_segments_from(log, first_dirty):
            if segment.largest_timestamp > now_ms - lag_ms:
                bounds.append(segment.base_offset)
                break
    return OffsetsToClean(first_dirty, max(first_dirty, min(bounds)), is_reset)


def _first_dirty_offset(log: Log, last_clean_offset: int | None) -> tuple[int, bool]:
    start = log.log_start_offset
    if last_clean_offset is None:
        return start, False
    if start <= last_clean_offset <= log.log_end_offset:
        return last_clean_offset, False
    # With retention on top of compaction the log start overtakes the cleaner all the time.
    if last_clean_offset > log.log_end_offset or not log.config.is_delete:
        logger.warn(
            "Resetting first dirty offset of {tp} to log start offset {start} since the "
            "checkpointed offset {offset} is not within the log, which ends at {end}.",
            tp=log.tp,
            start=start,
            offset=last_clean_offset,
            end=log.log_end_offset,
        )
    return start, True


def calculate_cleanable_bytes(log: Log, offsets: OffsetsToClean) -> tuple[int, int]:
    """Return the offset up to which whole segments can be cleaned, and the bytes up to there."""
    uncleanable = _inactive_segments_from(log, offsets.first_uncleanable_dirty_offset)
    first_uncleanable = (uncleanable[0] if uncleanable else log.active_segment).base_offset
    cleanable = log.segments.between(
        min(offsets.first_dirty_offset, first_uncleanable), first_uncleanable
    )
    return first_uncleanable, sum(segment.size for segment in cleanable)


def max_compaction_delay_ms(log: Log, first_dirty_offset: int, now_ms: int) -> int:
    """Return by how much the oldest dirty segment has missed `max.compaction.lag.ms`, or 0."""
    clean_until_ms = now_ms - log.config.max_compaction_lag_ms
    if clean_until_ms <= 0:
        return 0
    timestamps = [
        timestamp
        for segment in _inactive_segments_from(log, first_dirty_offset)
        if (timestamp := segment.first_batch_timestamp()) is not None and timestamp > 0
    ]
    return max(clean_until_ms - min(timestamps), 0) if timestamps else 0


def _inactive_segments_from(log: Log, offset: int) -> list[LogSegment]:
    return log.segments.between(offset, log.active_segment.base_offset)
