"""The configuration of a topic: its keys, and the broker keys they fall back to (`LogConfig`).

A topic's own values (overrides) are text in ZooKeeper, `/config/topics/<topic>`; what is not
overridden follows the broker's configuration.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Self

from kafkalike.config.api_version import api_version
from kafkalike.config.broker_checks import COMPRESSION_TYPES
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.checks import (
    IS_API_VERSION,
    IS_THROTTLED_REPLICAS,
    at_least,
    between,
    one_of,
)
from kafkalike.config.definition import LONG, LOW, MAX_LONG, Config, key
from kafkalike.protocol.errors import InvalidConfigurationError


class TopicConfig(Config):
    """A topic's configuration. `overrides` are the topic's own values, as they were given."""

    overrides: Mapping[str, str]

    segment_bytes: int = key(
        "segment.bytes",
        1 << 30,
        "Size of a segment file of the log; deletion and cleaning work on whole files.",
        check=at_least(14),
        server_default="log.segment.bytes",
    )
    segment_ms: int = key(
        "segment.ms",
        604800000,
        "Time after which a segment is rolled even if it is not full.",
        type=LONG,
        check=at_least(1),
        server_default="log.roll.ms",
    )
    segment_jitter_ms: int = key(
        "segment.jitter.ms",
        0,
        "Largest random time to take off segment.ms, so that segments do not all roll at once.",
        type=LONG,
        check=at_least(0),
        server_default="log.roll.jitter.ms",
    )
    segment_index_bytes: int = key(
        "segment.index.bytes",
        10485760,
        "Size of the offset index; its file is preallocated and shrunk when the segment is rolled.",
        check=at_least(0),
        server_default="log.index.size.max.bytes",
    )
    flush_messages: int = key(
        "flush.messages",
        MAX_LONG,
        "Messages after which the log is flushed to disk; replication is the better safety.",
        type=LONG,
        check=at_least(0),
        server_default="log.flush.interval.messages",
    )
    flush_ms: int = key(
        "flush.ms",
        MAX_LONG,
        "Time after which the log is flushed to disk; replication is the better safety.",
        type=LONG,
        check=at_least(0),
        server_default="log.flush.interval.ms",
    )
    retention_bytes: int = key(
        "retention.bytes",
        -1,
        "Size of a partition above which old segments are deleted (policy delete); -1 is no limit.",
        type=LONG,
        server_default="log.retention.bytes",
    )
    retention_ms: int = key(
        "retention.ms",
        604800000,
        "Time after which old segments are deleted (policy delete); -1 is no limit.",
        type=LONG,
        check=at_least(-1),
        server_default="log.retention.ms",
    )
    max_message_bytes: int = key(
        "max.message.bytes",
        1048588,
        "Largest record batch accepted, after compression.",
        check=at_least(0),
        server_default="message.max.bytes",
    )
    index_interval_bytes: int = key(
        "index.interval.bytes",
        4096,
        "Bytes of log between two entries of the offset index.",
        check=at_least(0),
        server_default="log.index.interval.bytes",
    )
    delete_retention_ms: int = key(
        "delete.retention.ms",
        86400000,
        "How long delete markers are kept in a compacted topic; a consumer that starts at 0 must "
        "finish within it.",
        type=LONG,
        check=at_least(0),
        server_default="log.cleaner.delete.retention.ms",
    )
    min_compaction_lag_ms: int = key(
        "min.compaction.lag.ms",
        0,
        "Shortest time a message stays uncompacted.",
        type=LONG,
        check=at_least(0),
        server_default="log.cleaner.min.compaction.lag.ms",
    )
    max_compaction_lag_ms: int = key(
        "max.compaction.lag.ms",
        MAX_LONG,
        "Longest time a message may stay ineligible for compaction.",
        type=LONG,
        check=at_least(1),
        server_default="log.cleaner.max.compaction.lag.ms",
    )
    file_delete_delay_ms: int = key(
        "file.delete.delay.ms",
        60000,
        "How long to wait before a deleted file is removed from the disk.",
        type=LONG,
        check=at_least(0),
        server_default="log.segment.delete.delay.ms",
    )
    min_cleanable_dirty_ratio: float = key(
        "min.cleanable.dirty.ratio",
        0.5,
        "Ratio of dirty log to total log above which the log is compacted.",
        check=between(0, 1),
        server_default="log.cleaner.min.cleanable.ratio",
    )
    cleanup_policy: tuple[str, ...] = key(
        "cleanup.policy",
        ("delete",),
        "What is done with old segments: delete discards them, compact keeps the last value of "
        "each key; both can be combined.",
        check=one_of("compact", "delete"),
        server_default="log.cleanup.policy",
    )
    unclean_leader_election_enable: bool = key(
        "unclean.leader.election.enable",
        False,
        "Let replicas that are not in sync become leader as a last resort; data may be lost.",
        server_default="unclean.leader.election.enable",
    )
    min_insync_replicas: int = key(
        "min.insync.replicas",
        1,
        "Replicas that must be in sync for a write with acks=all to be accepted.",
        check=at_least(1),
        server_default="min.insync.replicas",
    )
    compression_type: str = key(
        "compression.type",
        "producer",
        "Compression of stored batches: gzip, snappy, lz4, zstd, uncompressed, or producer, which "
        "keeps what the producer chose.",
        check=one_of(*COMPRESSION_TYPES),
        server_default="compression.type",
    )
    preallocate: bool = key(
        "preallocate",
        False,
        "Allocate the file of a new segment at its full size.",
        server_default="log.preallocate",
    )
    message_format_version: str = key(
        "message.format.version",
        "2.8-IV1",
        "Version of Kafka whose message format the log has. Consumers older than it cannot read it "
        "without conversion.",
        check=IS_API_VERSION,
        server_default="log.message.format.version",
    )
    message_timestamp_type: str = key(
        "message.timestamp.type",
        "CreateTime",
        "Whether a message has the time of its creation (CreateTime) or of its append "
        "(LogAppendTime).",
        check=one_of("CreateTime", "LogAppendTime"),
        server_default="log.message.timestamp.type",
    )
    message_timestamp_difference_max_ms: int = key(
        "message.timestamp.difference.max.ms",
        MAX_LONG,
        "Most that a message's timestamp may differ from the broker's time; without effect with "
        "LogAppendTime.",
        type=LONG,
        check=at_least(0),
        server_default="log.message.timestamp.difference.max.ms",
    )
    leader_replication_throttled_replicas: tuple[str, ...] = key(
        "leader.replication.throttled.replicas",
        (),
        "Replicas throttled on the leader's side, as partition:broker,... or * for all.",
        check=IS_THROTTLED_REPLICAS,
    )
    follower_replication_throttled_replicas: tuple[str, ...] = key(
        "follower.replication.throttled.replicas",
        (),
        "Replicas throttled on the follower's side, as partition:broker,... or * for all.",
        check=IS_THROTTLED_REPLICAS,
    )
    message_downconversion_enable: bool = key(
        "message.downconversion.enable",
        True,
        "Convert messages for consumers that know only older formats.",
        importance=LOW,
        server_default="log.message.downconversion.enable",
    )

    def __init__(self, *, overrides: Mapping[str, str] | None = None, **values: Any) -> None:
        super().__init__(**values)
        self.__dict__["overrides"] = MappingProxyType(dict(overrides or {}))

    @classmethod
    def merge(cls, broker_config: BrokerConfig, overrides: Mapping[str, str]) -> Self:
        """Return what holds for a topic: its overrides on top of the broker's configuration."""
        defaults = broker_defaults(broker_config)
        return cls(overrides=overrides, **{**defaults, **cls.parse(overrides)})

    def replace(self, **values: Any) -> Self:
        """Return an unchecked copy with other values for some attributes."""
        return super().replace(**{"overrides": self.overrides, **values})

    @property
    def is_compact(self) -> bool:
        """Whether the log is compacted."""
        return "compact" in self.cleanup_policy

    @property
    def is_delete(self) -> bool:
        """Whether old segments are deleted by age and size."""
        return "delete" in self.cleanup_policy

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment is rolled, early enough for `max.compaction.lag.ms`."""
        if self.is_compact and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms

    @property
    def record_version(self) -> int:
        """The magic of the record format that `message.format.version` means."""
        return api_version(self.message_format_version).record_version


# Broker keys whose meaning comes from several: the property that resolves them.
_RESOLVED: Final = {
    "log.roll.ms": "log_roll_time_ms",
    "log.roll.jitter.ms": "log_roll_time_jitter_ms",
    "log.retention.ms": "log_retention_time_ms",
    "log.flush.interval.ms": "log_flush_time_ms",
}
BROKER_ATTRIBUTES: Final = {
    key.attribute: _RESOLVED.get(key.server_default, key.server_default.replace(".", "_"))
    for key in TopicConfig.KEYS.values()
    if key.server_default is not None
}
"""The attribute of `BrokerConfig` that each attribute of `TopicConfig` falls back to."""


def broker_defaults(config: BrokerConfig) -> dict[str, Any]:
    """Return what a broker's configuration means for topics, by attribute of `TopicConfig`."""
    return {name: getattr(config, source) for name, source in BROKER_ATTRIBUTES.items()}


def validate_overrides(overrides: Mapping[str, str]) -> None:
    """Raise an `InvalidConfigurationError` (or its `ConfigError`) if a topic cannot have these."""
    for name in overrides:
        if name not in TopicConfig.KEYS:
            raise InvalidConfigurationError(f"Unknown topic config name: {name}")
    config = TopicConfig(**TopicConfig.parse(overrides))
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise InvalidConfigurationError(
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms}) "
            f"> max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
