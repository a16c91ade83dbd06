"""Keys about quotas."""

from kafkalike.config.checks import at_least
from kafkalike.config.definition import CLASS, HIGH, LONG, LOW, MAX_LONG, Config, key


class QuotaKeys(Config):
    """Default quotas, and the windows that rates are measured over."""

    quota_producer_default: int = key(
        "quota.producer.default",
        MAX_LONG,
        "DEPRECATED: bytes per second for a producer's client id, if ZooKeeper has no quotas.",
        type=LONG,
        check=at_least(1),
        importance=HIGH,
    )
    quota_consumer_default: int = key(
        "quota.consumer.default",
        MAX_LONG,
        "DEPRECATED: bytes per second for a consumer's client id, if ZooKeeper has no quotas.",
        type=LONG,
        check=at_least(1),
        importance=HIGH,
    )
    quota_window_num: int = key(
        "quota.window.num",
        11,
        "Samples kept for client quotas.",
        check=at_least(1),
        importance=LOW,
    )
    replication_quota_window_num: int = key(
        "replication.quota.window.num",
        11,
        "Samples kept for replication quotas.",
        check=at_least(1),
        importance=LOW,
    )
    alter_log_dirs_replication_quota_window_num: int = key(
        "alter.log.dirs.replication.quota.window.num",
        11,
        "Samples kept for quotas of moves between log directories.",
        check=at_least(1),
        importance=LOW,
    )
    controller_quota_window_num: int = key(
        "controller.quota.window.num",
        11,
        "Samples kept for quotas of controller mutations.",
        check=at_least(1),
        importance=LOW,
    )
    quota_window_size_seconds: int = key(
        "quota.window.size.seconds",
        1,
        "Time of one sample for client quotas.",
        check=at_least(1),
        importance=LOW,
    )
    replication_quota_window_size_seconds: int = key(
        "replication.quota.window.size.seconds",
        1,
        "Time of one sample for replication quotas.",
        check=at_least(1),
        importance=LOW,
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = key(
        "alter.log.dirs.replication.quota.window.size.seconds",
        1,
        "Time of one sample for quotas of moves between log directories.",
        check=at_least(1),
        importance=LOW,
    )
    controller_quota_window_size_seconds: int = key(
        "controller.quota.window.size.seconds",
        1,
        "Time of one sample for quotas of controller mutations.",
        check=at_least(1),
        importance=LOW,
    )
    client_quota_callback_class: str | None = key(
        "client.quota.callback.class",
        None,
        "Class that decides quotas (ClientQuotaCallback); those in ZooKeeper if not set.",
        type=CLASS,
        importance=LOW,
    )
