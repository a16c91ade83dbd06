"""FindCoordinator (10): which broker coordinates a group or a transactional id.

v1 transactional ids, error message, throttle time · v3 flexible
"""

from kafkalike.coordinator.partitioning import partition_for
from kafkalike.model.broker import Node
from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    CoordinatorNotAvailableError,
    ErrorCode,
    InvalidRequestError,
    KafkaError,
)
from kafkalike.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

_NO_NODE = Node(-1, "", -1)


_TOPICS = {0: GROUP_METADATA_TOPIC, 1: TRANSACTION_STATE_TOPIC}
"""Where keys of each type are looked after."""


@api(ApiKey.FIND_COORDINATOR, versions="0-3")
async def handle(
    context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """Name the leader of the key's partition; its topic is created if it is not there yet."""
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        return _refused(InvalidRequestError(f"Unknown coordinator type {request.key_type}"))
    snapshot = context.broker.metadata_cache.snapshot
    node = None
    if topic not in snapshot.topics:
        await context.broker.auto_topic_creation.create([topic])
    elif context.is_gateway:
        node = context.gateway
    else:
        count = len(snapshot.topics[topic])
        state = snapshot.partition(TopicPartition(topic, partition_for(request.key, count)))
        leader = snapshot.brokers.get(state.leader) if state is not None else None
        node = leader.node(context.listener_name) if leader is not None else None
    if node is None:
        return _refused(CoordinatorNotAvailableError())
    return _response(ErrorCode.NONE, ErrorCode.NONE.name, node)


def _refused(error: KafkaError) -> FindCoordinatorResponse:
    return _response(error.code, error.message, _NO_NODE)


def _response(code: ErrorCode, message: str, node: Node) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=code, error_message=message, node_id=node.id, host=node.host, port=node.port
    )
