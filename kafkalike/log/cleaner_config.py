"""What of the broker's configuration concerns the log cleaner."""

from typing import NamedTuple, Self

from kafkalike.config.broker_config import BrokerConfig


class CleanerConfig(NamedTuple):
    """The keys `log.cleaner.*` that hold for all logs; those for a topic are in its own config.

    There is one cleaner whatever `log.cleaner.threads` says: two threads of one Python process
    would only wait for each other. So it has the buffers of all threads for itself.
    """

    is_enabled: bool
    dedupe_buffer_size: int
    dedupe_buffer_load_factor: float
    io_buffer_size: int
    max_io_bytes_per_second: float
    backoff_ms: int

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """Take it from the broker's configuration."""
        return cls(
            is_enabled=config.log_cleaner_enable,
            dedupe_buffer_size=config.log_cleaner_dedupe_buffer_size,
            dedupe_buffer_load_factor=config.log_cleaner_io_buffer_load_factor,
            io_buffer_size=config.log_cleaner_io_buffer_size,
            max_io_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
            backoff_ms=config.log_cleaner_backoff_ms,
        )
