"""The offsets of a log and how they follow each other.

Part of Kafka's `Log`: log start offset <= last stable offset <= high watermark <= log end offset,
and the recovery point, up to which the log is on the disk.
"""

from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.fetch_data_info import FetchIsolation, LogOffsetSnapshot
from kafkalike.log.local_log import LocalLog
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.log.producer_state import ProducerStateManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaStorageError

logger = Logger()


class LogOffsets:
    """What `Log` knows of its offsets; where an offset lies in the files is looked up lazily."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        local_log: LocalLog,
        producer_state: ProducerStateManager,
        environment: LogEnvironment,
        *,
        log_start_offset: int,
        recovery_point: int,
    ) -> None:
        self.tp = self.topic_partition = topic_partition
        self.producer_state = producer_state
        self.parent_dir = local_log.directory.parent
        """The log directory (of `log.dirs`) that this log lies in."""
        self.log_start_offset = log_start_offset
        self.recovery_point = recovery_point
        self._local = local_log
        self._environment = environment
        self._is_offline = False
        self._high_watermark = LogOffsetMetadata(log_start_offset)
        self._first_unstable_offset: LogOffsetMetadata | None = None
        self._maybe_increment_first_unstable_offset()

    @property
    def directory(self) -> Path:
        """Where the files of this log are."""
        return self._local.directory

    # --- failures

    def storage_failed(self, message: str, error: OSError) -> KafkaStorageError:
        """Take the log directory offline because of an I/O error; return the error to raise."""
        self._is_offline = True
        self._environment.on_storage_failure(self.parent_dir, message, error)
        return KafkaStorageError(message)

    def _check_online(self) -> None:
        if self._is_offline:
            raise KafkaStorageError(
                f"The log of {self.tp} is closed, or its log dir {self.parent_dir} is offline due "
                "to a previous IO exception."
            )

    # --- log end offset

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self._local.next_offset_metadata.message_offset

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """The offset of the next record, and where it will lie."""
        return self._local.next_offset_metadata

    def _update_log_end_offset(self, offset: int) -> None:
        self._local.update_log_end_offset(offset)
        # After a roll the high watermark may lie in the new segment.
        if self._high_watermark.message_offset >= offset:
            self._set_high_watermark(self._local.next_offset_metadata)
        self.recovery_point = min(self.recovery_point, offset)

    # --- high watermark

    @property
    def high_watermark(self) -> int:
        """The offset below which all in-sync replicas have everything."""
        return self._high_watermark.message_offset

    @property
    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """The high watermark, and where it lies."""
        if self._high_watermark.is_message_offset_only:
            self._high_watermark = self._to_offset_metadata(self._high_watermark.message_offset)
        return self._high_watermark

    def maybe_increment_high_watermark(self, new_offset: int) -> bool:
        """Raise the high watermark; False if it was not lower (the leader's way)."""
        if new_offset <= self._high_watermark.message_offset:
            return False
        end = self._local.next_offset_metadata
        if new_offset > end.message_offset:
            raise ValueError(
                f"{self.tp}: high watermark {new_offset} would exceed the log end offset "
                f"{end.message_offset}"
            )
        at_end = new_offset == end.message_offset
        self._set_high_watermark(end if at_end else LogOffsetMetadata(new_offset))
        return True

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark within the log, up or down, and return it (the follower's way)."""
        end = self._local.next_offset_metadata
        if offset >= end.message_offset:
            self._set_high_watermark(end)
        else:
            self._set_high_watermark(LogOffsetMetadata(max(offset, self.log_start_offset)))
        return self._high_watermark.message_offset

    def _set_high_watermark(self, metadata: LogOffsetMetadata) -> None:
        if metadata.message_offset < self._high_watermark.message_offset:
            logger.warn(
                "Non-monotonic update of high watermark of {tp} from {old} to {new}",
                tp=self.tp,
                old=self._high_watermark.message_offset,
                new=metadata.message_offset,
            )
        self._high_watermark = metadata
        if self._first_unstable_offset is not None:
            self.producer_state.on_high_watermark_updated(metadata.message_offset)
            self._maybe_increment_first_unstable_offset()

    # --- last stable offset

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of a transaction that is open, or whose marker is not replicated yet."""
        unstable = self._first_unstable_offset
        return None if unstable is None else unstable.message_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction is decided."""
        unstable = self._first_unstable_offset
        high_watermark = self._high_watermark.message_offset
        return high_watermark if unstable is None else min(unstable[0], high_watermark)

    @property
    def last_stable_offset_metadata(self) -> LogOffsetMetadata:
        """The last stable offset, and where it lies."""
        unstable = self._first_unstable_offset
        high_watermark = self.high_watermark_metadata
        if unstable is None or unstable.message_offset >= high_watermark.message_offset:
            return high_watermark
        if unstable.is_message_offset_only:
            unstable = self._to_offset_metadata(unstable.message_offset)
            self._first_unstable_offset = unstable
        return unstable

    def _maybe_increment_first_unstable_offset(self) -> None:
        first = self.producer_state.first_unstable_offset
        if first is None:
            self._first_unstable_offset = None
            return
        offset = max(first, self.log_start_offset)
        current = self._first_unstable_offset
        if current is None or current.message_offset != offset:
            self._first_unstable_offset = LogOffsetMetadata(offset)

    # --- all together

    def fetchable_end(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Return how far a read with this isolation may go."""
        if isolation is FetchIsolation.LOG_END:
            return self._local.next_offset_metadata
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return self.high_watermark_metadata
        return self.last_stable_offset_metadata

    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """Return all offsets and where they lie."""
        return LogOffsetSnapshot(
            self.log_start_offset,
            self._local.next_offset_metadata,
            self.high_watermark_metadata,
            self.last_stable_offset_metadata,
        )

    def _update_log_start_offset(self, offset: int) -> None:
        self.log_start_offset = offset
        if self._high_watermark.message_offset < offset:
            self.update_high_watermark(offset)
        self.recovery_point = max(self.recovery_point, offset)

    def _forget_positions(self) -> None:
        """Look up anew where offsets lie, as segments have been replaced."""
        self._high_watermark = LogOffsetMetadata(self._high_watermark.message_offset)
        unstable = self._first_unstable_offset
        if unstable is not None:
            self._first_unstable_offset = LogOffsetMetadata(unstable.message_offset)

    def _to_offset_metadata(self, offset: int) -> LogOffsetMetadata:
        self._check_online()
        try:
            return self._local.to_offset_metadata(offset)
        except OSError as error:
            message = f"Exception while reading from {self.tp} in dir {self.parent_dir}"
            raise self.storage_failed(message, error) from error
