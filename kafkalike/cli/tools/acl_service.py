"""What `kafka-acls` does, through brokers or (`--authorizer-properties`) in ZooKeeper itself.

Kafka's `AdminClientService` and `AuthorizerService`.
"""

import sys
from collections.abc import Mapping, Sequence

from kafkalike.cli.tools.acl_entry import (
    Entry,
    by_resource,
    entries_text,
    lines,
    resource_text,
    rows,
)
from kafkalike.cli.tools.acl_request import acls_to_add, principals, resources, wanted_acls
from kafkalike.cli.tools.acl_store import AclStore, with_authorizer
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.cli.tools.support.java_names import java_text
from kafkalike.cli.tools.support.listing import output_format, print_json, print_lines, table
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.client.admin.values import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)
from kafkalike.protocol.errors import KafkaError

_ANY_RESOURCE = ResourcePattern(ResourceType.ANY, None, ACLResourcePatternType.ANY)

Found = dict[ResourcePattern, list[Entry]]


def run_action(parsed: Parsed) -> int:
    """Add, remove or list; an error is told on standard output, as Kafka does."""
    try:
        if parsed.has("bootstrap-server"):
            with_admin(client_settings(parsed), lambda admin: _run(admin, parsed))
        else:
            with_authorizer(parsed, lambda acls: _run(acls, parsed))
    except (KafkaError, JavaError) as error:
        text = java_text(error)
        print_line(f"Error while executing ACL command: {text}")
        wrapper = "java.util.concurrent.ExecutionException: " * isinstance(error, KafkaError)
        print_line(f"{wrapper}{text}\n")
        return 1
    return 0


async def _run(admin: AclStore, parsed: Parsed) -> None:
    if parsed.has("add"):
        await _add(admin, acls_to_add(parsed))
    elif parsed.has("remove"):
        await _remove(admin, parsed)
    await _list(admin, parsed)


async def _add(admin: AclStore, wanted: Mapping[ResourcePattern, Sequence[Entry]]) -> None:
    for resource, entries in wanted.items():
        print_lines(lines({resource: entries}, "Adding ACLs"))
        done = await admin.create_acls([ACL(*entry, resource) for entry in entries])
        for error in done["failed"]:
            raise error


async def _remove(admin: AclStore, parsed: Parsed) -> None:
    for resource, entries in wanted_acls(parsed).items():
        if parsed.has("force") or _confirms(resource, entries):
            filters = [ACLFilter(*entry, resource) for entry in entries]
            await admin.delete_acls(filters or [_any_entry(resource)])


def _confirms(resource: ResourcePattern, entries: Sequence[Entry]) -> bool:
    shown = resource_text(resource)
    if entries:
        print_line(
            f"Are you sure you want to remove ACLs: \n {entries_text(entries)} \n from resource "
            f"filter `{shown}`? (y/n)"
        )
    else:
        print_line(f"Are you sure you want to delete all ACLs for resource filter `{shown}`? (y/n)")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() == "y"


async def _list(admin: AclStore, parsed: Parsed) -> None:
    acls: list[ACL] = []
    for resource in resources(parsed, is_needed=False) or [_ANY_RESOURCE]:
        acls += await admin.describe_acls(_any_entry(resource))
    found = by_resource(acls)
    wanted = principals(parsed, "principal")
    if output_format(parsed) == "text":
        _print_text(found, wanted)
        return
    kept = [row for row in rows(found) if not wanted or row["principal"] in wanted]
    if output_format(parsed) == "json":
        print_json(kept)
    else:
        print_lines(table(kept))


def _print_text(found: Found, wanted: list[str]) -> None:
    if not wanted:
        print_lines(lines(found, "Current ACLs"))
    for principal in wanted:
        print_line(f"ACLs for principal `{principal}`")
        kept = {
            resource: [entry for entry in entries if entry.principal == principal]
            for resource, entries in found.items()
        }
        print_lines(lines({r: entries for r, entries in kept.items() if entries}, "Current ACLs"))


def _any_entry(resource: ResourcePattern) -> ACLFilter:
    return ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, resource)
