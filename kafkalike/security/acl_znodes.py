"""ACLs as ZooKeeper has them, in words, and as the authorizer has them: there and back."""

from collections.abc import Iterable

from twisted.logger import Logger

from kafkalike.security.acl import AccessControlEntry, AclPermissionType
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import PatternType, ResourcePattern, ResourceType
from kafkalike.zk.znodes import acls as znodes

log = Logger()


def to_znode_pattern(pattern: ResourcePattern) -> znodes.ResourcePattern:
    """Write a pattern: `TOPIC`, `orders`, `LITERAL`."""
    return znodes.ResourcePattern(
        pattern.resource_type.name, pattern.name, pattern.pattern_type.name
    )


def from_znode_pattern(pattern: znodes.ResourcePattern) -> ResourcePattern | None:
    """Read a pattern; None if it is of a type that a newer Kafka may know."""
    try:
        return ResourcePattern(
            ResourceType[pattern.resource_type], pattern.name, PatternType[pattern.pattern_type]
        )
    except KeyError:
        log.warn("ignoring ACLs of unknown resources: {pattern}", pattern=pattern)
        return None


def to_znode_entries(entries: Iterable[AccessControlEntry]) -> list[znodes.AclEntry]:
    """Write entries: `Allow`, `ClusterAction`."""
    return [
        znodes.AclEntry(
            entry.principal,
            camel_case(entry.permission_type.name),
            camel_case(entry.operation.name),
            entry.host,
        )
        for entry in entries
    ]


def from_znode_entries(entries: Iterable[znodes.AclEntry]) -> list[AccessControlEntry]:
    """Read entries; words that nobody knows allow and deny nothing."""
    return [
        AccessControlEntry(
            entry.principal,
            entry.host,
            _OPERATIONS.get(entry.operation.lower(), AclOperation.UNKNOWN),
            _PERMISSIONS.get(entry.permission_type.lower(), AclPermissionType.UNKNOWN),
        )
        for entry in entries
    ]


def camel_case(name: str) -> str:
    """Write `CLUSTER_ACTION` as `ClusterAction`."""
    return "".join(word.capitalize() for word in name.split("_"))


_OPERATIONS = {camel_case(operation.name).lower(): operation for operation in AclOperation}
_PERMISSIONS = {permission.name.lower(): permission for permission in AclPermissionType}
RESOURCE_TYPES = {camel_case(kind.name): kind for kind in ResourceType}
"""The types by the names that their znodes have."""
