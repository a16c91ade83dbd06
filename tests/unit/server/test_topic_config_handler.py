"""Logs get the configuration that topic and broker say."""

import pytest

from kafkalike.config.topic_config import TopicConfig
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.quota.replication_quota import ReplicationQuota, ReplicationQuotas
from kafkalike.server.topic_config_handler import TopicConfigHandler
from kafkalike.zk.znodes.configs import ConfigType
from tests.support.admin_broker import AdminBroker
from tests.support.run import run


class FakeLog:
    """A log that only has a configuration."""

    def __init__(self, config: TopicConfig) -> None:
        self.config = config

    def update_config(self, config: TopicConfig) -> None:
        self.config = config


class FakeLogs:
    """Logs by topic."""

    def __init__(self, *topics: str) -> None:
        self.default_config = TopicConfig()
        self.by_topic = {topic: [FakeLog(TopicConfig())] for topic in topics}

    @property
    def all_logs(self) -> list[FakeLog]:
        return [log for logs in self.by_topic.values() for log in logs]

    def logs_by_topic(self, topic: str) -> list[FakeLog]:
        return self.by_topic.get(topic, [])


def a_quota() -> ReplicationQuota:
    return ReplicationQuota(11, 1, lambda: 0.0)


def _started(
    broker: AdminBroker, *topics: str, quotas: ReplicationQuotas | None = None
) -> FakeLogs:
    logs = FakeLogs(*topics)
    quotas = quotas or ReplicationQuotas(1, a_quota(), a_quota())
    TopicConfigHandler(broker.dynamic_config, logs, broker.controller, quotas)
    run(broker.dynamic_config.startup())
    return logs


def _change(broker: AdminBroker, kind: str, name: str, config: dict[str, str]) -> None:
    run(broker.zk.set_or_create_entity_configs(kind, name, config))
    run(broker.zk.create_config_change_notification(f"{kind}/{name}"))


def test_logs_of_the_topic_and_no_others_change() -> None:
    broker = AdminBroker()
    logs = _started(broker, "a", "b")
    _change(broker, ConfigType.TOPIC, "a", {"retention.ms": "5"})
    assert logs.by_topic["a"][0].config.retention_ms == 5
    assert logs.by_topic["b"][0].config.retention_ms == 604800000


def test_overrides_survive_a_change_of_the_broker() -> None:
    broker = AdminBroker()
    logs = _started(broker, "a", "b")
    _change(broker, ConfigType.TOPIC, "a", {"retention.ms": "5"})
    _change(broker, ConfigType.BROKER, "1", {"log.retention.ms": "7", "log.segment.bytes": "1000"})
    assert [log.config.retention_ms for log in logs.all_logs] == [5, 7]
    assert [log.config.segment_bytes for log in logs.all_logs] == [1000, 1000]
    assert logs.default_config.retention_ms == 7


def test_override_that_goes_lets_the_broker_hold_again() -> None:
    broker = AdminBroker({"log.retention.ms": "9"})
    logs = _started(broker, "a")
    _change(broker, ConfigType.TOPIC, "a", {"retention.ms": "5"})
    _change(broker, ConfigType.TOPIC, "a", {})
    assert logs.by_topic["a"][0].config.retention_ms == 9


@pytest.mark.parametrize("bad", [{"retention.ms": "soon"}, {"message.format.version": "now"}])
def test_invalid_override_is_passed_over_and_the_others_hold(bad: dict[str, str]) -> None:
    broker = AdminBroker()
    logs = _started(broker, "a")
    _change(broker, ConfigType.TOPIC, "a", {**bad, "segment.bytes": "1000"})
    config = logs.by_topic["a"][0].config
    assert (config.retention_ms, config.segment_bytes) == (604800000, 1000)
    assert config.message_format_version == "2.8-IV1"


def test_format_newer_than_the_protocol_is_ignored() -> None:
    broker = AdminBroker(
        {"inter.broker.protocol.version": "2.6", "log.message.format.version": "2.6"}
    )
    logs = _started(broker, "a")
    _change(broker, ConfigType.TOPIC, "a", {"message.format.version": "2.8", "retention.ms": "5"})
    config = logs.by_topic["a"][0].config
    assert (config.message_format_version, config.retention_ms) == ("2.6", 5)


def test_controller_hears_that_unclean_elections_are_allowed() -> None:
    broker = AdminBroker()
    _started(broker, "a")
    _change(broker, ConfigType.TOPIC, "a", {"unclean.leader.election.enable": "true"})
    _change(broker, ConfigType.TOPIC, "a", {"unclean.leader.election.enable": "false"})
    assert broker.controller.unclean_topics == ["a"]
    _change(broker, ConfigType.BROKER, "<default>", {"unclean.leader.election.enable": "true"})
    _change(broker, ConfigType.BROKER, "1", {"log.retention.ms": "5"})
    assert broker.controller.unclean_topics == ["a", None]


def test_throttled_replicas_of_this_broker_are_held_up_from_now_on() -> None:
    broker = AdminBroker()
    quotas = ReplicationQuotas(1, a_quota(), a_quota())
    _started(broker, "a", quotas=quotas)
    _change(
        broker,
        ConfigType.TOPIC,
        "a",
        {
            "leader.replication.throttled.replicas": "0:1,1:2",
            "follower.replication.throttled.replicas": "*",
        },
    )
    partitions = [TopicPartition("a", number) for number in (0, 1)]
    assert [quotas.leader.is_throttled(tp) for tp in partitions] == [True, False]
    assert [quotas.follower.is_throttled(tp) for tp in partitions] == [True, True]
