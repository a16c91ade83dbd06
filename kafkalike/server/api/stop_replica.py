"""StopReplica (5): the controller takes replicas away from this broker, with their data or not.

v1 broker epoch, by topic · v2 flexible · v3 leader epochs, deletion per partition (KIP-570)
"""

from collections.abc import Iterator

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafkalike.replication.replica_state_changes import NO_EPOCH, StopReplica
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.STOP_REPLICA, versions="0-3")
async def handle(context: RequestContext, request: StopReplicaRequest) -> StopReplicaResponse:
    """Stop the replicas, unless the news is old."""
    if context.broker.is_broker_epoch_stale(request.broker_epoch):
        return StopReplicaResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    changes = context.broker.replica_state_changes
    if not changes.accept_controller_epoch(request.controller_id, request.controller_epoch):
        return StopReplicaResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
    errors = changes.stop_replicas(_stops(request))
    return StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(
                topic_name=tp.topic, partition_index=tp.partition, error_code=code
            )
            for tp, code in errors.items()
        ]
    )


def _stops(request: StopReplicaRequest) -> Iterator[tuple[TopicPartition, StopReplica]]:
    without_epoch = StopReplica(NO_EPOCH, request.delete_partitions)
    for ungrouped in request.ungrouped_partitions:
        yield TopicPartition(ungrouped.topic_name, ungrouped.partition_index), without_epoch
    for topic in request.topics:
        for index in topic.partition_indexes:
            yield TopicPartition(topic.name, index), without_epoch
    for states in request.topic_states:
        for state in states.partition_states:
            stop = StopReplica(state.leader_epoch, state.delete_partition)
            yield TopicPartition(states.topic_name, state.partition_index), stop
