"""A broker wants to go: its leaderships move away first (Kafka's `doControlledShutdown`)."""

from twisted.logger import Logger

from kafkalike.controller.election import ElectionStrategy
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import BrokerNotAvailableError, StaleBrokerEpochError

log = Logger()

UNKNOWN_BROKER_EPOCH = -1  # of brokers before KIP-380


async def controlled_shutdown(
    parts: ControllerParts, broker_id: int, broker_epoch: int
) -> list[TopicPartition]:
    """Move what a broker leads; give the partitions that it must go on leading."""
    context = parts.context
    _check_broker(parts, broker_id, broker_epoch)
    log.info("broker {id} is shutting down", id=broker_id)
    context.shutting_down_broker_ids.add(broker_id)
    replicated = [
        tp
        for tp in context.partitions_on_broker(broker_id)
        if len(context.replicas(tp)) > 1
        and tp in context.leadership
        and not parts.topic_deletion.is_queued(tp.topic)
    ]
    led = [tp for tp in replicated if context.leader(tp) == broker_id]
    followed = [tp for tp in replicated if context.leader(tp) != broker_id]
    await parts.partition_state_machine.handle_state_changes(
        led, PartitionState.ONLINE, ElectionStrategy.CONTROLLED_SHUTDOWN
    )
    _stop_following(parts, broker_id, followed)
    await parts.replica_state_machine.handle_state_changes(
        [PartitionAndReplica(tp, broker_id) for tp in followed], ReplicaState.OFFLINE
    )
    return context.partition_leaders_on_broker(broker_id)


def _check_broker(parts: ControllerParts, broker_id: int, broker_epoch: int) -> None:
    known = parts.context.broker_epoch(broker_id)
    if known is None:
        raise BrokerNotAvailableError(f"Broker id {broker_id} does not exist.")
    if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < known:
        raise StaleBrokerEpochError(
            "Received controlled shutdown request from an old broker epoch "
            f"{broker_epoch} for broker {broker_id}. Current broker epoch is {known}."
        )


def _stop_following(
    parts: ControllerParts, broker_id: int, partitions: list[TopicPartition]
) -> None:
    parts.batch.new_batch()
    for tp in partitions:
        parts.batch.add_stop_replica_request_for_brokers([broker_id], tp, delete_partition=False)
    parts.batch.send_requests_to_brokers(parts.context.epoch)
