"""Filters and bindings of ACLs, as the requests about ACLs have them."""

from typing import Any

from kafkalike.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclPermissionType,
)
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import (
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafkalike.server.api.context import CloseConnection

_UNKNOWN = 0


# Any: DescribeAcls and DeleteAcls have the same fields in structs of their own.
def binding_filter(asked: Any, version: int) -> AclBindingFilter:
    """Read a filter; as in Kafka a code that nobody knows ends the connection."""
    pattern_type = PatternType(asked.pattern_type_filter)
    if version == 0:
        pattern_type = PatternType.LITERAL  # there was nothing else yet
    found = AclBindingFilter(
        ResourcePatternFilter(
            ResourceType(asked.resource_type_filter), asked.resource_name_filter, pattern_type
        ),
        asked.principal_filter,
        asked.host_filter,
        AclOperation(asked.operation),
        AclPermissionType(asked.permission_type),
    )
    codes = (
        pattern_type,
        found.pattern.resource_type,
        found.operation,
        found.permission_type,
    )
    if _UNKNOWN in codes:
        raise CloseConnection(f"a filter of ACLs has unknown elements: {asked}")
    return found


def binding(asked: Any) -> AclBinding:
    """Read an ACL that is to be created; codes that nobody knows end the connection."""
    found = AclBinding(
        ResourcePattern(
            ResourceType(asked.resource_type),
            asked.resource_name,
            PatternType(asked.resource_pattern_type),
        ),
        AccessControlEntry(
            asked.principal,
            asked.host,
            AclOperation(asked.operation),
            AclPermissionType(asked.permission_type),
        ),
    )
    pattern, entry = found
    codes = (pattern.resource_type, pattern.pattern_type, entry.operation, entry.permission_type)
    if _UNKNOWN in codes:
        raise CloseConnection(f"an ACL has unknown elements: {asked}")
    return found
