"""The parts of a running broker that handlers may ask, wired by `kafka_server`."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.controller.kafka_controller import KafkaController
from kafkalike.coordinator.group.group_coordinator import GroupCoordinator
from kafkalike.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkalike.log.log_manager import LogManager
from kafkalike.quota.replication_quota import ReplicationQuotas
from kafkalike.replication.fetch_session import FetchSessionCache
from kafkalike.replication.log_dir_mover import LogDirMover
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.replication.replica_state_changes import ReplicaStateChanges
from kafkalike.security.authorizer import Authorizer
from kafkalike.server.auto_topic_creation import AutoTopicCreation
from kafkalike.server.config_admin import ConfigAdmin
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.finalized_features import FinalizedFeatureCache
from kafkalike.server.forwarding.forwarding import Forwarding
from kafkalike.server.security_services import SecurityServices
from kafkalike.server.topic_admin import TopicAdmin
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient


@dataclass(slots=True, kw_only=True)
class BrokerServices:
    """One of each; nothing here is ever replaced."""

    broker_id: int
    cluster_id: str
    broker_epoch: Callable[[], int]
    dynamic_config: DynamicConfig
    time: Time
    run_blocking: RunBlocking
    zk: KafkaZkClient
    metadata_cache: MetadataCache
    log_manager: LogManager
    replica_manager: ReplicaManager
    replica_state_changes: ReplicaStateChanges
    replication_quotas: ReplicationQuotas
    log_dir_mover: LogDirMover
    fetch_sessions: FetchSessionCache
    forwarding: Forwarding
    group_coordinator: GroupCoordinator
    transaction_coordinator: TransactionCoordinator
    topic_admin: TopicAdmin
    auto_topic_creation: AutoTopicCreation
    config_admin: ConfigAdmin
    finalized_features: FinalizedFeatureCache
    security: SecurityServices
    authorizer: Authorizer | None = None
    controller: KafkaController = field(init=False)  # it sends through handlers that use all this

    @property
    def config(self) -> BrokerConfig:
        """The configuration as it is now; a dynamic update makes another object."""
        return self.dynamic_config.current

    def is_broker_epoch_stale(self, broker_epoch: int) -> bool:
        """Whether a controller's request was meant for this broker before its last restart."""
        # Older controllers send no epoch (-1); an epoch ahead of ours is of a registration that
        # ZooKeeper has told the controller of before it has told us.
        return -1 < broker_epoch < self.broker_epoch()
