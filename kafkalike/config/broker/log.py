"""Keys about logs on disk: directories, segments, retention, flushing, message formats."""

from kafkalike.config.checks import IS_API_VERSION, at_least, one_of
from kafkalike.config.definition import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    LONG,
    LOW,
    MAX_LONG,
    Config,
    key,
)


class LogKeys(Config):
    """Where logs are, and what topics without settings of their own do with theirs."""

    num_partitions: int = key(
        "num.partitions", 1, "Partitions of a new topic by default.", check=at_least(1)
    )
    log_dir: str = key(
        "log.dir",
        "/tmp/kafka-logs",
        "The directory for logs, if log.dirs is not set.",
        importance=HIGH,
    )
    log_dirs: str | None = key(
        "log.dirs",
        None,
        "The directories for logs, with commas between; log.dir if not set.",
        importance=HIGH,
    )
    log_segment_bytes: int = key(
        "log.segment.bytes",
        1 << 30,
        "Largest size of one log file.",
        check=at_least(14),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_roll_ms: int | None = key(
        "log.roll.ms",
        None,
        "Time after which a new log segment is begun; log.roll.hours if not set.",
        type=LONG,
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_roll_hours: int = key(
        "log.roll.hours",
        168,
        "Hours after which a new log segment is begun, secondary to log.roll.ms.",
        check=at_least(1),
        importance=HIGH,
    )
    log_roll_jitter_ms: int | None = key(
        "log.roll.jitter.ms",
        None,
        "Largest random time to take off log.roll.ms; log.roll.jitter.hours if not set.",
        type=LONG,
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_roll_jitter_hours: int = key(
        "log.roll.jitter.hours",
        0,
        "Largest random number of hours to take off, secondary to log.roll.jitter.ms.",
        check=at_least(0),
        importance=HIGH,
    )
    log_retention_ms: int | None = key(
        "log.retention.ms",
        None,
        "How long a log file is kept; log.retention.minutes if not set, -1 means for ever.",
        type=LONG,
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_retention_minutes: int | None = key(
        "log.retention.minutes",
        None,
        "Minutes a log is kept, secondary to log.retention.ms; log.retention.hours if not set.",
        type=INT,
        importance=HIGH,
    )
    log_retention_hours: int = key(
        "log.retention.hours",
        168,
        "Hours a log file is kept, tertiary to log.retention.ms.",
        importance=HIGH,
    )
    log_retention_bytes: int = key(
        "log.retention.bytes",
        -1,
        "Size of a log above which its old segments are deleted; -1 means no limit.",
        type=LONG,
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_retention_check_interval_ms: int = key(
        "log.retention.check.interval.ms",
        300000,
        "How often logs are checked for segments to delete.",
        type=LONG,
        check=at_least(1),
    )
    log_cleanup_policy: tuple[str, ...] = key(
        "log.cleanup.policy",
        ("delete",),
        "What is done with segments beyond retention: delete, compact, or both.",
        check=one_of("compact", "delete"),
        dynamic=CLUSTER_WIDE,
    )
    log_index_size_max_bytes: int = key(
        "log.index.size.max.bytes",
        10485760,
        "Largest size of an offset index.",
        check=at_least(4),
        dynamic=CLUSTER_WIDE,
    )
    log_index_interval_bytes: int = key(
        "log.index.interval.bytes",
        4096,
        "Bytes of log between two entries of the offset index.",
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_flush_interval_messages: int = key(
        "log.flush.interval.messages",
        MAX_LONG,
        "Messages gathered on a partition before they are flushed to disk.",
        type=LONG,
        check=at_least(1),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_segment_delete_delay_ms: int = key(
        "log.segment.delete.delay.ms",
        60000,
        "How long to wait before a deleted file is removed from the disk.",
        type=LONG,
        check=at_least(0),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_flush_scheduler_interval_ms: int = key(
        "log.flush.scheduler.interval.ms",
        MAX_LONG,
        "How often the log flusher looks for logs to flush.",
        type=LONG,
        importance=HIGH,
    )
    log_flush_interval_ms: int | None = key(
        "log.flush.interval.ms",
        None,
        "Longest time before a message is flushed; log.flush.scheduler.interval.ms if not set.",
        type=LONG,
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_flush_offset_checkpoint_interval_ms: int = key(
        "log.flush.offset.checkpoint.interval.ms",
        60000,
        "How often the recovery points of logs are written.",
        check=at_least(0),
        importance=HIGH,
    )
    log_flush_start_offset_checkpoint_interval_ms: int = key(
        "log.flush.start.offset.checkpoint.interval.ms",
        60000,
        "How often the start offsets of logs are written.",
        check=at_least(0),
        importance=HIGH,
    )
    log_preallocate: bool = key(
        "log.preallocate",
        False,
        "Allocate the file of a new segment at its full size.",
        dynamic=CLUSTER_WIDE,
    )
    num_recovery_threads_per_data_dir: int = key(
        "num.recovery.threads.per.data.dir",
        1,
        "Threads per log directory for recovery at start and flushing at shutdown.",
        check=at_least(1),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    message_max_bytes: int = key(
        "message.max.bytes",
        1048588,
        "Largest record batch accepted, after compression; max.message.bytes sets it per topic.",
        check=at_least(0),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    compression_type: str = key(
        "compression.type",
        "producer",
        "Compression of stored batches: gzip, snappy, lz4, zstd, uncompressed, or producer, which "
        "keeps what the producer chose.",
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    log_message_format_version: str = key(
        "log.message.format.version",
        "2.8-IV1",
        "Version of Kafka whose message format logs have. Consumers older than it cannot read them "
        "without conversion.",
        check=IS_API_VERSION,
    )
    log_message_timestamp_type: str = key(
        "log.message.timestamp.type",
        "CreateTime",
        "Whether a message has the time of its creation (CreateTime) or of its append "
        "(LogAppendTime).",
        check=one_of("CreateTime", "LogAppendTime"),
        dynamic=CLUSTER_WIDE,
    )
    log_message_timestamp_difference_max_ms: int = key(
        "log.message.timestamp.difference.max.ms",
        MAX_LONG,
        "Most that a message's timestamp may differ from the broker's time; without effect with "
        "LogAppendTime.",
        type=LONG,
        dynamic=CLUSTER_WIDE,
    )
    log_message_downconversion_enable: bool = key(
        "log.message.downconversion.enable",
        True,
        "Convert messages for consumers that know only older formats.",
        importance=LOW,
        dynamic=CLUSTER_WIDE,
    )
