"""Read a log's dirty part into an offset map, and write its segments anew (Kafka's `Cleaner`).

Both are generators that block and are run piece by piece in a thread: they yield every few tenths
of a millisecond, and say how many bytes they have read and written since. They touch files that
nobody writes to any more, so it does not matter to them what becomes of the log meanwhile.
"""

from collections.abc import Generator, Sequence

from kafkalike.log.cleaner_filter import RECORDS_AT_ONCE, CleanerFilter
from kafkalike.log.cleaner_input import DirtySegment, SourceSegment, read_batches
from kafkalike.log.cleaner_output import CleanedSegmentWriter
from kafkalike.log.cleaner_records import open_records, scan_records
from kafkalike.log.cleaner_stats import CleanerStats
from kafkalike.log.cleaner_transactions import CleanedTransactionMetadata
from kafkalike.log.offset_map import OffsetMap
from kafkalike.protocol.records.record_batch import MAGIC_V2, BatchHeader
from kafkalike.protocol.records.record_reader import iter_records


class OffsetMapBuilder:
    """Puts the keys of a log's dirty part into an offset map, until all are in or it is full."""

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactionMetadata,
        stats: CleanerStats,
        buffer_bytes: int,
    ) -> None:
        self._map = offset_map
        self._transactions = transactions
        self._stats = stats
        self._buffer_bytes = buffer_bytes

    def build(
        self, segments: Sequence[DirtySegment], first_dirty_offset: int
    ) -> Generator[int, None, None]:
        """Read the segments; afterwards the map tells by its latest offset how far it came."""
        for segment in segments:
            is_full = yield from self._map_segment(segment, first_dirty_offset)
            if is_full:
                return
            # Compaction may have left a gap at the end of the segment.
            self._map.latest_offset = segment.end_offset - 1

    def _map_segment(
        self, segment: DirtySegment, first_dirty_offset: int
    ) -> Generator[int, None, bool]:
        stats = self._stats
        for header, batch in read_batches(segment.file, segment.position, self._buffer_bytes):
            if header.is_control:
                self._transactions.on_control_batch_read(header, batch)
                stats.map_messages_read += 1
            elif self._transactions.on_batch_read(header):
                stats.map_messages_read += header.record_count
            else:
                is_full = yield from self._map_batch(header, batch, first_dirty_offset)
                if is_full:
                    return True
            if header.last_offset >= first_dirty_offset:
                self._map.latest_offset = header.last_offset
            stats.map_bytes_read += len(batch)
            yield len(batch)
        return False

    def _map_batch(
        self, header: BatchHeader, batch: memoryview, first_dirty_offset: int
    ) -> Generator[int, None, bool]:
        if header.magic < MAGIC_V2:
            records = iter_records(batch, 0, header)
            return self._put([(each.offset, each.key) for each in records], first_dirty_offset)
        opened = open_records(batch, header)
        position, left = 0, header.record_count
        base_offset = header.base_offset
        while left:
            scanned, position = scan_records(opened, position, min(left, RECORDS_AT_ONCE))
            left -= len(scanned)
            keys = [(base_offset + each[0], each[1]) for each in scanned]
            if self._put(keys, first_dirty_offset):
                return True
            yield 0
        return False

    def _put(self, keys: Sequence[tuple[int, bytes | None]], first_dirty_offset: int) -> bool:
        """Put keys in; True if they do not fit any more."""
        offset_map = self._map
        for offset, key in keys:
            if key is not None and offset >= first_dirty_offset:
                if offset_map.is_full:
                    return True
                offset_map.put(key, offset)
        self._stats.map_messages_read += len(keys)
        return False


class SegmentCleaner:
    """Writes what stays of some segments into one."""

    def __init__(
        self,
        record_filter: CleanerFilter,
        transactions: CleanedTransactionMetadata,
        stats: CleanerStats,
        buffer_bytes: int,
    ) -> None:
        self._filter = record_filter
        self._transactions = transactions
        self._stats = stats
        self._buffer_bytes = buffer_bytes

    def clean(
        self, sources: Sequence[SourceSegment], writer: CleanedSegmentWriter
    ) -> Generator[int, None, None]:
        """Clean the segments; the files of the new one are on the disk when it ends."""
        self._transactions.on_aborted = writer.segment.txn_index.append
        for source in sources:
            self._transactions.add_aborted_transactions(source.aborted_txns)
            self._filter.retains_deletes = source.retains_deletes
            yield from self._clean_into(writer, source)
        writer.finish()

    def _clean_into(
        self, writer: CleanedSegmentWriter, source: SourceSegment
    ) -> Generator[int, None, None]:
        stats = self._stats
        for header, batch in read_batches(source.file, 0, self._buffer_bytes):
            cleaned = yield from self._filter.filter(header, batch)
            stats.bytes_read += len(batch)
            moved = len(batch)
            if cleaned is not None:
                writer.add(cleaned)
                stats.messages_written += cleaned.record_count
                stats.bytes_written += len(cleaned.data)
                moved += len(cleaned.data)
            yield moved
