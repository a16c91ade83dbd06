"""Produce, split by leader as the others, with an eye on the order of idempotent producers."""

from collections.abc import Coroutine, Mapping
from typing import Any, cast

from kafkalike.model.topic_partition import TopicPartition
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
        connection = context.connection
        assert connection is not None, "routes stand behind the dispatcher only"
        order: ProduceOrder | None = connection.state
        if order is None:
            # What a gateway's client wrote here may have to be written elsewhere the next moment.
            order = connection.state = ProduceOrder(always_watches=context.is_gateway)
        if not order.is_watching and _is_led_here(context, request):
            return api.handle(context, request)
        return self._in_order(api, context, request, order)

    async def _in_order(
        self, api: Api, context: RequestContext, request: ProduceRequest, order: ProduceOrder
    ) -> Message | None:
        if not request.acks or not context.broker.forwarding.may_forward(context):
            return await self._forward(api, context, request)
        forwarded = self._forwarded(context, request)
        held_up = order.held_up(request)
        if not held_up:
            answer = await self._forward(api, context, request)
        else:
            parts = PRODUCE.split(request, lambda tp: _HELD_UP if tp in held_up else None)
            answers = [PRODUCE.refuse(parts[_HELD_UP], ErrorCode.NOT_LEADER_OR_FOLLOWER)]
            if None in parts:
                rest = await self._forward(api, context, parts[None])
                assert rest is not None, "acks=0 has no answer, and does not come here"
                answers.append(rest)
            answer = PRODUCE.merge(request, answers)
        order.answered(request, cast(ProduceResponse, answer), forwarded)
        return answer

    def _forwarded(self, context: RequestContext, request: ProduceRequest) -> set[TopicPartition]:
        """Return the partitions whose batches may go another way the next time.

        Those of a gateway's client all may. Elsewhere a client that is refused by this broker's own
        handler has to go to another broker by itself (see `Forwarding.leader_elsewhere`).
        """
        asked = {
            TopicPartition(topic.name, partition.index)
            for topic in request.topic_data
            for partition in topic.partition_data
        }
        if context.is_gateway:
            return asked
        leader = context.broker.forwarding.leader_elsewhere
        return {tp for tp in asked if leader(context, tp, AclOperation.WRITE) is not None}


def _is_led_here(context: RequestContext, request: ProduceRequest) -> bool:
    """Do what `Layout.is_only` does; spelled out, for this is asked of every produce."""
    broker = context.broker
    me = broker.broker_id
    partitions: Mapping[Any, Any] = broker.replica_manager.partitions
    for topic in request.topic_data:
        name = topic.name
        for partition in topic.partition_data:
            here = partitions.get((name, partition.index))
            if here is None or here.leader != me:
                return False
    return True
