"""`/kafka-acl...`: the ACLs of each resource, and the news about them.

Literal patterns have their own tree (it is older than the others); prefixed ones are below
`/kafka-acl-extended`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafkalike.zk.errors import ZkDataError
from kafkalike.zk.znodes.json_data import decode_text, encode_json, reading

LITERAL = "LITERAL"
LITERAL_ROOT = "/kafka-acl"
EXTENDED_ROOT = "/kafka-acl-extended"
# In the order in which Kafka makes the znodes.
RESOURCE_TYPES = ("TransactionalId", "DelegationToken", "Group", "Topic", "Cluster")


class ResourcePattern(NamedTuple):
    """Resources of a type by name; types and pattern types are Kafka's constants: `TOPIC`."""

    resource_type: str
    name: str
    pattern_type: str = LITERAL


class AclEntry(NamedTuple):
    """Who may (or may not) do what from where; the words are those of the znode: `Allow`."""

    principal: str
    permission_type: str
    operation: str
    host: str


class ResourceZNode:
    """The ACLs of one resource pattern."""

    @staticmethod
    def path(resource: ResourcePattern) -> str:
        """Where the ACLs are: types are written `TransactionalId` in paths."""
        words = resource.resource_type.split("_")
        type_name = "".join(word.capitalize() for word in words)
        return f"{acl_root(resource.pattern_type)}/{type_name}/{resource.name}"

    @staticmethod
    def encode(acls: Iterable[AclEntry]) -> bytes:
        """Write the entries."""
        entries = [
            {
                "principal": acl.principal,
                "permissionType": acl.permission_type,
                "operation": acl.operation,
                "host": acl.host,
            }
            for acl in acls
        ]
        return encode_json({"version": 1, "acls": entries})

    @staticmethod
    def decode(data: bytes | None, path: str = LITERAL_ROOT) -> tuple[AclEntry, ...]:
        """Read the entries."""
        if not data:
            return ()
        with reading(data, path) as value:
            if value["version"] != 1:
                raise ValueError("unsupported version")
            return tuple(
                AclEntry(a["principal"], a["permissionType"], a["operation"], a["host"])
                for a in value["acls"]
            )


class AclChangeZNode:
    """`/kafka-acl-changes/acl_changes_<n>`: ACLs of a literal pattern changed; plain text."""

    ROOT = "/kafka-acl-changes"
    PREFIX = "acl_changes_"
    CREATE_PATH = f"{ROOT}/{PREFIX}"

    @staticmethod
    def encode(resource: ResourcePattern) -> bytes:
        """Write the resource: `TOPIC:orders`."""
        if resource.pattern_type != LITERAL:
            raise ValueError(f"{resource} is not literal")
        return f"{resource.resource_type}:{resource.name}".encode()

    @staticmethod
    def decode(data: bytes | None) -> ResourcePattern:
        """Read the resource."""
        resource_type, colon, name = decode_text(data, AclChangeZNode.ROOT).partition(":")
        if not colon:
            raise ZkDataError(f"{AclChangeZNode.ROOT} holds unexpected data: {data!r}")
        return ResourcePattern(resource_type.upper(), name)


class ExtendedAclChangeZNode:
    """`/kafka-acl-extended-changes/acl_changes_<n>`: ACLs of another pattern changed; JSON."""

    ROOT = "/kafka-acl-extended-changes"
    PREFIX = "acl_changes_"
    CREATE_PATH = f"{ROOT}/{PREFIX}"

    @staticmethod
    def encode(resource: ResourcePattern) -> bytes:
        """Write the resource."""
        if resource.pattern_type == LITERAL:
            raise ValueError(f"{resource} is literal")
        return encode_json(
            {
                "version": 1,
                "resourceType": resource.resource_type,
                "name": resource.name,
                "patternType": resource.pattern_type,
            }
        )

    @staticmethod
    def decode(data: bytes | None) -> ResourcePattern:
        """Read the resource."""
        with reading(data, ExtendedAclChangeZNode.ROOT) as value:
            if value["version"] > 1:
                raise ValueError("unsupported version")
            return ResourcePattern(value["resourceType"], value["name"], value["patternType"])


def acl_root(pattern_type: str) -> str:
    """Give the tree that holds patterns of this type."""
    if pattern_type == LITERAL:
        return LITERAL_ROOT
    return f"{EXTENDED_ROOT}/{pattern_type.lower()}"
