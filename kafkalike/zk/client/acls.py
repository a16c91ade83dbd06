"""`/kafka-acl...`: ACLs per resource pattern, and the word that they changed."""

from collections.abc import Iterable
from typing import NamedTuple

from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import BadVersionError, NodeExistsError, NoNodeError
from kafkalike.zk.ops import UNKNOWN_VERSION, DeleteOp
from kafkalike.zk.znodes import (
    AclChangeZNode,
    AclEntry,
    ExtendedAclChangeZNode,
    ResourcePattern,
    ResourceZNode,
)
from kafkalike.zk.znodes.acls import (
    EXTENDED_ROOT,
    LITERAL,
    LITERAL_ROOT,
    RESOURCE_TYPES,
    acl_root,
)


class VersionedAcls(NamedTuple):
    """The ACLs of a resource and the version of their znode, for a conditional write."""

    acls: tuple[AclEntry, ...]
    zk_version: int


class AclsClient(TreeClient):
    """What AclAuthorizer keeps in ZooKeeper."""

    async def create_acl_paths(self) -> None:
        """Make sure of the parents of all ACLs, in Kafka's order."""
        for root in (LITERAL_ROOT, f"{EXTENDED_ROOT}/prefixed"):
            await self.make_sure_persistent_path_exists(root)
            for resource_type in RESOURCE_TYPES:
                await self.make_sure_persistent_path_exists(f"{root}/{resource_type}")
        for root in (AclChangeZNode.ROOT, ExtendedAclChangeZNode.ROOT):
            await self.make_sure_persistent_path_exists(root)

    async def get_versioned_acls_for_resource(self, resource: ResourcePattern) -> VersionedAcls:
        """Read a resource's ACLs; without a znode none, at UNKNOWN_VERSION."""
        path = ResourceZNode.path(resource)
        found = await self._get(path)
        if found is None:
            return VersionedAcls((), UNKNOWN_VERSION)
        return VersionedAcls(ResourceZNode.decode(found[0], path), found[1].version)

    async def create_acls_for_resource_if_not_exists(
        self, resource: ResourcePattern, acls: Iterable[AclEntry]
    ) -> int | None:
        """Write a resource's first ACLs; the znode's version, or None if there are some."""
        path = ResourceZNode.path(resource)
        try:
            await self._write(self._create_op(path, ResourceZNode.encode(acls)))
        except NodeExistsError:
            return None
        return 0

    async def conditional_set_acls_for_resource(
        self, resource: ResourcePattern, acls: Iterable[AclEntry], expected_version: int
    ) -> int | None:
        """Replace a resource's ACLs; the new version, or None if they changed meanwhile."""
        if expected_version < 0:
            raise ValueError(f"{resource}: {expected_version} is not a version")
        path, data = ResourceZNode.path(resource), ResourceZNode.encode(acls)
        return await self.conditional_update_path(path, data, expected_version)

    async def conditional_delete(self, resource: ResourcePattern, expected_version: int) -> bool:
        """Delete a resource's ACLs; False if they changed meanwhile."""
        try:
            await self._write(DeleteOp(ResourceZNode.path(resource), expected_version))
        except NoNodeError:
            return True
        except BadVersionError:
            return False
        return True

    async def get_resource_types(self, pattern_type: str) -> list[str]:
        """List the resource types that have a znode."""
        return await self.get_children(acl_root(pattern_type))

    async def get_resource_names(self, pattern_type: str, resource_type: str) -> list[str]:
        """List the names that have ACLs; the type is written as in paths: `TransactionalId`."""
        return await self.get_children(f"{acl_root(pattern_type)}/{resource_type}")

    async def create_acl_change_notification(self, resource: ResourcePattern) -> None:
        """Tell all brokers to read a resource's ACLs again."""
        if resource.pattern_type == LITERAL:
            path, data = AclChangeZNode.CREATE_PATH, AclChangeZNode.encode(resource)
        else:
            path = ExtendedAclChangeZNode.CREATE_PATH
            data = ExtendedAclChangeZNode.encode(resource)
        await self.create_sequential_persistent_path(path, data)
