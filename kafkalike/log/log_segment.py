"""One segment: the `.log` file and its three indexes.

Segments know batches and positions; producers, epochs and the high watermark are the log's.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from twisted.logger import Logger

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.abstract_index import MAX_RELATIVE_OFFSET
from kafkalike.log.errors import CorruptIndexError, LogSegmentOffsetOverflowError
from kafkalike.log.fetch_data_info import FetchDataInfo, TimestampAndOffset
from kafkalike.log.file_records import FileRecords, OffsetPosition
from kafkalike.log.log_file_names import (
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    segment_file,
)
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.log.offset_index import OffsetIndex
from kafkalike.log.time_index import TimeIndex
from kafkalike.log.transaction_index import TransactionIndex
from kafkalike.protocol.errors import CorruptRecordError, InvalidRecordError
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import BatchHeader, check_crc
from kafkalike.protocol.records.record_reader import iter_records

logger = Logger()

OnBatch = Callable[[BatchHeader, memoryview], None]


class LogSegment:
    """Records from `base_offset` on, up to the next segment's base offset."""

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        config: TopicConfig,
        *,
        now_ms: int,
        is_existing: bool = False,
        roll_jitter_ms: int = 0,
        suffix: str = "",
    ) -> None:
        def path(kind: str) -> Path:
            return segment_file(directory, base_offset, kind, suffix)

        self.base_offset = base_offset
        self.log = FileRecords(
            path(LOG_FILE_SUFFIX),
            is_existing=is_existing,
            preallocate_bytes=config.segment_bytes if config.preallocate else None,
        )
        size = config.segment_index_bytes
        self.offset_index = OffsetIndex(path(INDEX_FILE_SUFFIX), base_offset, size)
        self.time_index = TimeIndex(path(TIME_INDEX_FILE_SUFFIX), base_offset, size)
        self.txn_index = TransactionIndex(path(TXN_INDEX_FILE_SUFFIX), base_offset)
        self._index_interval_bytes = config.index_interval_bytes
        self.roll_jitter_ms = roll_jitter_ms
        self._created_ms = now_ms
        self._bytes_since_last_index_entry = 0
        self._rolling_based_timestamp: int | None = None
        self._max_timestamp: int | None = None
        self._offset_of_max_timestamp = base_offset
        self._last_append: tuple[BatchHeader, int] | None = None

    def __repr__(self) -> str:
        return f"LogSegment(base_offset={self.base_offset}, size={self.size})"

    @property
    def size(self) -> int:
        """Bytes of records."""
        return self.log.size_in_bytes

    @property
    def max_timestamp_so_far(self) -> int:
        """The largest timestamp of its records, -1 if there is none."""
        if self._max_timestamp is None:
            self._max_timestamp, self._offset_of_max_timestamp = self.time_index.last_entry
        return self._max_timestamp

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp, or when the file was changed last if records have none."""
        largest = self.max_timestamp_so_far
        return largest if largest >= 0 else self.last_modified_ms

    @property
    def last_modified_ms(self) -> int:
        """When the `.log` file was changed last."""
        return self.log.path.stat().st_mtime_ns // 1_000_000

    # --- append

    def should_roll(
        self, config: TopicConfig, *, size: int, max_timestamp: int, last_offset: int, now_ms: int
    ) -> bool:
        """Whether the log must go on in a new segment before this append."""
        own_size = self.log.size_in_bytes
        if own_size > config.segment_bytes - size:
            return True
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET or last_offset < self.base_offset:
            return True
        if self.offset_index.is_full or self.time_index.is_full:
            return True
        if not own_size:
            return False
        # The age counts in message time if the first batch has a timestamp.
        first = self.first_batch_timestamp()
        waited_ms = max_timestamp - first if first >= 0 else now_ms - self._created_ms
        return waited_ms > config.max_segment_ms - self.roll_jitter_ms

    def first_batch_timestamp(self) -> int:
        """Return the largest timestamp of the first batch, -1 if there is none."""
        if self._rolling_based_timestamp is None:
            _, header = next(self.log.headers(), (0, None))
            if header is None:
                return NO_TIMESTAMP
            self._rolling_based_timestamp = header.max_timestamp
        return self._rolling_based_timestamp

    def append(
        self,
        parts: Sequence[bytes | memoryview],
        size: int,
        first_batch: BatchHeader,
        *,
        largest_offset: int,
        largest_timestamp: int,
        offset_of_max_timestamp: int,
    ) -> None:
        """Write batches, `size` bytes in all, and an index entry if it is time for one.

        An entry tells the last offset of the batch at its position. (Kafka takes that of the last
        batch written at once, which is right too, but its own tools complain about it.)
        """
        position = self.log.size_in_bytes
        if not 0 <= largest_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            raise LogSegmentOffsetOverflowError(self.base_offset, largest_offset)
        if not position:
            self._rolling_based_timestamp = largest_timestamp
        self.log.append(parts, size)
        if largest_timestamp > self.max_timestamp_so_far:
            self._max_timestamp = largest_timestamp
            self._offset_of_max_timestamp = offset_of_max_timestamp
        if self._bytes_since_last_index_entry > self._index_interval_bytes:
            self.offset_index.append(first_batch.last_offset, position)
            self.time_index.maybe_append(self.max_timestamp_so_far, self._offset_of_max_timestamp)
            self._bytes_since_last_index_entry = 0
        self._bytes_since_last_index_entry += size
        self._last_append = first_batch, position

    # --- read

    def translate_offset(self, offset: int) -> OffsetPosition | None:
        """Return the batch that holds an offset, or the next one after it."""
        if self._last_append is not None:
            # Most readers follow the writer.
            batch, position = self._last_append
            if batch.base_offset <= offset <= batch.last_offset:
                return OffsetPosition(batch.last_offset, position, batch.size_in_bytes)
        start = self.offset_index.lookup(offset).position
        return self.log.search_for_offset_with_size(offset, start)

    def read(
        self, start_offset: int, max_size: int, max_position: int, *, min_one_message: bool
    ) -> FetchDataInfo | None:
        """Return records from an offset on, None if the segment ends before it.

        With `min_one_message` the first batch is given whole even if it is larger than `max_size`.
        """
        found = self.translate_offset(start_offset)
        if found is None:
            return None
        metadata = LogOffsetMetadata(start_offset, self.base_offset, found.position)
        adjusted = max(max_size, found.size) if min_one_message else max_size
        if not adjusted:
            return FetchDataInfo(metadata, b"")
        # The high watermark may lie in the middle of the batch that holds the offset.
        size = max(0, min(max_position - found.position, adjusted))
        records = self.log.slice(found.position, size)
        return FetchDataInfo(metadata, records, adjusted < found.size)

    def read_next_offset(self) -> int:
        """Return the offset after the last record, found by reading on from the index's end."""
        next_offset = self.base_offset
        for _, header in self.log.headers(self.offset_index.last_entry.position):
            next_offset = header.next_offset
        return next_offset

    def find_offset_by_timestamp(
        self, timestamp: int, starting_offset: int
    ) -> TimestampAndOffset | None:
        """Return the first record at or after a timestamp and an offset."""
        start = max(self.time_index.lookup(timestamp).offset, starting_offset)
        position = self.offset_index.lookup(start).position
        for batch_position, header in self.log.headers(position):
            if header.max_timestamp < timestamp:
                continue
            batch = self.log.read(batch_position, header.size_in_bytes)
            for record in iter_records(batch, 0, header):
                if record.timestamp >= timestamp and record.offset >= starting_offset:
                    epoch = header.partition_leader_epoch
                    return TimestampAndOffset(
                        record.timestamp, record.offset, epoch if epoch >= 0 else None
                    )
        return None

    # --- recovery and truncation

    def sanity_check(self) -> None:
        """Raise `CorruptIndexError` if an index cannot belong to the `.log` file."""
        self.offset_index.sanity_check(self.log.size_in_bytes)
        self.time_index.sanity_check()
        self.txn_index.sanity_check()
        first_timestamp = self.time_index.entry_at(0).timestamp if self.time_index.entries else -1
        # Nothing but zeros is sorted too, so it is held against the first batch.
        if first_timestamp <= 0 and (self.time_index.entries or self.offset_index.entries):
            for _, header in self.log.headers():
                if header.max_timestamp > first_timestamp:
                    raise CorruptIndexError(f"{self.time_index.path} begins with no timestamp")
                break

    def recover(self, on_batch: OnBatch) -> int:
        """Check every batch, rebuild the indexes and cut the file before the first bad batch.

        `on_batch` sees each valid batch. Return how many bytes were cut.
        """
        self.offset_index.reset()
        self.time_index.reset()
        self.txn_index.reset()
        self._max_timestamp, self._offset_of_max_timestamp = NO_TIMESTAMP, self.base_offset
        self._rolling_based_timestamp = None
        self._last_append = None
        valid_bytes = 0
        try:
            for valid_bytes in self._recovered_positions(on_batch):  # noqa: B007
                pass
        except (CorruptRecordError, InvalidRecordError) as problem:
            logger.warn(
                "Found invalid messages in log segment {path} at byte offset {position}: {problem}",
                path=self.log.path,
                position=valid_bytes,
                problem=problem,
            )
        truncated = self.log.truncate_to(valid_bytes)
        self.offset_index.trim_to_valid_size()
        self.time_index.maybe_append(
            self._max_timestamp, self._offset_of_max_timestamp, skip_full_check=True
        )
        self.time_index.trim_to_valid_size()
        return truncated

    def _recovered_positions(self, on_batch: OnBatch) -> Iterator[int]:
        last_index_entry = 0
        last_offset = self.base_offset - 1
        for position, header, batch in self.log.batches():
            check_crc(batch, 0, header)
            # The checksum does not cover the offset.
            if header.base_offset <= last_offset or header.last_offset_delta < 0:
                raise CorruptRecordError(
                    f"Offset {header.base_offset} (+ {header.last_offset_delta}) does not follow "
                    f"{last_offset}"
                )
            last_offset = header.last_offset
            if not self.offset_index.can_append_offset(last_offset):
                raise LogSegmentOffsetOverflowError(self.base_offset, last_offset)
            if header.max_timestamp > self.max_timestamp_so_far:
                self._max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = last_offset
            # What was written many batches at once had fewer entries than it would get now.
            has_room = not (self.offset_index.is_full or self.time_index.is_full)
            if has_room and position - last_index_entry > self._index_interval_bytes:
                self.offset_index.append(last_offset, position)
                self.time_index.maybe_append(
                    self.max_timestamp_so_far, self._offset_of_max_timestamp
                )
                last_index_entry = position
            on_batch(header, batch)
            yield position + len(batch)

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Remove the batches from the one that holds an offset on; return how many bytes went."""
        found = self.translate_offset(offset)
        self._last_append = None
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        self.resize_indexes(self.offset_index.max_index_size)
        truncated = 0 if found is None else self.log.truncate_to(found.position)
        if not self.log.size_in_bytes:
            self._created_ms = now_ms
            self._rolling_based_timestamp = None
        self._bytes_since_last_index_entry = 0
        if self.max_timestamp_so_far >= 0:
            self._load_largest_timestamp()
        return truncated

    def _load_largest_timestamp(self) -> None:
        last = self.time_index.last_entry
        self._max_timestamp, self._offset_of_max_timestamp = last
        position = self.offset_index.lookup(last.offset).position
        for _, header in self.log.headers(position):
            if header.max_timestamp > self._max_timestamp:
                self._max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = header.last_offset

    def has_overflow(self) -> bool:
        """Whether an offset is too far from the base for the index."""
        return self.read_next_offset() - 1 - self.base_offset > MAX_RELATIVE_OFFSET

    def resize_indexes(self, size: int) -> None:
        """Make room in the indexes of the active segment."""
        self.offset_index.resize(size)
        self.time_index.resize(size)

    # --- life of the files

    def on_become_inactive(self) -> None:
        """Give back preallocated space; from now on the segment only shrinks or goes."""
        self.time_index.maybe_append(
            self.max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True
        )
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()
        self.log.trim()

    def change_file_suffixes(self, old: str, new: str) -> None:
        """Rename all files, such as from nothing to `.deleted`."""
        for file in (self.log, self.offset_index, self.time_index, self.txn_index):
            name = file.path.name
            if not name.endswith(old):
                raise ValueError(f"{file.path} does not end with {old}")
            file.rename_to(file.path.with_name(name[: len(name) - len(old)] + new))

    def update_parent_dir(self, directory: Path) -> None:
        """Follow the log to its renamed directory."""
        for file in (self.log, self.offset_index, self.time_index, self.txn_index):
            file.path = directory / file.path.name

    def close(self) -> None:
        """Write the last time index entry and cut all files to their size."""
        self.on_become_inactive()

    def close_handlers(self) -> None:
        """Let go of the indexes as they are; the `.log` file closes with its last reader."""
        self.offset_index.close_handler()
        self.time_index.close_handler()

    def delete_if_exists(self) -> None:
        """Remove all files; readers that still hold a slice can finish."""
        self.log.path.unlink(missing_ok=True)
        self.offset_index.delete_if_exists()
        self.time_index.delete_if_exists()
        self.txn_index.delete_if_exists()


def delete_segment_files(directory: Path, base_offset: int, suffix: str = "") -> None:
    """Remove the files of a segment that is not open."""
    for kind in (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX, LOG_FILE_SUFFIX):
        segment_file(directory, base_offset, kind, suffix).unlink(missing_ok=True)
