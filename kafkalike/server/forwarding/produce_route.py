"""Produce, split by leader as the others, with an eye on the order of idempotent producers."""

from collections.abc import Coroutine
from typing import Any, cast

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.layout import PRODUCE
from kafkalike.server.forwarding.leader_route import LeaderRoute
from kafkalike.server.forwarding.produce_order import ProduceOrder

_HELD_UP = 0


class ProduceRoute(LeaderRoute):
    """How Produce is forwarded."""

    def __init__(self) -> None:
        # Whether the records were written is not known: a code that says just that.
        super().__init__(PRODUCE, AclOperation.WRITE, outcome_unknown=ErrorCode.REQUEST_TIMED_OUT)

    def handle(
        self, api: Api, context: RequestContext, request: Any
    ) -> Coroutine[Any, Any, Message | None]:
        """Let the API answer, or forward what it cannot answer."""
        order = _order(context)
        broker = context.broker
        if not order.is_watching and PRODUCE.is_only(
            request, broker.replica_manager.partitions, broker.broker_id
        ):
            return api.handle(context, request)
        return self._in_order(api, context, request, order)

    async def _in_order(
        self, api: Api, context: RequestContext, request: ProduceRequest, order: ProduceOrder
    ) -> Message | None:
        held_up = order.held_up(request) if request.acks else set()
        if not held_up:
            answer = await self._forward(api, context, request)
        else:
            parts = PRODUCE.split(request, lambda tp: _HELD_UP if tp in held_up else None)
            answers = [PRODUCE.refuse(parts[_HELD_UP], ErrorCode.NOT_LEADER_OR_FOLLOWER)]
            if None in parts:
                rest = await self._forward(api, context, parts[None])
                answers += [] if rest is None else [rest]
            answer = PRODUCE.merge(request, answers)
        if answer is not None:
            order.answered(request, cast(ProduceResponse, answer))
        return answer


def _order(context: RequestContext) -> ProduceOrder:
    connection = context.connection
    assert connection is not None, "routes stand behind the dispatcher only"
    if connection.state is None:
        # What a gateway's client wrote here may have to be written elsewhere the next moment.
        connection.state = ProduceOrder(always_watches=context.is_gateway)
    return cast(ProduceOrder, connection.state)
