"""Requests about several groups: each goes to its coordinator; and the list of all groups."""

from collections import defaultdict
from collections.abc import Coroutine
from copy import copy
from typing import Any

from twisted.logger import Logger

from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkalike.protocol.schema import Message
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.owner_route import coordinator_elsewhere
from kafkalike.server.forwarding.upstream import NotSentError
from kafkalike.utils.gather import gather

log = Logger()


# Any: each API has request and response classes of its own.
class GroupsRoute:
    """How one API is forwarded; `asked` and `answered` are the fields that hold its groups.

    A coordinator that cannot be asked is as good as none: this broker's own handler refuses.
    """

    def __init__(self, asked: str, answered: str) -> None:
        self._asked = asked
        self._answered = answered

    def handle(
        self, api: Api, context: RequestContext, request: Any
    ) -> Coroutine[Any, Any, Message | None]:
        """Let the API answer, or forward what it cannot answer."""
        groups: dict[int | None, list[str]] = defaultdict(list)
        for group_id in getattr(request, self._asked):
            groups[coordinator_elsewhere(context, GROUP_METADATA_TOPIC, group_id)].append(group_id)
        if not groups or list(groups) == [None]:
            return api.handle(context, request)
        return self._forward(api, context, request, groups)

    async def _forward(
        self,
        api: Api,
        context: RequestContext,
        request: Any,
        groups: dict[int | None, list[str]],
    ) -> Message:
        parts = {}
        for coordinator, group_ids in groups.items():
            parts[coordinator] = copy(request)
            setattr(parts[coordinator], self._asked, group_ids)
        answers = await gather(
            _ask(api, context, part, coordinator) for coordinator, part in parts.items()
        )
        return self._merge(request, answers)

    def _merge(self, request: Any, answers: list[Any]) -> Message:
        found = {one.group_id: one for a in answers for one in getattr(a, self._answered)}
        merged: Message = copy(answers[0])
        ordered = dict.fromkeys(getattr(request, self._asked))
        setattr(merged, self._answered, [found[g] for g in ordered if g in found])
        merged.throttle_time_ms = _throttle_time_ms(answers)  # type: ignore[attr-defined]
        return merged


class GatewayListRoute:
    """ListGroups: a client of a gateway knows one broker, so it hears there of all groups.

    Elsewhere a broker lists the groups that it coordinates, and clients ask all brokers.
    """

    def handle(
        self, api: Api, context: RequestContext, request: Any
    ) -> Coroutine[Any, Any, Message | None]:
        """Let the API answer, or ask all brokers."""
        if not context.is_gateway or not context.broker.forwarding.may_forward(context):
            return api.handle(context, request)
        return self._forward(api, context, request)

    async def _forward(
        self, api: Api, context: RequestContext, request: ListGroupsRequest
    ) -> Message:
        brokers = [None, *context.broker.forwarding.others()]
        answers = await gather(_list(api, context, copy(request), broker) for broker in brokers)
        codes = [answer.error_code for answer in answers if answer.error_code]
        return ListGroupsResponse(
            throttle_time_ms=_throttle_time_ms(answers),
            error_code=codes[0] if codes else ErrorCode.NONE,
            groups=[group for answer in answers for group in answer.groups],
        )


def _throttle_time_ms(answers: list[Any]) -> int:
    return max(int(answer.throttle_time_ms) for answer in answers)


async def _list(api: Api, context: RequestContext, request: Any, broker: int | None) -> Any:
    if broker is None:
        return await api.handle(context, request)
    try:
        return await _send(context, request, broker)
    except (NotSentError, KafkaError) as error:
        log.debug("broker {broker}: {error}", broker=broker, error=error)
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)


async def _ask(api: Api, context: RequestContext, request: Any, coordinator: int | None) -> Any:
    if coordinator is not None:
        try:
            return await _send(context, request, coordinator)
        except (NotSentError, KafkaError) as error:
            log.debug("broker {broker}: {error}", broker=coordinator, error=error)
    return await api.handle(context, request)


async def _send(context: RequestContext, request: Any, broker: int) -> Any:
    forwarding = context.broker.forwarding
    return await forwarding.upstream(context, broker).send(
        request,
        context.api_version,
        setup_ms=forwarding.config.socket_connection_setup_timeout_ms,
        patience_ms=forwarding.config.request_timeout_ms,
    )
