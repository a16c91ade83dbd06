"""Which batches and records of a compacted log stay (Kafka's `Cleaner.cleanInto`). Decisions only.

A record stays if no later one of the cleaned part has its key. One without a value, a tombstone,
goes a while after that; records of aborted transactions go at once. The last batch of an active
producer stays in any case, if need be without records, for the sake of its sequence number.
"""

from collections.abc import Generator, Mapping
from typing import NamedTuple

from kafkalike.log.cleaner_batches import (
    CleanedBatch,
    unchanged,
    with_messages,
    with_records,
    without_records,
)
from kafkalike.log.cleaner_records import RawRecord, open_records, scan_records
from kafkalike.log.cleaner_stats import CleanerStats
from kafkalike.log.cleaner_transactions import CleanedTransactionMetadata
from kafkalike.log.offset_map import OffsetMap
from kafkalike.protocol.records.legacy_message_set import open_legacy_entry
from kafkalike.protocol.records.record_batch import MAGIC_V2, BatchHeader, check_crc

RECORDS_AT_ONCE = 32
"""How many records are looked at, in about a tenth of a millisecond, before the next `yield`."""


class LastRecord(NamedTuple):
    """The last that a producer wrote: a batch that ends here, or no more than a marker."""

    last_data_offset: int | None
    producer_epoch: int


class CleanerFilter:
    """Takes batches in the order of the log and tells what stays of each.

    `retains_deletes` is set for each segment: whether tombstones and markers are too new to go.
    """

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactionMetadata,
        last_records: Mapping[int, LastRecord],
        stats: CleanerStats,
    ) -> None:
        self.retains_deletes = True
        self._map = offset_map
        self._transactions = transactions
        self._last_records = last_records
        self.stats = stats

    def filter(
        self, header: BatchHeader, batch: memoryview
    ) -> Generator[int, None, CleanedBatch | None]:
        """Return what stays of a batch, None if nothing; yields (0) after some records."""
        is_discarded = self._should_discard(header, batch)
        stays_empty = header.has_producer_id and self._is_last_of_producer(header)
        cleaned = None
        if not is_discarded:
            cleaned = yield from self._filter_records(header, batch)
        if cleaned is None and stays_empty:
            return without_records(header)
        return cleaned

    def _should_discard(self, header: BatchHeader, batch: memoryview) -> bool:
        if header.is_control:
            is_useless = self._transactions.on_control_batch_read(header, batch)
            return is_useless and not self.retains_deletes
        return self._transactions.on_batch_read(header)

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self._last_records.get(header.producer_id)
        if last is None:
            return False
        if last.last_data_offset is not None:
            return header.last_offset == last.last_data_offset
        # The marker has the last epoch, which fences older ones.
        return header.is_control and header.producer_epoch == last.producer_epoch

    def _filter_records(
        self, header: BatchHeader, batch: memoryview
    ) -> Generator[int, None, CleanedBatch | None]:
        if header.magic < MAGIC_V2:
            return self._filter_messages(header, batch)
        count = header.record_count
        self.stats.messages_read += count
        if not count:
            return None
        if header.is_control or header.base_offset > self._map.latest_offset:
            return unchanged(header, batch, count)
        opened = open_records(batch, header)
        kept = yield from self._kept_records(header, opened)
        if len(kept) == count:
            return unchanged(header, batch, count)
        if not kept:
            return None
        # A new checksum must not make good what the disk has spoilt.
        check_crc(batch, 0, header)
        return with_records(header, opened, kept)

    def _kept_records(
        self, header: BatchHeader, opened: bytes
    ) -> Generator[int, None, list[RawRecord]]:
        kept: list[RawRecord] = []
        position, left = 0, header.record_count
        base, should_retain = header.base_offset, self._should_retain
        while left:
            records, position = scan_records(opened, position, min(left, RECORDS_AT_ONCE))
            left -= len(records)
            kept += [
                record
                for record in records
                if should_retain(record[1], base + record[0], record[2])
            ]
            yield 0
        return kept

    def _filter_messages(self, header: BatchHeader, batch: memoryview) -> CleanedBatch | None:
        messages = open_legacy_entry(batch, header)
        self.stats.messages_read += len(messages)
        kept = [
            message
            for message in messages
            if self._should_retain(message.key, message.offset, message.value is not None)
        ]
        if not kept:
            return None
        # Old brokers wrote wrappers around messages of another format (KAFKA-4298).
        has_one_format = all(message.magic == header.magic for message in kept)
        if len(kept) == len(messages) and has_one_format:
            return unchanged(header, batch, len(kept))
        check_crc(batch, 0, header)
        return with_messages(header, kept)

    def _should_retain(self, key: bytes | None, offset: int, has_value: bool) -> bool:
        if offset > self._map.latest_offset:
            return True
        if key is None:
            self.stats.invalid_messages_read += 1
            return False
        return offset >= self._map.get(key) and (has_value or self.retains_deletes)
