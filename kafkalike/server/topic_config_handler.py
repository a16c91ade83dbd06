"""Keeps the configuration of logs what the topic and the broker say now.

Kafka's `TopicConfigHandler` and `DynamicLogConfig`.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from twisted.logger import Logger

from kafkalike.config.api_version import ApiVersion, api_version
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.topic_config import TopicConfig
from kafkalike.quota.replication_quota import ReplicationQuotas
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.zk.znodes.configs import ConfigType

log = Logger()

_MESSAGE_FORMAT: Final = "message.format.version"


class ConfiguredLog(Protocol):
    """What of a `Log` matters here."""

    @property
    def config(self) -> TopicConfig:
        """What holds for the log."""

    def update_config(self, config: TopicConfig) -> None:
        """Let something else hold for it."""


class Logs(Protocol):
    """What of the `LogManager` matters here."""

    default_config: TopicConfig

    @property
    def all_logs(self) -> Iterable[ConfiguredLog]:
        """All logs, future ones too."""

    def logs_by_topic(self, topic: str) -> Iterable[ConfiguredLog]:
        """The logs of a topic's partitions."""


class UncleanElections(Protocol):
    """What of the controller matters here."""

    def enable_topic_unclean_leader_election(self, topic: str) -> None:
        """Elect leaders for a topic's offline partitions, in sync or not."""

    def enable_default_unclean_leader_election(self) -> None:
        """The same for all topics that do not forbid it."""


class TopicConfigHandler:
    """Subscribes to a `DynamicConfig`, and from then on acts by itself."""

    def __init__(
        self,
        dynamic_config: DynamicConfig,
        logs: Logs,
        elections: UncleanElections,
        quotas: ReplicationQuotas,
    ) -> None:
        self._dynamic_config = dynamic_config
        self._logs = logs
        self._elections = elections
        self._quotas = quotas
        self._is_unclean_by_default = dynamic_config.current.unclean_leader_election_enable
        dynamic_config.add_handler(ConfigType.TOPIC, self.topic_changed)
        dynamic_config.subscribe(self.broker_changed)

    def topic_changed(self, topic: str, overrides: Mapping[str, str]) -> None:
        """Let a topic's logs have its new configuration."""
        config = self._dynamic_config.merge(topic, self._without_newer_format(topic, overrides))
        for one in self._logs.logs_by_topic(topic):
            one.update_config(config)
        self._quotas.update_topic(
            topic,
            config.leader_replication_throttled_replicas,
            config.follower_replication_throttled_replicas,
        )
        if overrides.get("unclean.leader.election.enable", "").lower() == "true":
            self._elections.enable_topic_unclean_leader_election(topic)

    def broker_changed(self, config: BrokerConfig) -> None:
        """Let every log follow the broker where its topic has no value of its own."""
        self._logs.default_config = TopicConfig.merge(config, {})
        for one in self._logs.all_logs:
            one.update_config(TopicConfig.merge(config, one.config.overrides))
        was_unclean = self._is_unclean_by_default
        self._is_unclean_by_default = config.unclean_leader_election_enable
        if self._is_unclean_by_default and not was_unclean:
            self._elections.enable_default_unclean_leader_election()

    def _without_newer_format(self, topic: str, overrides: Mapping[str, str]) -> dict[str, str]:
        usable = dict(overrides)
        text = usable.get(_MESSAGE_FORMAT)
        broker = self._dynamic_config.current
        if text is not None and _is_newer(text, broker.inter_broker_api_version):
            log.warn(
                "{key} is ignored for {topic}: {version} is not compatible with "
                "inter.broker.protocol.version {ours}",
                key=_MESSAGE_FORMAT,
                topic=topic,
                version=text,
                ours=broker.inter_broker_protocol_version,
            )
            del usable[_MESSAGE_FORMAT]
        return usable


def _is_newer(text: str, version: ApiVersion) -> bool:
    try:
        return api_version(text) > version
    except ConfigError:
        return False  # Not a version at all, which is noted elsewhere.
