"""Requests about partitions: those that others lead go to their leaders, the rest is done here.

Local part and forwarded parts run at the same time; the client sees one answer.
"""

from collections.abc import Container, Coroutine
from typing import Any

from twisted.logger import Logger

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.api.context import CloseConnection, RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.layout import Layout
from kafkalike.server.forwarding.upstream import NotSentError
from kafkalike.utils.gather import gather

log = Logger()

_ACKS_NONE = 0


class LeaderRoute:
    """How one API is forwarded.

    `outcome_unknown` answers what was sent and never answered; it must be an error that lets the
    client try again. What was never sent is refused as by any broker that does not lead. A request
    with a `replica_id` is forwarded for one of `replica_ids` alone: a follower means this broker.
    """

    def __init__(
        self,
        layout: Layout,
        operation: AclOperation,
        *,
        outcome_unknown: ErrorCode,
        replica_ids: Container[int] = (),
    ) -> None:
        self._layout = layout
        self._operation = operation
        self._outcome_unknown = outcome_unknown
        self._replica_ids = replica_ids

    # Any: each API has a request class of its own.
    def handle(
        self, api: Api, context: RequestContext, request: Any
    ) -> Coroutine[Any, Any, Message | None]:
        """Let the API answer, or forward what it cannot answer."""
        broker = context.broker
        if self._layout.is_only(request, broker.replica_manager.partitions, broker.broker_id):
            return api.handle(context, request)
        if self._replica_ids and request.replica_id not in self._replica_ids:
            return api.handle(context, request)
        return self._forward(api, context, request)

    async def _forward(self, api: Api, context: RequestContext, request: Message) -> Message | None:
        def owner(tp: TopicPartition) -> int | None:
            return context.broker.forwarding.leader_elsewhere(context, tp, self._operation)

        parts = self._layout.split(request, owner)
        if list(parts) == [None] or not parts:
            return await api.handle(context, request)
        running = [
            api.handle(context, part) if leader is None else self._send(context, leader, part)
            for leader, part in parts.items()
        ]
        answers = [answer for answer in await gather(running) if answer is not None]
        return self._layout.merge(request, answers) if answers else None

    async def _send(self, context: RequestContext, leader: int, part: Any) -> Message | None:
        forwarding = context.broker.forwarding
        upstream = forwarding.upstream(context, leader)
        setup_ms = forwarding.config.socket_connection_setup_timeout_ms
        version = context.api_version
        if getattr(part, "acks", None) == _ACKS_NONE:
            try:
                await upstream.send_unanswered(part, version, setup_ms=setup_ms)
            except NotSentError as error:
                raise CloseConnection(f"a produce with acks=0 failed, {error}") from error
            return None
        try:
            answer: Message = await upstream.send(
                part,
                version,
                setup_ms=setup_ms,
                patience_ms=forwarding.config.request_timeout_ms,
            )
        except NotSentError as error:
            log.debug("broker {leader}: {error}", leader=leader, error=error)
            return self._layout.refuse(part, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        except KafkaError as error:
            log.debug("broker {leader}: {error}", leader=leader, error=error)
            return self._layout.refuse(part, self._outcome_unknown)
        return answer
