"""A guard between a request and an API that does not exist: who may what is a set of triples.

world = Guarded({(READ, GROUP, "g")})
answer = world.ask(HeartbeatRequest(group_id="g"))
world.passed                                  # what the API was asked, None if it was not
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

from kafkalike.cluster.metadata_cache import MetadataSnapshot
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct
from kafkalike.security.acl_operation import IMPLYING, AclOperation
from kafkalike.security.authorizer import Action, AuthorizableRequestContext, AuthorizerBase
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.resource import ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import load_guards
from tests.support.run import run

Permission = tuple[AclOperation, ResourceType, str]


class FakeAuthorizer(AuthorizerBase):
    """Allows what is in the set, and what that implies."""

    def __init__(self, allowed: Collection[Permission]) -> None:
        self.allowed = set(allowed)
        self.logged: list[Action] = []

    def authorize(self, context: AuthorizableRequestContext, action: Action) -> bool:
        operations = IMPLYING.get(action.operation, (action.operation,))
        is_allowed = any(
            (op, action.resource_type, action.name) in self.allowed for op in operations
        )
        if not is_allowed and action.log_if_denied:
            self.logged.append(action)
        return is_allowed

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> bool:
        return any((op, kind) == (operation, resource_type) for op, kind, _ in self.allowed)


class Guarded:
    """`answer` is what the API says; topics are those of the cluster, with one partition each."""

    def __init__(
        self,
        allowed: Collection[Permission] = (),
        *,
        answer: Callable[[Any], Message] | None = None,
        topics: Collection[str] = (),
        topic_names: Mapping[bytes, str] | None = None,
    ) -> None:
        self.authorizer = FakeAuthorizer(allowed)
        self.passed: Any = None
        self._answer = answer
        partition: Any = object()
        snapshot = MetadataSnapshot(
            topics={topic: {0: partition} for topic in topics}, topic_names=topic_names or {}
        )
        self._broker = SimpleNamespace(
            metadata_cache=SimpleNamespace(snapshot=snapshot),
            config=SimpleNamespace(auto_create_topics_enable=True),
        )

    # Any: the answer's class follows from the request's.
    def ask(self, request: Message, version: int | None = None) -> Any:
        """Have a request guarded, and answered in a form that this version can say."""
        key = ApiKey(request.api_key)
        version = request.max_version if version is None else version
        connection = SimpleNamespace(principal=KafkaPrincipal("User", "al"))
        context = RequestContext(
            cast(Any, self._broker), version, "c", "PLAINTEXT", "h", cast(Any, connection)
        )
        authorization = Authorization(self.authorizer, context.asker(key.name))
        answer = run(load_guards()[key](authorization, context, request, self._proceed))
        if answer is None:
            return None
        return response_class(key).decode(answer.encode(version), version)

    async def _proceed(self, request: Any) -> Any:
        self.passed = request
        if self._answer is not None:
            return self._answer(request)
        return response_class(ApiKey(request.api_key))()


# Any: any request or response, and what JSON would say of it.
def a_message(kind: type[Any], /, **values: Any) -> Any:
    """Build a message, or a struct, whose structs are written as dicts."""
    module = sys.modules[kind.__module__]
    fields = {field.name: field for field in kind.table.fields}
    built = {}
    for name, value in values.items():
        struct = fields[name].struct
        if struct is not None and isinstance(value, list):
            inner = getattr(module, struct.name)
            built[name] = [a_message(inner, **one) for one in value]
        else:
            built[name] = value
    return kind(**built)


def a_request(key: ApiKey, /, **values: Any) -> Any:
    """Build the request of an API."""
    return a_message(request_class(key), **values)


def a_response(key: ApiKey, /, **values: Any) -> Any:
    """Build the response of an API."""
    return a_message(response_class(key), **values)


def error_codes(answer: Any) -> set[int]:
    """Gather all error codes that are not 0."""
    return {code for code in _codes(answer) if code}


def _codes(value: Any) -> Iterator[int]:
    if isinstance(value, list):
        for one in value:
            yield from _codes(one)
    elif isinstance(value, Struct):
        for field in value.table.fields:
            if field.name == "error_code":
                yield getattr(value, field.name)
            else:
                yield from _codes(getattr(value, field.name))
