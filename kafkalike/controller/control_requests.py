"""The requests of the controller to brokers, built for each version that a protocol calls for.

Part of Kafka's `ControllerBrokerRequestBatch`: facts only. Which version goes with which
`inter.broker.protocol.version` stands in the tables.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkalike.config.api_version import ApiVersion, api_version
from kafkalike.config.listeners import SECURITY_PROTOCOLS
from kafkalike.model.broker import Broker, Node
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafkalike.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from kafkalike.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

_LEADER_AND_ISR_VERSIONS = ("0.8.0", "1.0-IV0", "2.2-IV0", "2.4-IV0", "2.4-IV1", "2.8-IV1")
_UPDATE_METADATA_VERSIONS = (
    *("0.8.0", "0.9.0", "0.10.0-IV1", "0.10.2-IV0", "1.0-IV0"),
    *("2.2-IV0", "2.4-IV1", "2.8-IV1"),
)
_STOP_REPLICA_VERSIONS = ("0.8.0", "2.2-IV0", "2.4-IV1", "2.6-IV0")

_PLAINTEXT = "PLAINTEXT"


class Header(NamedTuple):
    """Who sends, and in which epochs: a broker refuses what is older than it knows."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int


def _version(first_protocols: tuple[str, ...], protocol: ApiVersion) -> int:
    """Count the versions that this protocol knows; the first of each protocol is in the table."""
    return sum(protocol.id >= api_version(first).id for first in first_protocols) - 1


def leader_and_isr_version(protocol: ApiVersion) -> int:
    """Tell the version of LeaderAndIsr to send."""
    return _version(_LEADER_AND_ISR_VERSIONS, protocol)


def update_metadata_version(protocol: ApiVersion) -> int:
    """Tell the version of UpdateMetadata to send."""
    return _version(_UPDATE_METADATA_VERSIONS, protocol)


def stop_replica_version(protocol: ApiVersion) -> int:
    """Tell the version of StopReplica to send."""
    return _version(_STOP_REPLICA_VERSIONS, protocol)


def leader_and_isr_request(
    version: int,
    states: Mapping[TopicPartition, LeaderAndIsrPartitionState],
    topic_ids: Mapping[str, bytes],
    leaders: Iterable[Node],
    header: Header,
) -> LeaderAndIsrRequest:
    """Build a LeaderAndIsr request."""
    live_leaders = [
        LeaderAndIsrLiveLeader(broker_id=node.id, host_name=node.host, port=node.port)
        for node in leaders
    ]
    request = LeaderAndIsrRequest(live_leaders=live_leaders)
    _set_header(request, header)
    if version < 2:
        request.ungrouped_partition_states = list(states.values())
        return request
    request.topic_states = [
        LeaderAndIsrTopicState(
            topic_name=topic,
            topic_id=topic_ids.get(topic, ZERO_UUID),
            partition_states=[states[tp] for tp in partitions],
        )
        for topic, partitions in _by_topic(states).items()
    ]
    return request


def update_metadata_request(
    version: int,
    states: Mapping[TopicPartition, UpdateMetadataPartitionState],
    topic_ids: Mapping[str, bytes],
    live_brokers: Iterable[Broker],
    header: Header,
) -> UpdateMetadataRequest:
    """Build an UpdateMetadata request."""
    brokers = [_update_metadata_broker(version, broker) for broker in live_brokers]
    request = UpdateMetadataRequest(live_brokers=brokers)
    _set_header(request, header)
    if version < 5:
        request.ungrouped_partition_states = list(states.values())
        return request
    request.topic_states = [
        UpdateMetadataTopicState(
            topic_name=topic,
            topic_id=topic_ids.get(topic, ZERO_UUID),
            partition_states=[states[tp] for tp in partitions],
        )
        for topic, partitions in _by_topic(states).items()
    ]
    return request


def _update_metadata_broker(version: int, broker: Broker) -> UpdateMetadataBroker:
    if version == 0:
        # Version 0 knows PLAINTEXT only.
        node = broker.node(_PLAINTEXT) or Node(broker.id, "", -1)
        return UpdateMetadataBroker(id=broker.id, v0_host=node.host, v0_port=node.port)
    end_points = [
        UpdateMetadataEndpoint(
            port=end_point.port,
            host=end_point.host,
            listener=end_point.listener_name,
            security_protocol=SECURITY_PROTOCOLS.index(end_point.security_protocol),
        )
        for end_point in broker.end_points
    ]
    return UpdateMetadataBroker(id=broker.id, endpoints=end_points, rack=broker.rack)


def stop_replica_requests(
    version: int, states: Mapping[TopicPartition, StopReplicaPartitionState], header: Header
) -> list[StopReplicaRequest]:
    """Build the StopReplica requests for one broker; before version 3 deletions go apart."""
    if version >= 3:
        requests = [_stop_replica_request(states)]
    else:
        deleted = [tp for tp, state in states.items() if state.delete_partition]
        stopped = [tp for tp, state in states.items() if not state.delete_partition]
        requests = [
            _old_stop_replica_request(version, partitions, is_deletion=is_deletion)
            for is_deletion, partitions in ((True, deleted), (False, stopped))
            if partitions
        ]
    for request in requests:
        _set_header(request, header)
    return requests


def _stop_replica_request(
    states: Mapping[TopicPartition, StopReplicaPartitionState],
) -> StopReplicaRequest:
    topic_states = [
        StopReplicaTopicState(topic_name=topic, partition_states=[states[tp] for tp in partitions])
        for topic, partitions in _by_topic(states).items()
    ]
    return StopReplicaRequest(topic_states=topic_states)


def _old_stop_replica_request(
    version: int, partitions: list[TopicPartition], *, is_deletion: bool
) -> StopReplicaRequest:
    request = StopReplicaRequest(delete_partitions=is_deletion)
    if version == 0:
        request.ungrouped_partitions = [
            StopReplicaPartitionV0(topic_name=tp.topic, partition_index=tp.partition)
            for tp in partitions
        ]
    else:
        request.topics = [
            StopReplicaTopicV1(name=topic, partition_indexes=[tp.partition for tp in tps])
            for topic, tps in _by_topic(partitions).items()
        ]
    return request


def _set_header(
    request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest, header: Header
) -> None:
    request.controller_id = header.controller_id
    request.controller_epoch = header.controller_epoch
    request.broker_epoch = header.broker_epoch


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    grouped: dict[str, list[TopicPartition]] = {}
    for tp in partitions:
        grouped.setdefault(tp.topic, []).append(tp)
    return grouped
