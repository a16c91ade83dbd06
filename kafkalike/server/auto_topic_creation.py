"""Topics that are created because a client asked for them (Kafka's AutoTopicCreationManager).

The client is told LEADER_NOT_AVAILABLE and asks again; by then the topic is there. Any broker
writes the topic to ZooKeeper; the controller does the rest.
"""

from collections.abc import Mapping, Sequence

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, why_invalid
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateableTopicConfig
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.topic_admin import TopicAdmin

_CREATED = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.TOPIC_ALREADY_EXISTS)
"""What creation without waiting answers: the topic is there, its leaders are not yet."""


class AutoTopicCreation:
    """Creates each missing topic once, however many clients ask at the same time."""

    def __init__(self, dynamic_config: DynamicConfig, topic_admin: TopicAdmin) -> None:
        self._dynamic_config = dynamic_config
        self._topic_admin = topic_admin
        self._in_flight: set[str] = set()

    async def create(self, topics: Sequence[str]) -> list[tuple[str, ErrorCode]]:
        """Begin to create topics; each comes back with what the client is told about it."""
        told = {topic: code for topic in topics if (code := self._refusal(topic)) is not None}
        begun = [topic for topic in dict.fromkeys(topics) if topic not in told]
        self._in_flight.update(begun)
        try:
            told.update(await self._create(begun))
        finally:
            self._in_flight.difference_update(begun)
        return [(topic, told[topic]) for topic in topics]

    def _refusal(self, topic: str) -> ErrorCode | None:
        if why_invalid(topic) is not None:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if topic in self._in_flight:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None

    async def _create(self, topics: Sequence[str]) -> dict[str, ErrorCode]:
        config = self._dynamic_config.current
        wanted = [creatable_topic(topic, config) for topic in topics]
        # Waiting would only delay the answer: the client asks again anyway.
        created = await self._topic_admin.create_topics(wanted, 0, validate_only=False)
        return {
            topic: (
                ErrorCode.LEADER_NOT_AVAILABLE if one.error.code in _CREATED else one.error.code
            )
            for topic, one in created.items()
        }


def creatable_topic(topic: str, config: BrokerConfig) -> CreatableTopic:
    """Describe a topic to create: Kafka's own topics have settings of their own."""
    if topic == GROUP_METADATA_TOPIC:
        return _topic(
            topic,
            config.offsets_topic_num_partitions,
            config.offsets_topic_replication_factor,
            {
                "compression.type": "producer",
                "cleanup.policy": "compact",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
            },
        )
    if topic == TRANSACTION_STATE_TOPIC:
        return _topic(
            topic,
            config.transaction_state_log_num_partitions,
            config.transaction_state_log_replication_factor,
            {
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": str(config.transaction_state_log_min_isr),
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
                # Transactions must survive whatever the cluster's defaults allow to be lost.
                "unclean.leader.election.enable": "false",
            },
        )
    return _topic(topic, config.num_partitions, config.default_replication_factor, {})


def _topic(
    name: str, num_partitions: int, replication_factor: int, configs: Mapping[str, str]
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        assignments=[],
        configs=[CreateableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
