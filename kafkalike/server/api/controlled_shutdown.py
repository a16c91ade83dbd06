"""ControlledShutdown (7): a broker that is about to stop has its leaderships moved away first.

v2 broker epoch · v3 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.CONTROLLED_SHUTDOWN, versions="0-3")
async def handle(
    context: RequestContext, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    """Let the controller move leaderships; an error is the dispatcher's to answer."""
    remaining = await context.broker.controller.controlled_shutdown(
        request.broker_id, request.broker_epoch
    )
    return ControlledShutdownResponse(
        remaining_partitions=[
            RemainingPartition(topic_name=tp.topic, partition_index=tp.partition)
            for tp in remaining
        ]
    )
