"""Wires what coordinates groups and transactions. Part of the composition root."""

from uuid import uuid4

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.coordinator.group.group_coordinator import GroupCoordinator
from kafkalike.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.server.broker_senders import BrokerSenders
from kafkalike.server.coordinators import leadership_listener
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.transaction_parts import transaction_coordinator
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.lifecycle import Lifecycle
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient


class CoordinatorParts:
    """Both coordinators, and what tells them of leaders."""

    def __init__(self, group: GroupCoordinator, transaction: TransactionCoordinator) -> None:
        self.group = group
        self.transaction = transaction
        self.leadership_changed = leadership_listener(
            {GROUP_METADATA_TOPIC: group, TRANSACTION_STATE_TOPIC: transaction}
        )

    def stop_with(self, lifecycle: Lifecycle) -> None:
        """Let them stop when the broker does."""
        lifecycle.on_stop("group coordinator", self.group.shutdown)
        lifecycle.on_stop("transaction coordinator", self.transaction.shutdown)


async def build_coordinators(
    zk: KafkaZkClient,
    dynamic_config: DynamicConfig,
    replica_manager: ReplicaManager,
    metadata_cache: MetadataCache,
    senders: BrokerSenders,
    time: Time,
    run_blocking: RunBlocking,
) -> CoordinatorParts:
    """Build both coordinators."""
    config = dynamic_config.current
    known_count = await zk.get_topic_partition_count(GROUP_METADATA_TOPIC)
    group = GroupCoordinator(
        config,
        replica_manager,
        time,
        run_blocking,
        lambda: str(uuid4()),
        partition_count=known_count or config.offsets_topic_num_partitions,
    )
    transaction = transaction_coordinator(
        zk, dynamic_config, replica_manager, metadata_cache, senders, time, run_blocking
    )
    return CoordinatorParts(group, transaction)
