"""Guards: what a client must be allowed to do for each API, asked before its route and handler.

A guard lets a request through, takes what is not allowed out of it, or refuses it; then it adds the
refusals to the answer. So a request is authorised by the broker that the client talks to, also
where another broker answers it. Without an authorizer no guard is ever called.

@guard(ApiKey.HEARTBEAT)
async def heartbeat(authorization, context, request, proceed): ...
"""

from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.schema import Message
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization

# Any: each API has request and response classes of its own.
Proceed = Callable[[Any], Coroutine[Any, Any, Any]]
"""Has a request answered, by this broker or another one."""
Guard = Callable[[Authorization, RequestContext, Any, Proceed], Coroutine[Any, Any, Message | None]]

UNGUARDED: Final = frozenset(
    {
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.API_VERSIONS,
        # Whose token it is decides, and not an ACL.
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        # Only the handler knows the partitions of a session (`fetch_guard`).
        ApiKey.FETCH,
    }
)
"""The APIs that need no permission, or ask for it elsewhere."""

_GUARDS: dict[int, Guard] = {}
_MODULES: Final = (
    "kafkalike.server.authorization.cluster_guards",
    "kafkalike.server.authorization.config_guards",
    "kafkalike.server.authorization.group_guards",
    "kafkalike.server.authorization.metadata_guards",
    "kafkalike.server.authorization.offset_guards",
    "kafkalike.server.authorization.partition_guards",
    "kafkalike.server.authorization.topic_guards",
    "kafkalike.server.authorization.transaction_guards",
)


def guard(*keys: ApiKey) -> Callable[[Guard], Guard]:
    """Register a guard for these APIs."""

    def register(function: Guard) -> Guard:
        for key in keys:
            if key in _GUARDS:
                raise ValueError(f"{key.api_name} has two guards")
            _GUARDS[key] = function
        return function

    return register


def load_guards() -> Mapping[int, Guard]:
    """Import all modules that have guards, and return what they registered."""
    for name in _MODULES:
        import_module(name)
    return MappingProxyType(_GUARDS)
