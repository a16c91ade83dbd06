"""What one cleaning of a log has read and written, and what there was to clean before it."""

from dataclasses import dataclass

_MB = 1 << 20


@dataclass(slots=True)
class CleanerStats:
    """Counts of one cleaning; `elapsed_ms` is the whole time, `index_ms` that of the offset map."""

    bytes_read: int = 0
    bytes_written: int = 0
    map_bytes_read: int = 0
    map_messages_read: int = 0
    messages_read: int = 0
    invalid_messages_read: int = 0
    messages_written: int = 0
    buffer_utilization: float = 0.0
    elapsed_ms: int = 0
    index_ms: int = 0

    def summary(self) -> str:
        """Return all of it in a few words, for the log."""
        read, written = self.bytes_read / _MB, self.bytes_written / _MB
        reduction = 1 - self.bytes_written / self.bytes_read if self.bytes_read else 0.0
        fewer = 1 - self.messages_written / self.messages_read if self.messages_read else 0.0
        return (
            f"{read:,.1f} MB of log processed in {self.elapsed_ms / 1000:,.1f} seconds, "
            f"{self.map_bytes_read / _MB:,.1f} MB indexed in {self.index_ms / 1000:,.1f} seconds, "
            f"buffer utilization {self.buffer_utilization:.1%}; "
            f"start size {read:,.1f} MB ({self.messages_read:,} messages), "
            f"end size {written:,.1f} MB ({self.messages_written:,} messages): "
            f"{reduction:.1%} size reduction ({fewer:.1%} fewer messages)"
        )


@dataclass(slots=True)
class PreCleanStats:
    """What was found when the next log to clean was chosen."""

    max_compaction_delay_ms: int = 0
    delayed_partitions: int = 0
    cleanable_partitions: int = 0

    def update_max_compaction_delay(self, delay_ms: int) -> None:
        """Note by how much a log has missed `max.compaction.lag.ms`."""
        self.max_compaction_delay_ms = max(self.max_compaction_delay_ms, delay_ms)
        if delay_ms > 0:
            self.delayed_partitions += 1
