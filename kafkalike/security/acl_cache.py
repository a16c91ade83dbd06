"""The ACLs that hold, in memory, and what follows from them (the decisions of AclAuthorizer).

A decision that was made once is a dictionary entry until an ACL changes.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kafkalike.security.acl import (
    ANY_HOST,
    ANY_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclPermissionType,
)
from kafkalike.security.acl_operation import IMPLYING, AclOperation
from kafkalike.security.resource import WILDCARD, PatternType, ResourcePattern, ResourceType

_MAX_DECISIONS: Final = 100_000
"""A client can ask about any name; what is remembered of that must have an end."""

Entries = frozenset[AccessControlEntry]


class Question(NamedTuple):
    """May this principal, from this host, do that to the resource of this name?"""

    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    name: str


class AclCache:
    """All ACLs of the cluster by resource pattern."""

    def __init__(self, *, is_allowed_without_acls: bool = False) -> None:
        self._is_allowed_without_acls = is_allowed_without_acls
        self._acls: dict[ResourcePattern, Entries] = {}
        self._decisions: dict[tuple[str, str, AclOperation, ResourceType, str], bool] = {}

    @property
    def patterns(self) -> tuple[ResourcePattern, ...]:
        """The resources that have ACLs."""
        return tuple(self._acls)

    def entries(self, pattern: ResourcePattern) -> Entries:
        """Give the ACLs of a pattern."""
        return self._acls.get(pattern, frozenset())

    def bindings(self) -> Iterator[AclBinding]:
        """Give all ACLs."""
        for pattern, entries in self._acls.items():
            for entry in entries:
                yield AclBinding(pattern, entry)

    def update(self, pattern: ResourcePattern, entries: Iterable[AccessControlEntry]) -> None:
        """Take over the ACLs of a pattern; none take it out."""
        found = frozenset(entries)
        if found:
            self._acls[pattern] = found
        else:
            self._acls.pop(pattern, None)
        self._decisions.clear()

    # --- one resource

    def is_allowed(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str,
    ) -> bool:
        """Answer a question, from memory if it was asked before."""
        key = (principal, host, operation, resource_type, name)
        decision = self._decisions.get(key)
        if decision is None:
            decision = self._decide(Question(*key))
            if len(self._decisions) >= _MAX_DECISIONS:
                self._decisions.clear()
            self._decisions[key] = decision
        return decision

    def _decide(self, asked: Question) -> bool:
        acls = list(self._matching(asked.resource_type, asked.name))
        if not acls:
            return self._is_allowed_without_acls
        if _has(acls, asked, asked.operation, AclPermissionType.DENY):
            return False
        sufficient = IMPLYING.get(asked.operation, (asked.operation,))
        return any(_has(acls, asked, one, AclPermissionType.ALLOW) for one in sufficient)

    def _matching(self, resource_type: ResourceType, name: str) -> Iterator[AccessControlEntry]:
        for literal in {WILDCARD, name}:
            yield from self.entries(ResourcePattern(resource_type, literal))
        for end in range(1, len(name) + 1):
            prefix = ResourcePattern(resource_type, name[:end], PatternType.PREFIXED)
            yield from self.entries(prefix)

    # --- any resource of a type

    def is_allowed_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether there can be a resource of this type that the principal may do this to."""
        found: dict[tuple[AclPermissionType, PatternType], set[str]] = {}
        for pattern, entries in self._acls.items():
            if pattern.resource_type is resource_type:
                asked = Question(principal, host, operation, resource_type, pattern.name)
                for permission in (AclPermissionType.DENY, AclPermissionType.ALLOW):
                    if _has(entries, asked, operation, permission):
                        found.setdefault((permission, pattern.pattern_type), set()).add(
                            pattern.name
                        )
        denied = found.get((AclPermissionType.DENY, PatternType.LITERAL), set())
        if WILDCARD in denied:
            return False
        if self._is_allowed_without_acls:
            return True
        denied_prefixes = found.get((AclPermissionType.DENY, PatternType.PREFIXED), set())
        prefixes = found.get((AclPermissionType.ALLOW, PatternType.PREFIXED), set())
        literals = found.get((AclPermissionType.ALLOW, PatternType.LITERAL), set())
        return any(not _is_below(name, denied_prefixes) for name in prefixes) or any(
            name == WILDCARD or (name not in denied and not _is_below(name, denied_prefixes))
            for name in literals
        )


def _has(
    acls: Iterable[AccessControlEntry],
    asked: Question,
    operation: AclOperation,
    permission: AclPermissionType,
) -> bool:
    return any(
        acl.permission_type is permission
        and acl.principal in (asked.principal, ANY_PRINCIPAL)
        and acl.operation in (operation, AclOperation.ALL)
        and acl.host in (asked.host, ANY_HOST)
        for acl in acls
    )


def _is_below(name: str, prefixes: set[str]) -> bool:
    return any(name.startswith(prefix) for prefix in prefixes)
