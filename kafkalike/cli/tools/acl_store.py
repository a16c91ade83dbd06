"""Where `kafka-acls` finds ACLs: brokers (the admin client), or ZooKeeper, as the authorizer does.

With `--authorizer-properties zookeeper.connect=...` no broker has to run; those that do hear of
every change.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, Protocol

from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.zookeeper import with_zookeeper
from kafkalike.client.admin.values import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)
from kafkalike.client.threads import reactor_thread
from kafkalike.config.errors import ConfigError
from kafkalike.protocol.errors import KafkaError
from kafkalike.security import acl, acl_operation, resource
from kafkalike.security.acl_authorizer import AclAuthorizer
from kafkalike.security.authorizer import OUR_NAMES, AuthorizableRequestContext
from kafkalike.security.principal import ANONYMOUS
from kafkalike.utils.time import Time
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

_CONNECT: Final = "zookeeper.connect"
_TOOL: Final = AuthorizableRequestContext(ANONYMOUS, "", "", "kafka-acls", "")


class AclStore(Protocol):
    """What both have."""

    def create_acls(self, acls: Sequence[ACL]) -> Awaitable[dict[str, list[Any]]]:
        """Create ACLs; "failed" has the errors."""

    def delete_acls(self, acl_filters: Sequence[ACLFilter]) -> Awaitable[Any]:
        """Delete what matches."""

    def describe_acls(self, acl_filter: ACLFilter) -> Awaitable[list[ACL]]:
        """Find what matches."""


class AuthorizerStore:
    """ACLs in ZooKeeper, by an authorizer of our own."""

    def __init__(self, authorizer: AclAuthorizer) -> None:
        self._authorizer = authorizer

    async def create_acls(self, acls: Sequence[ACL]) -> dict[str, list[Any]]:
        """Create ACLs; "failed" has the errors."""
        bindings = [_binding(one) for one in acls]
        for binding in bindings:
            acl.check_resource(binding.pattern)
        errors = await self._authorizer.create_acls(_TOOL, bindings)
        return {"failed": [error for error in errors if error is not None]}

    async def delete_acls(self, acl_filters: Sequence[ACLFilter]) -> None:
        """Delete what matches, or raise the first error."""
        found = await self._authorizer.delete_acls(_TOOL, [_filter(one) for one in acl_filters])
        errors: list[KafkaError] = [
            error for result in found for _, error in result.deleted if error is not None
        ]
        for error in errors:
            raise error

    async def describe_acls(self, acl_filter: ACLFilter) -> list[ACL]:
        """Find what matches."""
        return [_acl(binding) for binding in self._authorizer.acls(_filter(acl_filter))]


def with_authorizer(parsed: Parsed, work: Callable[[AclStore], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine with the ACLs of the ensemble that `--authorizer-properties` names."""
    name = parsed.value("authorizer")
    if name and name not in OUR_NAMES:
        raise IllegalArgumentError(f"{name} keeps its ACLs where only brokers can reach them")
    pairs = (text.partition("=")[::2] for text in parsed.values("authorizer-properties"))
    properties = {key.strip(): value.strip() for key, value in pairs}
    if not properties.get(_CONNECT):
        raise IllegalArgumentError(f"--authorizer-properties must have {_CONNECT}=host:port")

    async def run(zk: KafkaZkClient) -> None:
        authorizer = AclAuthorizer({}, zk, Time(reactor_thread().reactor))
        await authorizer.start()
        try:
            await work(AuthorizerStore(authorizer))
        finally:
            authorizer.close()

    try:
        with_zookeeper(properties[_CONNECT], run, parsed.value("zk-tls-config-file"))
    except ConfigError as error:
        raise IllegalArgumentError(str(error)) from error


def _binding(one: ACL) -> acl.AclBinding:
    pattern = one.resource_pattern
    return acl.AclBinding(
        resource.ResourcePattern(
            resource.ResourceType(pattern.resource_type),
            pattern.resource_name or "",
            resource.PatternType(pattern.pattern_type),
        ),
        acl.AccessControlEntry(
            one.principal or "",
            one.host or "",
            acl_operation.AclOperation(one.operation),
            acl.AclPermissionType(one.permission_type),
        ),
    )


def _filter(one: ACLFilter) -> acl.AclBindingFilter:
    pattern = one.resource_pattern
    return acl.AclBindingFilter(
        resource.ResourcePatternFilter(
            resource.ResourceType(pattern.resource_type),
            pattern.resource_name,
            resource.PatternType(pattern.pattern_type),
        ),
        one.principal,
        one.host,
        acl_operation.AclOperation(one.operation),
        acl.AclPermissionType(one.permission_type),
    )


def _acl(binding: acl.AclBinding) -> ACL:
    pattern, entry = binding
    return ACL(
        entry.principal,
        entry.host,
        ACLOperation(entry.operation),
        ACLPermissionType(entry.permission_type),
        ResourcePattern(
            ResourceType(pattern.resource_type),
            pattern.name,
            ACLResourcePatternType(pattern.pattern_type),
        ),
    )
