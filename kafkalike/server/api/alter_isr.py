"""AlterIsr (56): the leader of partitions asks the controller to change their in-sync replicas."""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.messages.alter_isr import AlterIsrRequest, AlterIsrResponse
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.ALTER_ISR, versions="0")
async def handle(context: RequestContext, request: AlterIsrRequest) -> AlterIsrResponse:
    """Let the controller decide."""
    return await context.broker.controller.alter_isr(request)
