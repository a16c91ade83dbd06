"""What an append to the log did."""

from dataclasses import dataclass

from kafkalike.protocol.records.record import NO_TIMESTAMP


@dataclass(slots=True, kw_only=True)
class LogAppendInfo:
    """The offsets, timestamps and size of the batches of one append.

    For a duplicate of an idempotent producer nothing was written, and the offsets are those of the
    first time. With `is_flush_due` the log promised by `flush.messages` to be on the disk: the
    caller flushes it (`Log.prepare_flush`) before it answers.
    """

    first_offset: int
    last_offset: int
    last_leader_epoch: int | None = None
    max_timestamp: int = NO_TIMESTAMP
    offset_of_max_timestamp: int = -1
    log_append_time: int = NO_TIMESTAMP
    log_start_offset: int = -1
    shallow_count: int = 0
    valid_bytes: int = 0
    is_duplicate: bool = False
    is_flush_due: bool = False

    @property
    def num_messages(self) -> int:
        """How many offsets the append took."""
        if self.first_offset < 0 or self.last_offset < 0:
            return 0
        return self.last_offset - self.first_offset + 1
