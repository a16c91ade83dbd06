"""Wires what coordinates transactions. Part of the composition root."""

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.config.api_version import api_version
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.transaction.marker_channel_manager import MarkerChannelManager
from kafkalike.coordinator.transaction.producer_ids import ProducerIdManager
from kafkalike.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkalike.coordinator.transaction.transaction_store import TransactionStore
from kafkalike.coordinator.transaction.transactional_id_expiry import TransactionalIdExpiry
from kafkalike.model.topic import TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.server.broker_senders import BrokerSenders
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import ZkError

_FLEXIBLE_MARKERS = api_version("2.8-IV0")


def transaction_coordinator(
    zk: KafkaZkClient,
    dynamic_config: DynamicConfig,
    replica_manager: ReplicaManager,
    metadata_cache: MetadataCache,
    senders: BrokerSenders,
    time: Time,
    run_blocking: RunBlocking,
) -> TransactionCoordinator:
    """Build the transaction coordinator with all that it needs."""

    def config() -> BrokerConfig:
        return dynamic_config.current

    def partition_count() -> int:
        known = metadata_cache.snapshot.topics.get(TRANSACTION_STATE_TOPIC)
        return len(known) if known else config().transaction_state_log_num_partitions

    async def is_deleted(tp: TopicPartition) -> bool:
        try:
            if await zk.is_topic_marked_for_deletion(tp.topic):
                return True
            count = await zk.get_topic_partition_count(tp.topic)
        except ZkError:
            return False  # Nobody knows at the moment.
        return count is None or tp.partition >= count

    def marker_version() -> int:
        return 1 if config().inter_broker_api_version >= _FLEXIBLE_MARKERS else 0

    store = TransactionStore(config, replica_manager, time, run_blocking, partition_count)
    return TransactionCoordinator(
        config,
        ProducerIdManager(replica_manager.broker_id, zk),
        store,
        MarkerChannelManager(
            store, metadata_cache, is_deleted, senders.to_broker, marker_version, time
        ),
        TransactionalIdExpiry(store, replica_manager, config, time),
        time,
    )
