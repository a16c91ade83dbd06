"""The admin client's core: everything that the admin APIs of a broker offer, by subject."""

from typing import Any

from kafkalike.client.admin.cluster import ClusterAdmin
from kafkalike.client.admin.configs import ConfigAdmin
from kafkalike.client.admin.groups import GroupAdmin
from kafkalike.client.admin.partitions import PartitionAdmin
from kafkalike.client.admin.security import SecurityAdmin
from kafkalike.client.admin.topics import TopicAdmin
from kafkalike.client.config import ClientConfig
from kafkalike.client.kafka_client import KafkaClient


class Admin(TopicAdmin, PartitionAdmin, ConfigAdmin, GroupAdmin, SecurityAdmin, ClusterAdmin):
    """All subjects in one; runs in the reactor."""

    def __init__(self, reactor: Any, config: ClientConfig) -> None:  # Any: see BrokerChannel
        super().__init__(KafkaClient(reactor, config))

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()
