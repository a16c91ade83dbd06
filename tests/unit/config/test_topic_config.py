import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.topic_config import TopicConfig, broker_defaults, validate_overrides
from kafkalike.protocol.errors import InvalidConfigurationError


def broker_config(**properties: str) -> BrokerConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return BrokerConfig.from_properties({"zookeeper.connect": "zk", **given})


def test_a_topic_without_overrides_follows_the_broker() -> None:
    config = TopicConfig.merge(broker_config(log_retention_hours="1", message_max_bytes="5"), {})
    assert (config.retention_ms, config.max_message_bytes) == (3600 * 1000, 5)
    assert not config.overrides


def test_an_override_hides_the_brokers_value() -> None:
    """M67: what is set on a topic holds for it alone."""
    overrides = {"retention.ms": "7", "cleanup.policy": "compact,delete"}
    config = TopicConfig.merge(broker_config(log_retention_ms="3"), overrides)
    assert config.retention_ms == 7
    assert (config.is_compact, config.is_delete) == (True, True)
    assert config.overrides == overrides
    assert config.replace(retention_ms=1).overrides == overrides


def test_defaults_of_topics_come_from_the_resolved_broker_keys() -> None:
    defaults = broker_defaults(broker_config(log_roll_hours="1", log_flush_interval_ms="2"))
    assert (defaults["segment_ms"], defaults["flush_ms"]) == (3600 * 1000, 2)


def test_a_compacted_topic_rolls_early_enough_for_its_largest_lag() -> None:
    lag = {"segment.ms": "100", "max.compaction.lag.ms": "10"}
    broker = broker_config()
    assert TopicConfig.merge(broker, lag).max_segment_ms == 100
    assert TopicConfig.merge(broker, {**lag, "cleanup.policy": "compact"}).max_segment_ms == 10


@pytest.mark.parametrize(("version", "magic"), [("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)])
def test_message_format_version_means_a_magic(version: str, magic: int) -> None:
    overrides = {"message.format.version": version}
    assert TopicConfig.merge(broker_config(), overrides).record_version == magic


def test_overrides_are_checked_before_they_are_stored() -> None:
    validate_overrides({"retention.ms": "-1", "cleanup.policy": "compact"})
    with pytest.raises(InvalidConfigurationError, match="Unknown topic config name: retention"):
        validate_overrides({"retention": "1"})
    with pytest.raises(ConfigError, match=r"Invalid value keep for configuration cleanup.policy"):
        validate_overrides({"cleanup.policy": "keep"})
    with pytest.raises(InvalidConfigurationError, match=r"min.compaction.lag.ms \(5\) > max"):
        validate_overrides({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"})
