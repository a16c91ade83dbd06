"""The segment that a cleaning writes, under the suffix `.cleaned` until it is swapped in."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.checkpoint import fsync_directory
from kafkalike.log.cleaner_batches import CleanedBatch
from kafkalike.log.cleaner_input import SourceSegment
from kafkalike.log.log_flush import flush_segment
from kafkalike.log.segment_splitter import create_cleaned_segment
from kafkalike.log.time_index import TimeIndex
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import BatchHeader


class CleanedSegmentWriter:
    """Writes one segment in place of some; ends with `finish` or `discard`. All of it blocks.

    Kafka makes one index entry for each buffer that it writes. Here there are as many as appends
    make, but not more than fit the index, even if compression makes the batches twice as large.
    """

    def __init__(
        self, directory: Path, config: TopicConfig, sources: Sequence[SourceSegment], now_ms: int
    ) -> None:
        self._index_interval_bytes = _index_interval_bytes(config, sources)
        self._last_modified_ms = sources[-1].last_modified_ms
        self._directory = directory
        config = config.replace(index_interval_bytes=self._index_interval_bytes)
        self.segment = create_cleaned_segment(directory, sources[0].base_offset, config, now_ms)
        self._clear()

    def _clear(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self._size = 0
        self._first: BatchHeader | None = None
        self._largest_offset = -1
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = -1

    def add(self, batch: CleanedBatch) -> None:
        """Append a batch, together with the next ones if it is small."""
        header = batch.header
        if self._first is None:
            self._first = header
        self._parts.append(batch.data)
        self._size += len(batch.data)
        self._largest_offset = header.last_offset
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp = header.max_timestamp
            self._offset_of_max_timestamp = header.last_offset
        if self._size > self._index_interval_bytes:
            self._append()

    def _append(self) -> None:
        if self._first is None:
            return
        self.segment.append(
            self._parts,
            self._size,
            self._first,
            largest_offset=self._largest_offset,
            largest_timestamp=self._max_timestamp,
            offset_of_max_timestamp=self._offset_of_max_timestamp,
        )
        self._clear()

    def finish(self) -> None:
        """Bring all of it to the disk; the segment is as old as the last one that it replaces."""
        self._append()
        self.segment.on_become_inactive()
        flush_segment(self.segment)
        modified_ns = self._last_modified_ms * 1_000_000
        for file in (self.segment.log, self.segment.offset_index, self.segment.time_index):
            os.utime(file.path, ns=(modified_ns, modified_ns))
        fsync_directory(self._directory)

    def discard(self) -> None:
        """Remove the files; if that fails, the next start does it."""
        with suppress(OSError):
            self.segment.close_handlers()
            self.segment.delete_if_exists()


def _index_interval_bytes(config: TopicConfig, sources: Sequence[SourceSegment]) -> int:
    largest_output = 2 * sum(source.file.size_in_bytes for source in sources)
    # The last entry of a time index is kept for the end of its segment.
    entries = config.segment_index_bytes // TimeIndex.entry.size - 1
    needed = largest_output // entries if entries > 0 else largest_output
    return max(config.index_interval_bytes, needed)
