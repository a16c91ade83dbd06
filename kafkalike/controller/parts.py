"""What the subjects of the controller share: built once, by `KafkaController`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kafkalike.config.api_version import api_version
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.controller.channel_manager import ControllerChannelManager
from kafkalike.controller.context import ControllerContext
from kafkalike.controller.events import PutEvent
from kafkalike.controller.partition_state_machine import PartitionStateMachine
from kafkalike.controller.replica_state_machine import ReplicaStateMachine
from kafkalike.controller.request_batch import ControllerBrokerRequestBatch
from kafkalike.controller.topic_deletion import TopicDeletionManager
from kafkalike.controller.unclean_election import UncleanElectionPolicy
from kafkalike.controller.watches import ControllerWatches
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

_ALTER_ISR = api_version("2.7-IV2")
_TOPIC_IDS = api_version("2.8-IV0")
_FEATURES = api_version("2.7-IV0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerParts:
    """One of each. `batch` is for requests outside of the state machines, which have their own."""

    broker_id: int
    zk: KafkaZkClient
    config: Callable[[], BrokerConfig]
    put_event: PutEvent
    context: ControllerContext
    watches: ControllerWatches
    channels: ControllerChannelManager
    batch: ControllerBrokerRequestBatch
    replica_state_machine: ReplicaStateMachine
    partition_state_machine: PartitionStateMachine
    topic_deletion: TopicDeletionManager

    def send_update_metadata(
        self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]
    ) -> None:
        """Tell brokers of all live brokers and of these partitions."""
        self.batch.send_update_metadata(broker_ids, partitions)

    def send_update_metadata_to_all(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Tell all brokers of all live brokers and of these partitions."""
        self.send_update_metadata(self.context.live_or_shutting_down_broker_ids, partitions)

    @property
    def is_alter_isr_enabled(self) -> bool:
        """Whether leaders ask the controller for another ISR, instead of writing it themselves."""
        return self.config().inter_broker_api_version >= _ALTER_ISR

    @property
    def uses_topic_id(self) -> bool:
        """Whether topics have ids."""
        return self.config().inter_broker_api_version >= _TOPIC_IDS

    @property
    def is_feature_versioning_supported(self) -> bool:
        """Whether features (KIP-584) are in force."""
        return self.config().inter_broker_api_version >= _FEATURES


def build_parts(
    broker_id: int,
    zk: KafkaZkClient,
    config: Callable[[], BrokerConfig],
    channels: ControllerChannelManager,
    put_event: PutEvent,
) -> ControllerParts:
    """Wire the parts of a controller."""
    context = ControllerContext()
    protocol = config().inter_broker_api_version
    listener = config().inter_broker_listener.listener_name
    batch, replica_batch, partition_batch = (
        ControllerBrokerRequestBatch(
            broker_id, context, protocol, listener, channels.send_request, put_event
        )
        for _ in range(3)
    )
    replicas = ReplicaStateMachine(context, zk, replica_batch)
    watches = ControllerWatches(zk, put_event)
    unclean = UncleanElectionPolicy(zk, config)
    partitions = PartitionStateMachine(context, zk, partition_batch, unclean)
    return ControllerParts(
        broker_id=broker_id,
        zk=zk,
        config=config,
        put_event=put_event,
        context=context,
        watches=watches,
        channels=channels,
        batch=batch,
        replica_state_machine=replicas,
        partition_state_machine=partitions,
        topic_deletion=TopicDeletionManager(
            context,
            zk,
            watches,
            replicas,
            partitions,
            batch,
            is_enabled=config().delete_topic_enable,
        ),
    )
