"""Metadata (3): brokers, controller, topics, partitions; creates missing topics if it may.

v1 rack, controller id, null for all topics · v2 cluster id · v4 auto creation by wish of the client
v5 offline replicas · v7 leader epochs · v8 authorized operations · v9 flexible · v10 topic ids
"""

from collections.abc import Iterable

from kafkalike.cluster.metadata_cache import MetadataSnapshot, PartitionMetadata
from kafkalike.model.topic import is_internal, why_invalid
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, InvalidRequestError
from kafkalike.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkalike.security.acl_operation import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    operations_bit_field,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.forwarding.gateway import disguise

_FIRST_VERSION_WITH_LISTENER_ERROR = 6
NO_LEADER_ID = -1


@api(ApiKey.METADATA, versions="0-11")
async def handle(context: RequestContext, request: MetadataRequest) -> MetadataResponse:
    """Answer from the snapshot; only a topic that is to be created needs more."""
    broker = context.broker
    names = _names(context, request)
    may_create = request.allow_auto_topic_creation and broker.config.auto_create_topics_enable
    snapshot = broker.metadata_cache.snapshot
    if names is None:
        topics = [_topic(context, snapshot, name) for name in snapshot.topics]
    else:
        topics = [_topic(context, snapshot, name) for name in names if name in snapshot.topics]
        missing = [name for name in names if name not in snapshot.topics]
        if missing and may_create:
            created = await broker.auto_topic_creation.create(missing)
            topics += [_missing(name, code) for name, code in created]
        else:
            topics += [_missing(name, _why_missing(name)) for name in missing]
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = operations_bit_field(TOPIC_OPERATIONS)
    response = MetadataResponse(
        brokers=_brokers(snapshot, context.listener_name),
        cluster_id=broker.cluster_id,
        controller_id=snapshot.controller_id,
        topics=topics,
    )
    if context.is_gateway:
        disguise(response, context.gateway)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = operations_bit_field(CLUSTER_OPERATIONS)
    return response


def _names(context: RequestContext, request: MetadataRequest) -> list[str] | None:
    """Return the topics asked for, None for all of them."""
    if request.topics is None or (context.api_version == 0 and not request.topics):
        return None
    for topic in request.topics:
        if topic.name is None:
            raise InvalidRequestError(
                f"Topic name can not be null for version {context.api_version}"
            )
        if any(topic.topic_id):
            raise InvalidRequestError(
                f"Topic IDs are not supported in requests for version {context.api_version}"
            )
    return list(dict.fromkeys(topic.name for topic in request.topics if topic.name is not None))


def _brokers(snapshot: MetadataSnapshot, listener_name: str) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
        for node in snapshot.nodes(listener_name)
    ]


def _topic(context: RequestContext, snapshot: MetadataSnapshot, name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=name,
        topic_id=snapshot.topic_id(name),
        is_internal=is_internal(name),
        partitions=[
            _partition(context, snapshot, state) for state in snapshot.topics[name].values()
        ],
    )


def _partition(
    context: RequestContext, snapshot: MetadataSnapshot, state: PartitionMetadata
) -> MetadataResponsePartition:
    leader = snapshot.brokers.get(state.leader)
    replicas, isr = list(state.replicas), list(state.isr)
    code, leader_id = ErrorCode.NONE, state.leader
    if context.api_version == 0:
        # The first version knows no offline replicas: it leaves them out and calls it an error.
        replicas, isr = _alive(context, snapshot, replicas), _alive(context, snapshot, isr)
        if len(replicas) < len(state.replicas) or len(isr) < len(state.isr):
            code = ErrorCode.REPLICA_NOT_AVAILABLE
    if leader is None or leader.node(_known_by(context)) is None:
        leader_id = NO_LEADER_ID
        code = ErrorCode.LEADER_NOT_AVAILABLE
        if leader is not None and context.api_version >= _FIRST_VERSION_WITH_LISTENER_ERROR:
            code = ErrorCode.LISTENER_NOT_FOUND
    return MetadataResponsePartition(
        error_code=code,
        partition_index=state.partition,
        leader_id=leader_id,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=list(state.offline_replicas),
    )


def _alive(
    context: RequestContext, snapshot: MetadataSnapshot, replicas: Iterable[int]
) -> list[int]:
    nodes = {node.id for node in snapshot.nodes(_known_by(context))}
    return [replica for replica in replicas if replica in nodes]


def _known_by(context: RequestContext) -> str:
    """Return the listener that a broker must have to count as alive.

    Through a gateway other brokers are reached by the listener of brokers.
    """
    if context.is_gateway:
        return context.broker.config.inter_broker_listener.listener_name
    return context.listener_name


def _why_missing(name: str) -> ErrorCode:
    if why_invalid(name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _missing(name: str, code: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name))
