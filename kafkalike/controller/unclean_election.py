"""Whether a partition may be led by a replica that is not in sync: its topic's configuration.

Asked only when no replica in sync is alive. A topic's own setting is read from ZooKeeper, for the
controller's other view of it (dynamic configs) may be behind.
"""

from collections.abc import Callable, Iterable

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

_KEY = "unclean.leader.election.enable"


class UncleanElectionPolicy:
    """Answers from `unclean.leader.election.enable` of topic and broker."""

    def __init__(self, zk: KafkaZkClient, config: Callable[[], BrokerConfig]) -> None:
        self._zk = zk
        self._config = config

    async def allowed_for(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Give those of the partitions that may be led by any live replica."""
        asked = list(partitions)
        if not asked:
            return frozenset()
        overrides = await self._zk.get_topic_configs(dict.fromkeys(tp.topic for tp in asked))
        allowed = {topic for topic, own in overrides.items() if self._is_allowed(own)}
        return frozenset(tp for tp in asked if tp.topic in allowed)

    def _is_allowed(self, overrides: dict[str, str]) -> bool:
        if _KEY not in overrides:
            return self._config().unclean_leader_election_enable
        return overrides[_KEY].strip().lower() == "true"
