"""One cleaning of one log, from its offset map to the swap of its last segments.

Part of Kafka's `Cleaner`: its `doClean`. What a thread needs is gathered on the reactor before.
"""

from collections.abc import Callable, Sequence

from twisted.logger import Logger

from kafkalike.log.cleaner import OffsetMapBuilder, SegmentCleaner
from kafkalike.log.cleaner_config import CleanerConfig
from kafkalike.log.cleaner_filter import CleanerFilter, LastRecord
from kafkalike.log.cleaner_groups import group_segments_by_size
from kafkalike.log.cleaner_input import DirtySegment, SourceSegment
from kafkalike.log.cleaner_offsets import LogToClean
from kafkalike.log.cleaner_output import CleanedSegmentWriter
from kafkalike.log.cleaner_slices import SliceRunner
from kafkalike.log.cleaner_stats import CleanerStats
from kafkalike.log.cleaner_transactions import CleanedTransactionMetadata
from kafkalike.log.errors import LogCleaningAbortedError, LogSegmentOffsetOverflowError
from kafkalike.log.log import Log
from kafkalike.log.log_segment import LogSegment
from kafkalike.log.offset_map import OffsetMap
from kafkalike.log.segment_splitter import write_parts
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

logger = Logger()


class CleaningJob:
    """Cleans a log; `check` raises when it is to stop, and is asked before anything is changed."""

    def __init__(
        self,
        cleanable: LogToClean,
        config: CleanerConfig,
        slices: SliceRunner,
        time: Time,
        run_blocking: RunBlocking,
        check: Callable[[], None],
    ) -> None:
        self.stats = CleanerStats()
        self._cleanable = cleanable
        self._log = cleanable.log
        self._config = config
        self._slices = slices
        self._time = time
        self._run_blocking = run_blocking
        self._check = check
        # Kafka reads into one half and writes from the other.
        self._buffer_bytes = config.io_buffer_size // 2

    async def clean(self) -> int:
        """Clean the log and return its first dirty offset now."""
        started_ms = now_ms = self._time.now_ms()
        offset_map = self._new_offset_map()
        try:
            await self._build_offset_map(offset_map)
            self.stats.index_ms = self._time.now_ms() - started_ms
            end_offset = offset_map.latest_offset + 1
            await self._clean_groups(offset_map, end_offset, now_ms)
            self.stats.buffer_utilization = offset_map.utilization
        except LogSegmentOffsetOverflowError as overflow:
            await self._split_overflowed_segments(overflow, now_ms)
            raise LogCleaningAbortedError(
                f"{self._log.tp} was split and is to be cleaned anew"
            ) from overflow
        finally:
            offset_map.close()
        self.stats.elapsed_ms = self._time.now_ms() - started_ms
        return end_offset

    # --- the offset map

    def _new_offset_map(self) -> OffsetMap:
        first, end = self._cleanable.first_dirty_offset, self._cleanable.first_uncleanable_offset
        return OffsetMap(
            self._config.dedupe_buffer_size,
            self._config.dedupe_buffer_load_factor,
            expected_keys=max(end - first, 0),
        )

    async def _build_offset_map(self, offset_map: OffsetMap) -> None:
        first, end = self._cleanable.first_dirty_offset, self._cleanable.first_uncleanable_offset
        transactions = CleanedTransactionMetadata()
        transactions.add_aborted_transactions(self._log.collect_aborted_transactions(first, end))
        builder = OffsetMapBuilder(offset_map, transactions, self.stats, self._buffer_bytes)
        segments = self._log.segments.between(first, end)
        ends = [*(segment.base_offset for segment in segments[1:]), end]
        dirty = [
            DirtySegment(segment.log, segment.offset_index.lookup(first).position, segment_end)
            for segment, segment_end in zip(segments, ends, strict=False)
        ]
        await self._slices.run(builder.build(dirty, first), self._check)

    # --- the segments

    async def _clean_groups(self, offset_map: OffsetMap, end_offset: int, now_ms: int) -> None:
        log, config = self._log, self._log.config
        clean = log.segments.between(0, self._cleanable.first_dirty_offset)
        delete_horizon_ms = clean[-1].last_modified_ms - config.delete_retention_ms if clean else 0
        transactions = CleanedTransactionMetadata()
        groups = group_segments_by_size(
            log.segments.between(0, end_offset),
            max_size=config.segment_bytes,
            max_index_size=config.segment_index_bytes,
            first_uncleanable_offset=self._cleanable.first_uncleanable_offset,
        )
        for group in groups:
            self._check()
            record_filter = CleanerFilter(
                offset_map, transactions, last_records_of_active_producers(log), self.stats
            )
            cleaner = SegmentCleaner(record_filter, transactions, self.stats, self._buffer_bytes)
            sources = self._sources(group, delete_horizon_ms)
            await self._clean_segments(cleaner, sources, group, now_ms)

    def _sources(self, group: Sequence[LogSegment], delete_horizon_ms: int) -> list[SourceSegment]:
        sources = []
        ends = [*(segment.base_offset for segment in group[1:]), group[-1].read_next_offset()]
        for segment, end in zip(group, ends, strict=True):
            modified_ms = segment.last_modified_ms
            sources.append(
                SourceSegment(
                    segment.base_offset,
                    segment.log,
                    self._log.collect_aborted_transactions(segment.base_offset, end),
                    modified_ms > delete_horizon_ms,
                    modified_ms,
                )
            )
        return sources

    async def _clean_segments(
        self,
        cleaner: SegmentCleaner,
        sources: Sequence[SourceSegment],
        group: Sequence[LogSegment],
        now_ms: int,
    ) -> None:
        log = self._log
        writer = await self._run_blocking(
            CleanedSegmentWriter, log.directory, log.config, sources, now_ms
        )
        try:
            await self._slices.run(cleaner.clean(sources, writer), self._check)
            self._check()
        except Exception:
            await self._run_blocking(writer.discard)
            raise
        log.replace_segments([writer.segment], group)

    async def _split_overflowed_segments(
        self, overflow: LogSegmentOffsetOverflowError, now_ms: int
    ) -> None:
        log = self._log
        overflowed = [each for each in list(log.segments)[:-1] if each.has_overflow()]
        if not overflowed:
            raise overflow
        for segment in overflowed:
            parts = await self._run_blocking(
                write_parts, log.directory, log.config, segment, now_ms
            )
            self._check()
            log.replace_segments(parts, [segment])


def last_records_of_active_producers(log: Log) -> dict[int, LastRecord]:
    """Return the last that each producer of a log wrote."""
    return {
        producer_id: LastRecord(
            entry.last_data_offset if entry.last_data_offset >= 0 else None, entry.producer_epoch
        )
        for producer_id, entry in log.producer_state.producers.items()
    }
