"""Keys about the broker as a whole: identity, worker counts, metrics, policies."""

from kafkalike.config.checks import at_least
from kafkalike.config.definition import CLASS, CLUSTER_WIDE, HIGH, INT, LONG, LOW, Config, key


class GeneralKeys(Config):
    """Who the broker is and how much it does at once."""

    broker_id_generation_enable: bool = key(
        "broker.id.generation.enable",
        True,
        "Take a broker id from ZooKeeper if none is set; it is above reserved.broker.max.id.",
    )
    reserved_broker_max_id: int = key(
        "reserved.broker.max.id", 1000, "Largest number for broker.id.", check=at_least(0)
    )
    broker_id: int = key(
        "broker.id",
        -1,
        "The id of this broker; -1 takes a generated one, above reserved.broker.max.id.",
        importance=HIGH,
    )
    broker_rack: str | None = key(
        "broker.rack", None, "Rack of the broker, for rack aware replica assignment."
    )
    num_network_threads: int = key(
        "num.network.threads",
        3,
        "Number of threads that receive requests and send responses.",
        check=at_least(1),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    num_io_threads: int = key(
        "num.io.threads",
        8,
        "Number of threads that process requests, disk I/O included.",
        check=at_least(1),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    num_replica_alter_log_dirs_threads: int | None = key(
        "num.replica.alter.log.dirs.threads",
        None,
        "Number of threads that move replicas between log directories.",
        type=INT,
        importance=HIGH,
    )
    background_threads: int = key(
        "background.threads",
        10,
        "Number of threads for background work.",
        check=at_least(1),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    request_timeout_ms: int = key(
        "request.timeout.ms",
        30000,
        "How long the sender of a request waits for the response before it tries again or fails.",
        importance=HIGH,
    )
    delete_topic_enable: bool = key(
        "delete.topic.enable", True, "Whether topics can be deleted.", importance=HIGH
    )
    auto_create_topics_enable: bool = key(
        "auto.create.topics.enable",
        True,
        "Create a topic when a client asks for one that does not exist.",
        importance=HIGH,
    )
    create_topic_policy_class_name: str | None = key(
        "create.topic.policy.class.name",
        None,
        "Class that decides whether a topic may be created (CreateTopicPolicy).",
        type=CLASS,
        importance=LOW,
    )
    alter_config_policy_class_name: str | None = key(
        "alter.config.policy.class.name",
        None,
        "Class that decides whether a configuration may be altered (AlterConfigPolicy).",
        type=CLASS,
        importance=LOW,
    )
    controlled_shutdown_max_retries: int = key(
        "controlled.shutdown.max.retries", 3, "How often a failed controlled shutdown is retried."
    )
    controlled_shutdown_retry_backoff_ms: int = key(
        "controlled.shutdown.retry.backoff.ms",
        5000,
        "Pause before a controlled shutdown is retried, for the cause of the failure to pass.",
        type=LONG,
    )
    controlled_shutdown_enable: bool = key(
        "controlled.shutdown.enable", True, "Hand leadership over before the broker stops."
    )
    metrics_num_samples: int = key(
        "metrics.num.samples",
        2,
        "Number of samples kept to compute metrics.",
        check=at_least(1),
        importance=LOW,
    )
    metrics_sample_window_ms: int = key(
        "metrics.sample.window.ms",
        30000,
        "Time over which a sample of a metric is computed.",
        type=LONG,
        check=at_least(1),
        importance=LOW,
    )
    metric_reporters: tuple[str, ...] = key(
        "metric.reporters",
        (),
        "Classes that are told about metrics (MetricsReporter).",
        importance=LOW,
        dynamic=CLUSTER_WIDE,
    )
    metrics_recording_level: str = key(
        "metrics.recording.level", "INFO", "Highest level of metrics recorded.", importance=LOW
    )
    kafka_metrics_reporters: tuple[str, ...] = key(
        "kafka.metrics.reporters",
        (),
        "Classes that report the broker's own (Yammer) metrics.",
        importance=LOW,
    )
    kafka_metrics_polling_interval_secs: int = key(
        "kafka.metrics.polling.interval.secs",
        10,
        "Seconds between two reports of kafka.metrics.reporters.",
        check=at_least(1),
        importance=LOW,
    )
