"""Keys about consumer groups, committed offsets and transactions."""

from kafkalike.config.checks import at_least
from kafkalike.config.definition import HIGH, LONG, LOW, MAX_INT, SHORT, Config, key


class CoordinatorKeys(Config):
    """The group coordinator, the transaction coordinator and their internal topics."""

    group_min_session_timeout_ms: int = key(
        "group.min.session.timeout.ms", 6000, "Shortest session timeout a consumer may ask for."
    )
    group_max_session_timeout_ms: int = key(
        "group.max.session.timeout.ms", 1800000, "Longest session timeout a consumer may ask for."
    )
    group_initial_rebalance_delay_ms: int = key(
        "group.initial.rebalance.delay.ms",
        3000,
        "How long a new group waits for more members before its first rebalance.",
    )
    group_max_size: int = key(
        "group.max.size", MAX_INT, "Most members of a consumer group.", check=at_least(1)
    )
    offset_metadata_max_bytes: int = key(
        "offset.metadata.max.bytes",
        4096,
        "Largest metadata committed with an offset.",
        importance=HIGH,
    )
    offsets_load_buffer_size: int = key(
        "offsets.load.buffer.size",
        5242880,
        "Bytes read at once when offsets are loaded; a larger record is read all the same.",
        check=at_least(1),
        importance=HIGH,
    )
    offsets_topic_replication_factor: int = key(
        "offsets.topic.replication.factor",
        3,
        "Replication factor of the offsets topic; it is not created with fewer brokers.",
        type=SHORT,
        check=at_least(1),
        importance=HIGH,
    )
    offsets_topic_num_partitions: int = key(
        "offsets.topic.num.partitions",
        50,
        "Partitions of the offsets topic; must not change later.",
        check=at_least(1),
        importance=HIGH,
    )
    offsets_topic_segment_bytes: int = key(
        "offsets.topic.segment.bytes",
        104857600,
        "Segment size of the offsets topic; small, for compaction and loading to be quick.",
        check=at_least(1),
        importance=HIGH,
    )
    offsets_topic_compression_codec: int = key(
        "offsets.topic.compression.codec",
        0,
        "Compression of the offsets topic: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        importance=HIGH,
    )
    offsets_retention_minutes: int = key(
        "offsets.retention.minutes",
        10080,
        "How long offsets are kept after their group became empty; without a group, after the last "
        "commit.",
        check=at_least(1),
        importance=HIGH,
    )
    offsets_retention_check_interval_ms: int = key(
        "offsets.retention.check.interval.ms",
        600000,
        "How often offsets are checked for expiry.",
        type=LONG,
        check=at_least(1),
        importance=HIGH,
    )
    offsets_commit_timeout_ms: int = key(
        "offsets.commit.timeout.ms",
        5000,
        "How long a commit waits for the replicas of the offsets topic.",
        check=at_least(1),
        importance=HIGH,
    )
    offsets_commit_required_acks: int = key(
        "offsets.commit.required.acks",
        -1,
        "Acks a commit needs; best left as it is.",
        type=SHORT,
        importance=HIGH,
    )
    transactional_id_expiration_ms: int = key(
        "transactional.id.expiration.ms",
        604800000,
        "Time without a transaction after which a transactional id expires; producer ids expire as "
        "long after their last write.",
        check=at_least(1),
        importance=HIGH,
    )
    transaction_max_timeout_ms: int = key(
        "transaction.max.timeout.ms",
        900000,
        "Longest transaction timeout a producer may ask for.",
        check=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_min_isr: int = key(
        "transaction.state.log.min.isr",
        2,
        "min.insync.replicas of the transaction topic.",
        check=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_load_buffer_size: int = key(
        "transaction.state.log.load.buffer.size",
        5242880,
        "Bytes read at once when transactions are loaded; a larger record is read all the same.",
        check=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_replication_factor: int = key(
        "transaction.state.log.replication.factor",
        3,
        "Replication factor of the transaction topic; it is not created with fewer brokers.",
        type=SHORT,
        check=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_num_partitions: int = key(
        "transaction.state.log.num.partitions",
        50,
        "Partitions of the transaction topic; must not change later.",
        check=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_segment_bytes: int = key(
        "transaction.state.log.segment.bytes",
        104857600,
        "Segment size of the transaction topic; small, for compaction and loading to be quick.",
        check=at_least(1),
        importance=HIGH,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = key(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10000,
        "How often transactions that timed out are rolled back.",
        check=at_least(1),
        importance=LOW,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = key(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3600000,
        "How often expired transactional ids are removed.",
        check=at_least(1),
        importance=LOW,
    )
