"""The authorizer of `kafka.security.authorizer.AclAuthorizer`: ACLs in ZooKeeper, cached here.

Written by conditional updates, so that two brokers (or a tool beside them) lose nothing of each
other; every change is announced by a sequential znode, on which all brokers read the ACLs again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from twisted.logger import Logger

from kafkalike.config.errors import ConfigError
from kafkalike.protocol.errors import KafkaError, UnknownServerError
from kafkalike.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    check_binding,
)
from kafkalike.security.acl_cache import AclCache, Entries
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.acl_znodes import (
    RESOURCE_TYPES,
    camel_case,
    from_znode_entries,
    from_znode_pattern,
    to_znode_entries,
    to_znode_pattern,
)
from kafkalike.security.authorizer import AclDeleteResult, Action, AuthorizableRequestContext
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.resource import PatternType, ResourcePattern, ResourceType
from kafkalike.utils.gather import gather
from kafkalike.utils.time import Time
from kafkalike.zk.change_notification import ZkNodeChangeNotificationListener
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import ZkError
from kafkalike.zk.ops import UNKNOWN_VERSION
from kafkalike.zk.znodes import AclChangeZNode, ExtendedAclChangeZNode
from kafkalike.zk.znodes import acls as znodes

log = Logger()
audit = Logger(namespace="kafka.authorizer.logger")

SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"
_OTHER_ZOOKEEPER: Final = "authorizer.zookeeper.url"
_MAX_UPDATE_RETRIES: Final = 10
_RETRY_BACKOFF_MS: Final = 100


class AclAuthorizer:
    """One per broker. `start` reads all ACLs and begins to hear of changes, `close` ends that."""

    def __init__(self, properties: Mapping[str, str], zk: KafkaZkClient, time: Time) -> None:
        if properties.get(_OTHER_ZOOKEEPER):
            raise ConfigError(
                f"{_OTHER_ZOOKEEPER}: ACLs in another ensemble than the broker's are not supported;"
                " leave the key out"
            )
        self._super_users = super_users(properties.get(SUPER_USERS, ""))
        allow_everyone = properties.get(ALLOW_EVERYONE, "").strip().lower() == "true"
        self._cache = AclCache(is_allowed_without_acls=allow_everyone)
        self._zk = zk
        self._time = time
        self._listeners = [
            ZkNodeChangeNotificationListener(
                zk, AclChangeZNode.ROOT, AclChangeZNode.PREFIX, self._literal_changed, time
            ),
            ZkNodeChangeNotificationListener(
                zk,
                ExtendedAclChangeZNode.ROOT,
                ExtendedAclChangeZNode.PREFIX,
                self._other_changed,
                time,
            ),
        ]

    # --- decisions

    def authorize(self, context: AuthorizableRequestContext, action: Action) -> bool:
        """Whether the action is allowed; a denial that somebody asked for is logged."""
        principal = str(context.principal)
        if principal in self._super_users:
            return True
        operation, resource_type, name, log_if_denied = action
        host = context.client_host
        is_allowed = self._cache.is_allowed(principal, host, operation, resource_type, name)
        if not is_allowed and log_if_denied:
            _tell_denied(context, operation, resource_type, f"LITERAL:{name}")
        return is_allowed

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> bool:
        """Whether the action is allowed on some resource of a type (KIP-679)."""
        principal = str(context.principal)
        if principal in self._super_users:
            return True
        is_allowed = self._cache.is_allowed_somewhere(
            principal, context.client_host, operation, resource_type
        )
        if not is_allowed:
            _tell_denied(context, operation, resource_type, "UNKNOWN:NONE")
        return is_allowed

    # --- changes

    def acls(self, wanted: AclBindingFilter) -> Iterable[AclBinding]:
        """Give the ACLs that match, as this broker knows them."""
        return [binding for binding in self._cache.bindings() if wanted.matches(binding)]

    async def create_acls(
        self, context: AuthorizableRequestContext, bindings: Sequence[AclBinding]
    ) -> Sequence[KafkaError | None]:
        """Create ACLs, all of a resource by one write."""
        errors: dict[int, KafkaError] = {}
        by_pattern: dict[ResourcePattern, list[int]] = {}
        for index, binding in enumerate(bindings):
            try:
                check_binding(binding)
            except KafkaError as error:
                errors[index] = error
            else:
                by_pattern.setdefault(binding.pattern, []).append(index)
        for pattern, indexes in by_pattern.items():
            added = frozenset(bindings[index].entry for index in indexes)
            failed = await self._attempt(pattern, added.union)
            if failed is not None:
                errors |= dict.fromkeys(indexes, failed)
        return [errors.get(index) for index in range(len(bindings))]

    async def delete_acls(
        self, context: AuthorizableRequestContext, filters: Sequence[AclBindingFilter]
    ) -> Sequence[AclDeleteResult]:
        """Delete the ACLs that match; one that several filters match counts for the first."""
        patterns = dict.fromkeys(self._cache.patterns)
        patterns |= dict.fromkeys(p for one in filters for p in one.pattern.candidates())
        deleted: list[list[tuple[AclBinding, KafkaError | None]]] = [[] for _ in filters]
        for pattern in patterns:
            numbered = [(n, one) for n, one in enumerate(filters) if one.pattern.matches(pattern)]
            if not numbered:
                continue
            gone: dict[AccessControlEntry, int] = {}
            failed = await self._attempt(pattern, partial(_without, numbered, gone))
            for entry, number in gone.items():
                deleted[number].append((AclBinding(pattern, entry), failed))
        return [AclDeleteResult(found) for found in deleted]

    async def _attempt(
        self, pattern: ResourcePattern, change: Callable[[Entries], Entries]
    ) -> KafkaError | None:
        try:
            await self._update(pattern, change)
        except ZkError as error:
            log.error("ACLs of {pattern}: {error}", pattern=pattern, error=error)
            return UnknownServerError(str(error))
        except KafkaError as error:
            return error
        return None

    async def _update(self, pattern: ResourcePattern, change: Callable[[Entries], Entries]) -> None:
        """Change a resource's ACLs as they are in ZooKeeper, again if somebody was faster."""
        place = to_znode_pattern(pattern)
        for _ in range(_MAX_UPDATE_RETRIES + 1):
            found, version = await self._zk.get_versioned_acls_for_resource(place)
            before = frozenset(from_znode_entries(found))
            after = change(before)
            if after == before:
                self._cache.update(pattern, after)
                return
            if await self._write(place, after, version):
                log.info("updated ACLs of {pattern}", pattern=pattern)
                self._cache.update(pattern, after)
                await self._zk.create_acl_change_notification(place)
                return
            await self._time.sleep_ms(_RETRY_BACKOFF_MS)
        raise UnknownServerError(
            f"Failed to update ACLs for {pattern} after trying a maximum of "
            f"{_MAX_UPDATE_RETRIES} times"
        )

    async def _write(self, place: znodes.ResourcePattern, acls: Entries, version: int) -> bool:
        if not acls:
            return await self._zk.conditional_delete(place, version)
        entries = to_znode_entries(acls)
        if version == UNKNOWN_VERSION:
            return await self._zk.create_acls_for_resource_if_not_exists(place, entries) is not None
        written = await self._zk.conditional_set_acls_for_resource(place, entries, version)
        return written is not None

    # --- the cache

    async def start(self) -> None:
        """Read all ACLs; listen first, so that no change falls in between."""
        await self._zk.create_acl_paths()
        for listener in self._listeners:
            listener.init()
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            for type_name in await self._zk.get_resource_types(pattern_type.name):
                await self._load(pattern_type, type_name)

    def close(self) -> None:
        """Hear no more of changes."""
        for listener in self._listeners:
            listener.close()

    async def _load(self, pattern_type: PatternType, type_name: str) -> None:
        resource_type = RESOURCE_TYPES.get(type_name)
        if resource_type is None:
            log.warn("Ignoring unknown ResourceType: {name}", name=type_name)
            return
        names = await self._zk.get_resource_names(pattern_type.name, type_name)
        await gather(
            [self._read(ResourcePattern(resource_type, name, pattern_type)) for name in names]
        )

    async def _read(self, pattern: ResourcePattern) -> None:
        found, _ = await self._zk.get_versioned_acls_for_resource(to_znode_pattern(pattern))
        self._cache.update(pattern, from_znode_entries(found))

    async def _literal_changed(self, data: bytes) -> None:
        await self._changed(AclChangeZNode.decode(data))

    async def _other_changed(self, data: bytes) -> None:
        await self._changed(ExtendedAclChangeZNode.decode(data))

    async def _changed(self, place: znodes.ResourcePattern) -> None:
        pattern = from_znode_pattern(place)
        if pattern is not None:
            await self._read(pattern)


def super_users(text: str) -> frozenset[str]:
    """Read `super.users`: principals, separated by semicolons."""
    try:
        return frozenset(
            str(KafkaPrincipal.parse(user.strip())) for user in text.split(";") if user.strip()
        )
    except ValueError as error:
        raise ConfigError(f"{SUPER_USERS}: {error}") from None


def _without(
    filters: Sequence[tuple[int, AclBindingFilter]],
    gone: dict[AccessControlEntry, int],
    now: Entries,
) -> Entries:
    """Take out what matches, and note in `gone` by which filter; a repeated try begins anew."""
    gone.clear()
    for entry in now:
        for number, one in filters:
            if one.matches_entry(entry):
                gone[entry] = number
                break
    return now - gone.keys()


def _tell_denied(
    context: AuthorizableRequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
    resource: str,
) -> None:
    audit.info(
        "Principal = {principal} is Denied Operation = {operation} from host = {host} on resource "
        "= {type}:{resource} for request = {request} with resourceRefCount = 1",
        principal=context.principal,
        operation=camel_case(operation.name),
        host=context.client_host,
        type=camel_case(resource_type.name),
        resource=resource,
        request=context.request_name,
    )
