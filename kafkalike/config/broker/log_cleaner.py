"""Keys about the log cleaner, which compacts logs."""

from kafkalike.config.checks import at_least
from kafkalike.config.definition import CLUSTER_WIDE, LONG, MAX_LONG, Config, key


class LogCleanerKeys(Config):
    """How much memory and I/O compaction takes, and when a log is due."""

    log_cleaner_enable: bool = key(
        "log.cleaner.enable", True, "Run the log cleaner; without it compacted logs only grow."
    )
    log_cleaner_threads: int = key(
        "log.cleaner.threads",
        1,
        "Number of threads that clean logs.",
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_io_max_bytes_per_second: float = key(
        "log.cleaner.io.max.bytes.per.second",
        1.7976931348623157e308,
        "Most bytes that cleaning reads and writes per second.",
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_dedupe_buffer_size: int = key(
        "log.cleaner.dedupe.buffer.size",
        134217728,
        "Memory to find duplicate keys in, for all cleaner threads together.",
        type=LONG,
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_io_buffer_size: int = key(
        "log.cleaner.io.buffer.size",
        524288,
        "Memory for I/O buffers, for all cleaner threads together.",
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_io_buffer_load_factor: float = key(
        "log.cleaner.io.buffer.load.factor",
        0.9,
        "How full the buffer for duplicate keys may get; higher cleans more at once and collides "
        "more.",
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_backoff_ms: int = key(
        "log.cleaner.backoff.ms",
        15000,
        "Pause when there are no logs to clean.",
        type=LONG,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_min_cleanable_ratio: float = key(
        "log.cleaner.min.cleanable.ratio",
        0.5,
        "Smallest ratio of dirty log to total log for a log to be cleaned.",
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_delete_retention_ms: int = key(
        "log.cleaner.delete.retention.ms",
        86400000,
        "How long delete markers are kept in compacted logs.",
        type=LONG,
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_min_compaction_lag_ms: int = key(
        "log.cleaner.min.compaction.lag.ms",
        0,
        "Shortest time a message stays uncompacted.",
        type=LONG,
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_max_compaction_lag_ms: int = key(
        "log.cleaner.max.compaction.lag.ms",
        MAX_LONG,
        "Longest time a message may stay ineligible for compaction.",
        type=LONG,
        dynamic=CLUSTER_WIDE,
    )
