"""ACLs as `kafka-acls` writes them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafkalike.client.admin.values import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
)


class Entry(NamedTuple):
    """Who may, or may not, do what from where."""

    principal: str
    host: str
    operation: ACLOperation
    permission: ACLPermissionType

    def __str__(self) -> str:
        return (
            f"(principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission.name})"
        )


def by_resource(acls: Iterable[ACL]) -> dict[ResourcePattern, list[Entry]]:
    """Group ACLs by what they are about, in the order of their names."""
    found: dict[ResourcePattern, list[Entry]] = {}
    for acl in sorted(acls, key=_key):
        entry = Entry(acl.principal or "", acl.host or "", acl.operation, acl.permission_type)
        entries = found.setdefault(acl.resource_pattern, [])
        if entry not in entries:
            entries.append(entry)
    return found


def _key(acl: ACL) -> tuple[Any, ...]:
    resource = acl.resource_pattern
    return (
        (resource.resource_type, resource.resource_name or "", resource.pattern_type),
        (acl.principal or "", acl.host or "", acl.permission_type, acl.operation),
    )


def resource_text(resource: ResourcePattern, kind: str = "ResourcePattern") -> str:
    """Write a resource as Java's class does."""
    name = "<any>" if resource.resource_name is None else resource.resource_name
    return (
        f"{kind}(resourceType={resource.resource_type.name}, name={name}, "
        f"patternType={resource.pattern_type.name})"
    )


def entries_text(entries: Sequence[Entry]) -> str:
    """Write entries below each other, indented; the blanks are Kafka's."""
    return "\n".join(f"\t{entry}" for entry in entries)


def lines(acls: Mapping[ResourcePattern, Sequence[Entry]], words: str) -> Iterator[str]:
    """Write ACLs as Kafka does: `words` stands before each resource."""
    for resource, entries in acls.items():
        yield f"{words} for resource `{resource_text(resource)}`: \n {entries_text(entries)} \n"


def rows(acls: Mapping[ResourcePattern, Sequence[Entry]]) -> list[dict[str, Any]]:
    """Return ACLs for JSON and tables."""
    return [
        {
            "resource_type": resource.resource_type.name,
            "name": resource.resource_name,
            "pattern_type": resource.pattern_type.name,
            "principal": entry.principal,
            "host": entry.host,
            "operation": entry.operation.name,
            "permission_type": entry.permission.name,
        }
        for resource, entries in acls.items()
        for entry in entries
    ]
