"""Who may, and how much: what stands between the dispatcher and an API on a broker with limits.

On a broker without an authorizer and without quotas nothing of this is ever called.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.authorizer import Authorizer
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import load_guards
from kafkalike.server.forwarding.routes import ROUTES
from kafkalike.server.record_interceptor import RecordInterceptor, intercept
from kafkalike.server.throttle import STRICT_MUTATIONS, Throttle
from kafkalike.utils.time import Time

# Any: each API has request and response classes of its own.
Answering = Coroutine[Any, Any, Message | None]


def answering(api: Api, context: RequestContext, request: Any) -> Answering:
    """Have a request answered: by its route, if it has one, or by its handler."""
    route = ROUTES.get(api.key)
    if route is None or _must_go_itself(api, context):
        return api.handle(context, request)
    return route.handle(api, context, request)


def _must_go_itself(api: Api, context: RequestContext) -> bool:
    """Whether a client has to go to the controller, for only that one knows what it has used."""
    throttle = context.throttle
    return (
        throttle is not None
        and throttle.limits_mutations
        and api.key in STRICT_MUTATIONS
        and not context.is_gateway
    )


def _is_of_broker(context: RequestContext, authorization: Authorization | None) -> bool:
    """Whether another broker sends a request on: it has asked its own authorizer already.

    The mark alone proves nothing: whoever bears it must come by the listener of brokers, and be
    allowed to act for the cluster.
    """
    listener = context.broker.config.inter_broker_listener.listener_name
    return context.listener_name == listener and (
        authorization is None
        or authorization.allows_cluster(AclOperation.CLUSTER_ACTION, log_if_denied=False)
    )


class RequestChecks:
    """Authorises requests, and makes clients wait that have used up what they may use."""

    def __init__(
        self,
        authorizer: Authorizer | None,
        throttle: Throttle,
        time: Time,
        interceptor: RecordInterceptor | None = None,
    ) -> None:
        self._authorizer = authorizer
        self._interceptor = interceptor
        self._throttle = throttle
        self._time = time
        self._guards = load_guards()

    @property
    def is_active(self) -> bool:
        """Whether there is anything to check."""
        return (
            self._authorizer is not None
            or self._throttle.is_active
            or self._interceptor is not None
        )

    def handle(
        self,
        api: Api,
        context: RequestContext,
        request: Any,
        size: int,
        send: Callable[[Message], None],
    ) -> Answering:
        """Answer a request as far as its client may have an answer.

        `send` sends an answer after which the client must wait; the request is in hand until then.
        """
        authorization = self._authorization(api, context)
        is_hop = context.is_forwarded and _is_of_broker(context, authorization)
        if self._throttle.is_active and not is_hop:
            context.throttle = self._throttle
        if is_hop:
            handling = answering(api, context, request)
        elif authorization is None:
            handling = self._answering(api, context, request)
        else:
            handling = self._guarded(api, context, request, authorization)
        if context.throttle is None:
            return handling
        return self._throttled(api, context, request, size, send, handling)

    def _authorization(self, api: Api, context: RequestContext) -> Authorization | None:
        if self._authorizer is None:
            return None
        return Authorization(self._authorizer, context.asker(api.key.name))

    def _guarded(
        self, api: Api, context: RequestContext, request: Any, authorization: Authorization
    ) -> Answering:
        context.authorization = authorization
        guard = self._guards.get(api.key)
        if guard is None:
            return answering(api, context, request)
        return guard(authorization, context, request, partial(self._answering, api, context))

    def _answering(self, api: Api, context: RequestContext, request: Any) -> Answering:
        """Have a request answered, records after a look at them."""
        if self._interceptor is None or api.key is not ApiKey.PRODUCE:
            return answering(api, context, request)
        return intercept(self._interceptor, request, partial(answering, api, context))

    async def _throttled(
        self,
        api: Api,
        context: RequestContext,
        request: Any,
        size: int,
        send: Callable[[Message], None],
        handling: Answering,
    ) -> Message | None:
        """Answer, and keep the client's next request waiting for as long as it must (KIP-219)."""
        response, busy_s = await self._throttle.timed(handling)
        wait_ms = self._throttle.wait_ms(api.key, context, request, size, busy_s)
        if wait_ms <= 0:
            return response
        if response is not None:
            response.throttle_time_ms = wait_ms  # type: ignore[attr-defined]  # all but a few have it
            send(response)
        await self._time.sleep_ms(wait_ms)
        return None
