"""DescribeCluster (60): cluster id, controller and brokers (KIP-700)."""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafkalike.security.acl_operation import CLUSTER_OPERATIONS, operations_bit_field
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.forwarding.gateway import stand_in


@api(ApiKey.DESCRIBE_CLUSTER, versions="0-0")
async def handle(
    context: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    """Answer from the snapshot of the cluster."""
    snapshot = context.broker.metadata_cache.snapshot
    nodes = snapshot.nodes(context.listener_name)
    controller_id = snapshot.controller_id
    if context.is_gateway:
        nodes = [context.gateway]
        controller_id = stand_in(controller_id, context.gateway)
    response = DescribeClusterResponse(
        cluster_id=context.broker.cluster_id,
        controller_id=controller_id,
        brokers=[
            DescribeClusterBroker(broker_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in nodes
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = operations_bit_field(CLUSTER_OPERATIONS)
    return response
