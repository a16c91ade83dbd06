"""Requests that go to one broker whole: to the controller, or to who coordinates a group."""

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.partitioning import partition_for
from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.upstream import NotSentError

log = Logger()

# Any: each API has a request class of its own.
Owner = Callable[[RequestContext, Any], int | None]
"""Says which other broker is to be asked; None: this one answers, or refuses."""


def controller(context: RequestContext, request: Any) -> int | None:
    """Ask the controller."""
    if context.broker.controller.is_active:
        return None
    return context.broker.forwarding.controller_elsewhere(context)


def group_coordinator(group_id: str = "group_id") -> Owner:
    """Ask the coordinator of the group that this field names."""
    return _coordinator(GROUP_METADATA_TOPIC, group_id)


def transaction_coordinator(transactional_id: str = "transactional_id") -> Owner:
    """Ask the coordinator of the transactional id in this field; without one, anybody will do."""
    return _coordinator(TRANSACTION_STATE_TOPIC, transactional_id)


def _coordinator(topic: str, field: str) -> Owner:
    def owner(context: RequestContext, request: Any) -> int | None:
        key: str | None = getattr(request, field)
        return None if key is None else coordinator_elsewhere(context, topic, key)

    return owner


def coordinator_elsewhere(context: RequestContext, topic: str, key: str) -> int | None:
    """Return who leads the partition of a group or transactional id, if it is another broker."""
    count = len(context.broker.metadata_cache.snapshot.topics.get(topic, ()))
    if not count:
        return None
    tp = TopicPartition(topic, partition_for(key, count))
    here = context.broker.replica_manager.partitions.get(tp)
    if here is not None and here.is_leader:
        return None
    return context.broker.forwarding.leader_elsewhere(context, tp, AclOperation.DESCRIBE)


class OwnerRoute:
    """How one API is forwarded.

    Where the owner cannot be asked, or does not answer, this broker's own handler refuses in the
    words of its API: NOT_CONTROLLER, NOT_COORDINATOR. Both let the client try again.
    """

    def __init__(self, owner: Owner, *, waits_for_group: bool = False) -> None:
        self._owner = owner
        self._waits_for_group = waits_for_group

    def handle(
        self, api: Api, context: RequestContext, request: Any
    ) -> Coroutine[Any, Any, Message | None]:
        """Let the API answer, or forward the request."""
        owner = self._owner(context, request)
        if owner is None:
            return api.handle(context, request)
        return self._forward(api, context, request, owner)

    async def _forward(
        self, api: Api, context: RequestContext, request: Message, owner: int
    ) -> Message | None:
        forwarding = context.broker.forwarding
        try:
            answer: Message = await forwarding.upstream(context, owner).send(
                request,
                context.api_version,
                setup_ms=forwarding.config.socket_connection_setup_timeout_ms,
                patience_ms=self._patience_ms(forwarding.config, request),
            )
        except (NotSentError, KafkaError) as error:
            log.debug("broker {owner}: {error}", owner=owner, error=error)
            return await api.handle(context, request)
        return answer

    def _patience_ms(self, config: BrokerConfig, request: Message) -> int:
        """Return how long an answer may take: one that waits for other members takes long."""
        if not self._waits_for_group:
            return config.request_timeout_ms
        rebalance_ms: int = getattr(request, "rebalance_timeout_ms", 0)
        return config.request_timeout_ms + max(rebalance_ms, config.group_max_session_timeout_ms)
