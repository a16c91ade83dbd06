"""Offsets by time: what ListOffsets asks of a log. Part of Kafka's `Log`."""

from collections.abc import Sequence

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.fetch_data_info import TimestampAndOffset
from kafkalike.log.leader_epoch_cache import LeaderEpochCache
from kafkalike.log.log_segment import LogSegment
from kafkalike.log.log_segments import LogSegments
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import UnsupportedForMessageFormatError
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import MAGIC_V1

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2


def earliest_offset(log_start_offset: int, epochs: LeaderEpochCache | None) -> TimestampAndOffset:
    """Return the log start offset with its epoch, if that is known."""
    entry = epochs.earliest_entry if epochs else None
    # After an upgrade of the message format the first epoch may begin later than the log.
    epoch = entry.epoch if entry and entry.start_offset <= log_start_offset else None
    return TimestampAndOffset(NO_TIMESTAMP, log_start_offset, epoch)


def first_offset_at_or_after(
    tp: TopicPartition,
    config: TopicConfig,
    segments: LogSegments,
    timestamp: int,
    log_start_offset: int,
) -> TimestampAndOffset | None:
    """Return the first record that is as new as a timestamp, None if none is."""
    if config.record_version < MAGIC_V1:
        raise UnsupportedForMessageFormatError(
            f"Cannot search offsets based on timestamp because message format version for "
            f"partition {tp} is {config.message_format_version} which is earlier than the minimum "
            "required version 0.10.0-IV0"
        )
    for segment in segments:
        if segment.largest_timestamp >= timestamp:
            found = segment.find_offset_by_timestamp(timestamp, log_start_offset)
            # Its newest record may lie before the log start, or be compacted away: read on.
            if found is not None:
                return found
    return None


def offsets_before(
    segments: Sequence[LogSegment],
    timestamp: int,
    max_count: int,
    *,
    log_start_offset: int,
    log_end_offset: int,
    now_ms: int,
) -> list[int]:
    """Return the beginnings of segments that were last written before a time, newest first.

    What version 0 of ListOffsets answers: it knows the time of files only.
    """
    offsets = [
        (max(segment.base_offset, log_start_offset), segment.last_modified_ms)
        for segment in segments
    ]
    if segments[-1].size:
        offsets.append((log_end_offset, now_ms))
    if timestamp == LATEST_TIMESTAMP:
        end = len(offsets)
    elif timestamp == EARLIEST_TIMESTAMP:
        end = 1
    else:
        end = max((i for i, (_, ms) in enumerate(offsets, 1) if ms <= timestamp), default=0)
    return sorted((offset for offset, _ in offsets[max(0, end - max_count) : end]), reverse=True)
