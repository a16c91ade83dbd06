"""Which ACLs `kafka-acls` is to add or remove, read from its options (Kafka's `AclCommand`)."""

from collections.abc import Iterable
from typing import Final

from kafkalike.cli.tools.acl_entry import Entry
from kafkalike.cli.tools.support.errors import IllegalArgumentError, UsageError
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.client.admin.values import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

_O: Final = ACLOperation

# In the order in which Kafka's tool prints them.
SUPPORTED: Final = {
    ResourceType.TOPIC: (
        *(_O.ALL, _O.DESCRIBE, _O.READ, _O.WRITE, _O.DESCRIBE_CONFIGS),
        *(_O.DELETE, _O.ALTER, _O.ALTER_CONFIGS, _O.CREATE),
    ),
    ResourceType.GROUP: (_O.READ, _O.DESCRIBE, _O.DELETE, _O.ALL),
    ResourceType.CLUSTER: (
        *(_O.ALL, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER, _O.IDEMPOTENT_WRITE),
        *(_O.CLUSTER_ACTION, _O.ALTER_CONFIGS, _O.CREATE),
    ),
    ResourceType.TRANSACTIONAL_ID: (_O.DESCRIBE, _O.WRITE, _O.ALL),
    ResourceType.DELEGATION_TOKEN: (_O.DESCRIBE, _O.ALL),
}
OPERATIONS: Final = {
    "".join(word.capitalize() for word in operation.name.split("_")): operation
    for operation in ACLOperation
    if operation not in (_O.UNKNOWN, _O.ANY)
}
_CLUSTER: Final = ResourcePattern(
    ResourceType.CLUSTER, "kafka-cluster", ACLResourcePatternType.LITERAL
)
_RESOURCES: Final = (
    ("topic", ResourceType.TOPIC),
    ("cluster", ResourceType.CLUSTER),
    ("group", ResourceType.GROUP),
    ("transactional-id", ResourceType.TRANSACTIONAL_ID),
    ("delegation-token", ResourceType.DELEGATION_TOKEN),
)

Wanted = dict[ResourcePattern, list[Entry]]


def resources(parsed: Parsed, *, is_needed: bool = True) -> list[ResourcePattern]:
    """Return the resources that the options name."""
    pattern = ACLResourcePatternType[parsed.value("resource-pattern-type")]
    found = []
    for name, kind in _RESOURCES:
        if kind is not ResourceType.CLUSTER:
            found += [ResourcePattern(kind, text.strip(), pattern) for text in parsed.values(name)]
        elif pattern is ACLResourcePatternType.LITERAL and (
            parsed.has("cluster") or parsed.has("idempotent")
        ):
            found.append(_CLUSTER)
    if not found and is_needed:
        raise UsageError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group "
            "<group> or --delegation-token <Delegation Token ID>"
        )
    return list(dict.fromkeys(found))


def wanted_acls(parsed: Parsed) -> Wanted:
    """Return the entries for each resource; none for a resource means all that it has."""
    wanted: Wanted = {}
    if not parsed.has("producer") and not parsed.has("consumer"):
        operations = [_operation(name.strip()) for name in parsed.values("operation")]
        wanted = dict.fromkeys(resources(parsed), entries(parsed, operations))
    if parsed.has("producer"):
        wanted |= _producer(parsed)
    if parsed.has("consumer"):
        for resource, added in _consumer(parsed).items():
            wanted[resource] = list(dict.fromkeys([*added, *wanted.get(resource, [])]))
    _check_operations(wanted)
    return wanted


def acls_to_add(parsed: Parsed) -> Wanted:
    """Return what to add; it must say who may or may not."""
    pattern = parsed.value("resource-pattern-type")
    if pattern not in ("LITERAL", "PREFIXED"):
        raise UsageError(
            f"A '--resource-pattern-type' value of '{pattern}' is not valid when adding acls."
        )
    wanted = wanted_acls(parsed)
    if not all(wanted.values()):
        raise UsageError(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    return wanted


def _producer(parsed: Parsed) -> Wanted:
    wanted: Wanted = {}
    for resource in resources(parsed):
        if resource.resource_type is ResourceType.TOPIC:
            wanted[resource] = entries(parsed, [_O.WRITE, _O.DESCRIBE, _O.CREATE])
        elif resource.resource_type is ResourceType.TRANSACTIONAL_ID:
            wanted[resource] = entries(parsed, [_O.WRITE, _O.DESCRIBE])
    if parsed.has("idempotent"):
        wanted[_CLUSTER] = entries(parsed, [_O.IDEMPOTENT_WRITE])
    return wanted


def _consumer(parsed: Parsed) -> Wanted:
    wanted: Wanted = {}
    for resource in resources(parsed):
        if resource.resource_type is ResourceType.TOPIC:
            wanted[resource] = entries(parsed, [_O.READ, _O.DESCRIBE])
        elif resource.resource_type is ResourceType.GROUP:
            wanted[resource] = entries(parsed, [_O.READ])
    return wanted


def entries(parsed: Parsed, operations: Iterable[ACLOperation]) -> list[Entry]:
    """Return the entries that allow and deny these operations."""
    wanted = list(dict.fromkeys(operations))
    found = []
    for verb, permission in (("allow", ACLPermissionType.ALLOW), ("deny", ACLPermissionType.DENY)):
        hosts = [host.strip() for host in parsed.values(f"{verb}-host")] or ["*"]
        for principal in principals(parsed, f"{verb}-principal"):
            found += [
                Entry(principal, host, operation, permission)
                for operation in wanted
                for host in hosts
            ]
    return list(dict.fromkeys(found))


def principals(parsed: Parsed, name: str) -> list[str]:
    """Return the principals that an option names."""
    found = [text.strip() for text in parsed.values(name)]
    for text in found:
        kind, colon, _ = text.partition(":")
        if not kind or not colon:
            raise IllegalArgumentError(
                f"expected a string in format principalType:principalName but got {text}"
            )
    return list(dict.fromkeys(found))


def _operation(name: str) -> ACLOperation:
    return OPERATIONS.get(name, ACLOperation.UNKNOWN)


def _check_operations(wanted: Wanted) -> None:
    for resource, found in wanted.items():
        supported = SUPPORTED[resource.resource_type]
        if any(entry.operation not in supported for entry in found):
            names = ",".join(operation.name for operation in supported)
            raise UsageError(
                f"ResourceType {resource.resource_type.name} only supports operations {names}"
            )
