"""Which APIs this broker has: each handler module registers itself, and ApiVersions tells.

@api(ApiKey.HEARTBEAT, versions="0-4")
async def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse: ...
"""

import pkgutil
from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.schema import Message

# Any: each handler takes the request class of its own API.
Handler = Callable[[Any, Any], Coroutine[Any, Any, Message | None]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


class Api(NamedTuple):
    """One API of this broker."""

    key: ApiKey
    versions: range
    handle: Handler
    request_class: type[Message]
    response_class: type[Message]


_APIS: dict[int, Api] = {}
APIS: Mapping[int, Api] = MappingProxyType(_APIS)
"""The APIs whose modules are imported, by key."""


def api(key: ApiKey, *, versions: str) -> Callable[[AnyHandler], AnyHandler]:
    """Register a handler for these versions, such as "0-9"."""
    first, _, last = versions.partition("-")
    supported = range(int(first), int(last or first) + 1)
    if key in _APIS:
        raise ValueError(f"{key.api_name} has two handlers")
    if not set(supported) <= set(key.versions):
        raise ValueError(f"{key.api_name} has no versions {versions}")

    def register(handle: AnyHandler) -> AnyHandler:
        _APIS[key] = Api(key, supported, handle, request_class(key), response_class(key))
        return handle

    return register


def load_apis() -> Mapping[int, Api]:
    """Import all handler modules and return what they registered."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    return APIS
