"""Split a segment whose offsets are too far apart for its index (KAFKA-6264).

Old brokers could write such segments when they compacted; later ones split them when they load.
"""

from pathlib import Path

from twisted.logger import Logger

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.abstract_index import MAX_RELATIVE_OFFSET
from kafkalike.log.checkpoint import fsync_directory
from kafkalike.log.local_log import LocalLog
from kafkalike.log.log_file_names import CLEANED_FILE_SUFFIX
from kafkalike.log.log_flush import flush_segment
from kafkalike.log.log_segment import LogSegment, delete_segment_files
from kafkalike.protocol.records.record_batch import MAGIC_V2

logger = Logger()


def create_cleaned_segment(
    directory: Path, base_offset: int, config: TopicConfig, now_ms: int
) -> LogSegment:
    """Create an empty segment with the suffix `.cleaned`, in place of one that was left over."""
    delete_segment_files(directory, base_offset, CLEANED_FILE_SUFFIX)
    return LogSegment(
        directory,
        base_offset,
        config.replace(preallocate=False),
        now_ms=now_ms,
        suffix=CLEANED_FILE_SUFFIX,
    )


def split_overflowed_segment(local_log: LocalLog, segment: LogSegment, now_ms: int) -> None:
    """Put segments that fit their index in the place of one that does not, crash-safe."""
    parts = write_parts(local_log.directory, local_log.config, segment, now_ms)
    local_log.segments.add(segment)
    local_log.replace_segments(parts, [segment])


def write_parts(
    directory: Path, config: TopicConfig, segment: LogSegment, now_ms: int
) -> list[LogSegment]:
    """Copy a segment into `.cleaned` ones that fit their index; they are on the disk then."""
    logger.info("Splitting overflowed segment {path}", path=segment.log.path)
    parts: list[LogSegment] = []
    next_offset = segment.base_offset
    for _, header, batch in segment.log.batches():
        last_offset = header.last_offset
        if not parts or last_offset - parts[-1].base_offset > MAX_RELATIVE_OFFSET:
            base_offset = header.base_offset
            if header.magic < MAGIC_V2:
                # The first offset is inside the compressed message: this is as low as can be.
                base_offset = max(next_offset, last_offset - MAX_RELATIVE_OFFSET)
            parts.append(create_cleaned_segment(directory, base_offset, config, now_ms))
        parts[-1].append(
            [batch],
            len(batch),
            header,
            largest_offset=last_offset,
            largest_timestamp=header.max_timestamp,
            offset_of_max_timestamp=last_offset,
        )
        next_offset = last_offset + 1
    for part in parts:
        part.on_become_inactive()
        flush_segment(part)
    fsync_directory(directory)
    return parts
