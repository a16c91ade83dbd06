"""What a read of the log takes and gives: isolation, records, and offsets found by time."""

from enum import IntEnum
from typing import NamedTuple

from kafkalike.log.file_records import FileSlice
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.log.transaction_index import AbortedTxn


class FetchIsolation(IntEnum):
    """How far a read may go: followers to the log end, consumers to a stable offset."""

    LOG_END = 0
    HIGH_WATERMARK = 1
    TXN_COMMITTED = 2


class FetchDataInfo(NamedTuple):
    """Records from one segment, as a range of its file (to `sendfile`) or as no bytes at all.

    `aborted_transactions` is None unless the read was `TXN_COMMITTED`.
    """

    fetch_offset_metadata: LogOffsetMetadata
    records: FileSlice | bytes
    first_entry_incomplete: bool = False
    aborted_transactions: list[AbortedTxn] | None = None

    @property
    def offset(self) -> int:
        """The offset that was asked for."""
        return self.fetch_offset_metadata.message_offset


class TimestampAndOffset(NamedTuple):
    """An offset found by time; `timestamp` -1 for the earliest and latest offsets."""

    timestamp: int
    offset: int
    leader_epoch: int | None


class OffsetAndEpoch(NamedTuple):
    """The end offset of an epoch, and the epoch that was really found."""

    offset: int
    leader_epoch: int


class LogOffsetSnapshot(NamedTuple):
    """All offsets of a log at one moment."""

    log_start_offset: int
    log_end_offset: LogOffsetMetadata
    high_watermark: LogOffsetMetadata
    last_stable_offset: LogOffsetMetadata
