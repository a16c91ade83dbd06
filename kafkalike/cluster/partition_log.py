"""The log of one partition as its readers meet it: epochs checked, offsets looked up.

Part of Kafka's `Partition`: what needs the log and the leader epoch, but not the ISR.
"""

from typing import NamedTuple

from kafkalike.log.fetch_data_info import (
    FetchDataInfo,
    FetchIsolation,
    LogOffsetSnapshot,
    OffsetAndEpoch,
    TimestampAndOffset,
)
from kafkalike.log.log import Log
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.model.leader_and_isr import NO_LEADER
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    OffsetOutOfRangeError,
    UnknownLeaderEpochError,
)
from kafkalike.protocol.records.record import NO_TIMESTAMP

NO_EPOCH = -1
LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2


class ReadResult(NamedTuple):
    """What a read found, with the offsets as they were at that moment."""

    data: FetchDataInfo
    high_watermark: int
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    diverging_epoch: OffsetAndEpoch | None = None


class PartitionLog:
    """A base class of `Partition`."""

    def __init__(self, tp: TopicPartition, local_broker_id: int) -> None:
        self.tp = tp
        self.log: Log | None = None
        self.leader = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.leader_epoch_start_offset = -1
        self._local_broker_id = local_broker_id

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads the partition."""
        return self.leader == self._local_broker_id

    @property
    def local_log(self) -> Log:
        """The log; raises where its directory is offline."""
        if self.log is None:
            raise KafkaStorageError(f"{self.tp}: its log directory is offline")
        return self.log

    def local_log_with_epoch(self, current_epoch: int, *, only_from_leader: bool) -> Log:
        """The log, if the asker's idea of the leader epoch is ours (-1: it has none)."""
        if current_epoch != NO_EPOCH:
            if current_epoch < self.leader_epoch:
                raise FencedLeaderEpochError(
                    f"{self.tp}: epoch {current_epoch} is older than {self.leader_epoch}"
                )
            if current_epoch > self.leader_epoch:
                raise UnknownLeaderEpochError(
                    f"{self.tp}: epoch {current_epoch} is newer than {self.leader_epoch}"
                )
        if only_from_leader and not self.is_leader:
            raise NotLeaderOrFollowerError(f"{self.tp}: led by {self.leader}")
        return self.local_log

    def read(
        self,
        fetch_offset: int,
        max_bytes: int,
        isolation: FetchIsolation,
        current_leader_epoch: int = NO_EPOCH,
        last_fetched_epoch: int = NO_EPOCH,
        *,
        only_from_leader: bool = True,
        min_one_message: bool = True,
    ) -> ReadResult:
        """Read batches from an offset on; no records but an epoch where the reader diverged."""
        log = self.local_log_with_epoch(current_leader_epoch, only_from_leader=only_from_leader)
        # The offsets of before the read: what is appended later must not keep a follower out of
        # sync.
        high_watermark, start, end = log.high_watermark, log.log_start_offset, log.log_end_offset
        stable = log.last_stable_offset
        if last_fetched_epoch != NO_EPOCH:
            diverging = self._diverging_epoch(log, fetch_offset, last_fetched_epoch)
            if diverging is not None:
                nothing = FetchDataInfo(LogOffsetMetadata(fetch_offset), b"")
                return ReadResult(nothing, high_watermark, start, end, stable, diverging)
        data = log.read(fetch_offset, max_bytes, isolation, min_one_message=min_one_message)
        return ReadResult(data, high_watermark, start, end, stable)

    def _diverging_epoch(
        self, log: Log, fetch_offset: int, last_fetched_epoch: int
    ) -> OffsetAndEpoch | None:
        """Return where a follower must truncate to, None if its log is a prefix of ours."""
        end = log.end_offset_for_epoch(last_fetched_epoch)
        if end is None:
            raise OffsetOutOfRangeError(
                f"{self.tp}: the end of the last fetched epoch {last_fetched_epoch} is not known"
            )
        if fetch_offset < log.log_start_offset:
            raise OffsetOutOfRangeError(
                f"{self.tp}: offset {fetch_offset} is below the log start {log.log_start_offset}"
            )
        is_prefix = end.leader_epoch >= last_fetched_epoch and end.offset >= fetch_offset
        return None if is_prefix else end

    def fetch_offset_snapshot(
        self, current_leader_epoch: int, *, only_from_leader: bool
    ) -> LogOffsetSnapshot:
        """Return all offsets of the log at this moment."""
        log = self.local_log_with_epoch(current_leader_epoch, only_from_leader=only_from_leader)
        return log.fetch_offset_snapshot()

    def fetch_offset_for_timestamp(
        self,
        timestamp: int,
        isolation: FetchIsolation,
        current_leader_epoch: int,
        *,
        only_from_leader: bool,
    ) -> TimestampAndOffset | None:
        """Return the first offset at or after a time, the latest (-1) or the earliest (-2).

        Right after an election the high watermark may lag behind what clients saw before; then the
        latest offset is not available to them (KIP-207).
        """
        log = self.local_log_with_epoch(current_leader_epoch, only_from_leader=only_from_leader)
        last_fetchable = {
            FetchIsolation.LOG_END: log.log_end_offset,
            FetchIsolation.HIGH_WATERMARK: log.high_watermark,
            FetchIsolation.TXN_COMMITTED: log.last_stable_offset,
        }[isolation]
        is_lagging = (
            isolation is not FetchIsolation.LOG_END
            and self.leader_epoch_start_offset > log.high_watermark
        )
        if timestamp == EARLIEST_TIMESTAMP:
            return log.fetch_offset_by_timestamp(timestamp)
        if timestamp != LATEST_TIMESTAMP:
            found = log.fetch_offset_by_timestamp(timestamp)
            if found is not None and found.offset < last_fetchable:
                return found
        if is_lagging:
            raise OffsetNotAvailableError(
                f"{self.tp}: the high watermark {log.high_watermark} is lagging behind the start "
                f"offset {self.leader_epoch_start_offset} of epoch {self.leader_epoch}"
            )
        if timestamp == LATEST_TIMESTAMP:
            return TimestampAndOffset(NO_TIMESTAMP, last_fetchable, self.leader_epoch)
        return None

    def last_offset_for_leader_epoch(
        self, current_leader_epoch: int, leader_epoch: int, *, only_from_leader: bool
    ) -> OffsetAndEpoch | None:
        """Return the largest known epoch up to the given one, and the offset where it ends."""
        log = self.local_log_with_epoch(current_leader_epoch, only_from_leader=only_from_leader)
        return log.end_offset_for_epoch(leader_epoch)
