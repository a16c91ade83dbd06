"""Access control entries: who may, or may not, do what from where; and filters for them."""

from enum import IntEnum
from typing import Final, NamedTuple

from kafkalike.protocol.errors import InvalidRequestError
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.resource import (
    CLUSTER_NAME,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

ANY_HOST: Final = "*"
ANY_PRINCIPAL: Final = "User:*"


class AclPermissionType(IntEnum):
    """Kafka's `AclPermissionType`, by the code that goes over the wire."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3

    @classmethod
    def _missing_(cls, value: object) -> "AclPermissionType":
        return cls.UNKNOWN


class AccessControlEntry(NamedTuple):
    """One permission; the principal is written `User:alice`, `*` is any host."""

    principal: str
    host: str
    operation: AclOperation
    permission_type: AclPermissionType


class AclBinding(NamedTuple):
    """A permission and the resources that it is about."""

    pattern: ResourcePattern
    entry: AccessControlEntry


class AclBindingFilter(NamedTuple):
    """Which bindings are meant; None and ANY leave a field open."""

    pattern: ResourcePatternFilter
    principal: str | None
    host: str | None
    operation: AclOperation
    permission_type: AclPermissionType

    def matches_entry(self, entry: AccessControlEntry) -> bool:
        """Whether an entry is meant, of whatever resource."""
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission_type in (AclPermissionType.ANY, entry.permission_type)
        )

    def matches(self, binding: AclBinding) -> bool:
        """Whether a binding is meant."""
        return self.pattern.matches(binding.pattern) and self.matches_entry(binding.entry)


def check_resource(pattern: ResourcePattern) -> None:
    """Raise InvalidRequestError where no resource has such a name."""
    if pattern.resource_type is ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        raise InvalidRequestError(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not pattern.name:
        raise InvalidRequestError("Invalid empty resource name")


def check_binding(binding: AclBinding) -> None:
    """Raise InvalidRequestError if a binding has holes, as only filters may."""
    pattern, entry = binding
    is_definite = (
        pattern.resource_type not in (ResourceType.UNKNOWN, ResourceType.ANY)
        and pattern.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        and entry.operation not in (AclOperation.UNKNOWN, AclOperation.ANY)
        and entry.permission_type in (AclPermissionType.DENY, AclPermissionType.ALLOW)
    )
    if not is_definite or "/" in pattern.name:  # the name becomes that of a znode
        raise InvalidRequestError("Failed to create ACL")
    try:
        KafkaPrincipal.parse(entry.principal)
    except ValueError:
        raise InvalidRequestError("Failed to create ACL") from None
