"""UpdateMetadata (6): the controller tells every broker the state of the cluster.

v1 end points · v2 rack · v3 listener names · v4 offline replicas · v5 broker epoch, by topic
v6 flexible · v7 topic ids
"""

from collections.abc import Iterator

from kafkalike.cluster.metadata_cache import PartitionMetadata
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


@api(ApiKey.UPDATE_METADATA, versions="0-7")
async def handle(context: RequestContext, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
    """Swap in the new snapshot, unless it is old, and wake who waits for it."""
    broker = context.broker
    if broker.is_broker_epoch_stale(request.broker_epoch):
        return UpdateMetadataResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    if not broker.replica_state_changes.accept_controller_epoch(
        request.controller_id, request.controller_epoch
    ):
        return UpdateMetadataResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
    states = [(topic, _metadata(state)) for topic, state in _partition_states(request)]
    deleted = broker.metadata_cache.update(
        request.controller_id,
        {live.id: _broker(live, context.api_version) for live in request.live_brokers},
        states,
        {
            topic.topic_name: topic.topic_id
            for topic in request.topic_states
            if topic.topic_id != ZERO_UUID
        },
    )
    if deleted:
        broker.group_coordinator.partitions_deleted(deleted)
    broker.topic_admin.metadata_changed({topic for topic, _ in states})
    return UpdateMetadataResponse()


def _partition_states(
    request: UpdateMetadataRequest,
) -> Iterator[tuple[str, UpdateMetadataPartitionState]]:
    for state in request.ungrouped_partition_states:
        yield state.topic_name, state
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield topic.topic_name, state


def _metadata(state: UpdateMetadataPartitionState) -> PartitionMetadata:
    return PartitionMetadata(
        partition=state.partition_index,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=tuple(state.isr),
        replicas=tuple(state.replicas),
        offline_replicas=tuple(state.offline_replicas),
        zk_version=state.zk_version,
        controller_epoch=state.controller_epoch,
    )


def _broker(live: UpdateMetadataBroker, version: int) -> Broker:
    if version == 0:
        return Broker(live.id, (EndPoint(live.v0_host, live.v0_port, "PLAINTEXT", "PLAINTEXT"),))
    end_points = []
    for end_point in live.endpoints:
        protocol = SECURITY_PROTOCOLS.get(end_point.security_protocol, "PLAINTEXT")
        # Before v3 a listener has no name but that of its security protocol.
        name = end_point.listener or protocol
        end_points.append(EndPoint(end_point.host, end_point.port, name, protocol))
    return Broker(live.id, tuple(end_points), live.rack)
