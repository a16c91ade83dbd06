"""ACLs, users, quotas and delegation tokens."""

from collections.abc import Iterable, Mapping
from hashlib import pbkdf2_hmac
from secrets import token_bytes
from typing import Any

from kafkalike.client.admin.admin_base import AdminBase, as_dict, check, to_error
from kafkalike.client.admin.values import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
)
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from kafkalike.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalike.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalike.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from kafkalike.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalike.protocol.messages.describe_acls import DescribeAclsRequest
from kafkalike.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafkalike.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafkalike.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkalike.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkalike.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest

_HASHES = {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}
_SALT_BYTES = 16
_EXACT, _DEFAULT, _ANY = 0, 1, 2

Entity = Mapping[str, str | None]
"""{"user": name, "client-id": name}; None means the default of that kind."""


class SecurityAdmin(AdminBase):
    """What can be done with permissions, users, quotas and tokens."""

    async def create_acls(self, acls: Iterable[ACL]) -> dict[str, list[Any]]:
        """Create ACLs; returns those that `succeeded` and the errors of those that `failed`."""
        given = list(acls)
        request = CreateAclsRequest(
            creations=[
                AclCreation(
                    resource_type=int(acl.resource_pattern.resource_type),
                    resource_name=acl.resource_pattern.resource_name or "",
                    resource_pattern_type=int(acl.resource_pattern.pattern_type),
                    principal=acl.principal or "",
                    host=acl.host or "*",
                    operation=int(acl.operation),
                    permission_type=int(acl.permission_type),
                )
                for acl in given
            ]
        )
        answer = await self.ask_any(request)
        done: dict[str, list[Any]] = {"succeeded": [], "failed": []}
        for acl, result in zip(given, answer.results, strict=True):
            if result.error_code == ErrorCode.NONE:
                done["succeeded"].append(acl)
            else:
                error = to_error(result.error_code, "creating an ACL", result.error_message)
                done["failed"].append(error)
        return done

    async def describe_acls(self, acl_filter: ACLFilter) -> list[ACL]:
        """Return the ACLs that match."""
        answer = await self.ask_any(DescribeAclsRequest(**_filter(acl_filter)))
        check(answer.error_code, "describing ACLs", answer.error_message)
        return [_acl(resource, acl) for resource in answer.resources for acl in resource.acls]

    async def delete_acls(self, acl_filters: Iterable[ACLFilter]) -> list[list[ACL]]:
        """Delete the ACLs that match; returns, for each filter, those that are gone."""
        given = list(acl_filters)
        request = DeleteAclsRequest(filters=[DeleteAclsFilter(**_filter(f)) for f in given])
        answer = await self.ask_any(request)
        found: list[list[ACL]] = []
        for result in answer.filter_results:
            check(result.error_code, "deleting ACLs", result.error_message)
            found.append([_acl(acl, acl) for acl in result.matching_acls])
        return found

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """Return mechanism and iterations of the credentials of users (of all by default)."""
        named = None if users is None else [UserName(name=user) for user in users]
        answer = await self.ask_any(DescribeUserScramCredentialsRequest(users=named))
        check(answer.error_code, "describing users", answer.error_message)
        found: dict[str, list[dict[str, Any]]] = {}
        for result in answer.results:
            check(result.error_code, f"describing user {result.user}", result.error_message)
            found[result.user] = [
                {
                    "mechanism": ScramMechanism(info.mechanism).name.replace("_", "-"),
                    "iterations": info.iterations,
                }
                for info in result.credential_infos
            ]
        return found

    async def upsert_user_scram_credentials(
        self,
        user: str,
        password: str,
        mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256,
        iterations: int = 4096,
    ) -> None:
        """Set the password of a user; only what it was stretched to goes to the broker."""
        salt = token_bytes(_SALT_BYTES)
        stretched = pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations)
        upsertion = ScramCredentialUpsertion(
            name=user,
            mechanism=int(mechanism),
            iterations=iterations,
            salt=salt,
            salted_password=stretched,
        )
        await self._alter_users(AlterUserScramCredentialsRequest(upsertions=[upsertion]))

    async def delete_user_scram_credentials(
        self, user: str, mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256
    ) -> None:
        """Delete a user's credential."""
        deletion = ScramCredentialDeletion(name=user, mechanism=int(mechanism))
        await self._alter_users(AlterUserScramCredentialsRequest(deletions=[deletion]))

    async def _alter_users(self, request: AlterUserScramCredentialsRequest) -> None:
        answer = await self.ask_controller(request)
        for result in answer.results:
            check(result.error_code, f"altering user {result.user}", result.error_message)

    async def describe_client_quotas(
        self, components: Mapping[str, str | None] | None = None, strict: bool = False
    ) -> list[dict[str, Any]]:
        """Return quotas: `{"user": name}`, None for the default, "" for any name of that kind."""
        request = DescribeClientQuotasRequest(
            components=[
                ComponentData(entity_type=kind, match_type=_match_type(name), match=name or None)
                for kind, name in (components or {}).items()
            ],
            strict=strict,
        )
        answer = await self.ask_any(request)
        check(answer.error_code, "describing quotas", answer.error_message)
        return [
            {
                "entity": {e.entity_type: e.entity_name for e in entry.entity},
                "values": {value.key: value.value for value in entry.values},
            }
            for entry in answer.entries or ()
        ]

    async def alter_client_quotas(
        self,
        entries: Iterable[tuple[Entity, Mapping[str, float | None]]],
        validate_only: bool = False,
    ) -> None:
        """Set quotas: (entity, {quota: value}), None as value removes it."""
        request = AlterClientQuotasRequest(
            entries=[
                AlterClientQuotasRequestEntryData(
                    entity=[
                        EntityData(entity_type=kind, entity_name=name)
                        for kind, name in entity.items()
                    ],
                    ops=[
                        OpData(key=key, value=value or 0.0, remove=value is None)
                        for key, value in quotas.items()
                    ],
                )
                for entity, quotas in entries
            ],
            validate_only=validate_only,
        )
        answer = await self.ask_any(request)
        for entry in answer.entries:
            who = {e.entity_type: e.entity_name for e in entry.entity}
            check(entry.error_code, f"altering the quotas of {who}", entry.error_message)

    async def create_delegation_token(
        self, renewers: Iterable[tuple[str, str]] = (), max_lifetime_ms: int = -1
    ) -> dict[str, Any]:
        """Create a token for the user of this client; renewers are (type, name)."""
        request = CreateDelegationTokenRequest(
            renewers=[CreatableRenewers(principal_type=t, principal_name=n) for t, n in renewers],
            max_lifetime_ms=max_lifetime_ms,
        )
        answer = await self.ask_any(request)
        check(answer.error_code, "creating a delegation token")
        return as_dict(answer)

    async def renew_delegation_token(self, hmac: bytes, renew_period_ms: int = -1) -> int:
        """Let a token live longer; returns when it expires."""
        request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms)
        answer = await self.ask_any(request)
        check(answer.error_code, "renewing a delegation token")
        return int(answer.expiry_timestamp_ms)

    async def expire_delegation_token(self, hmac: bytes, expiry_time_period_ms: int = -1) -> int:
        """Let a token end after a time (-1: now); returns when it expires."""
        request = ExpireDelegationTokenRequest(
            hmac=hmac, expiry_time_period_ms=expiry_time_period_ms
        )
        answer = await self.ask_any(request)
        check(answer.error_code, "expiring a delegation token")
        return int(answer.expiry_timestamp_ms)

    async def describe_delegation_token(
        self, owners: Iterable[tuple[str, str]] | None = None
    ) -> list[dict[str, Any]]:
        """Return the tokens of owners, each (type, name); of all by default."""
        named = None
        if owners is not None:
            named = [
                DescribeDelegationTokenOwner(principal_type=t, principal_name=n) for t, n in owners
            ]
        answer = await self.ask_any(DescribeDelegationTokenRequest(owners=named))
        check(answer.error_code, "describing delegation tokens")
        return [as_dict(token) for token in answer.tokens]


def _filter(given: ACLFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": int(given.resource_pattern.resource_type),
        "resource_name_filter": given.resource_pattern.resource_name,
        "pattern_type_filter": int(given.resource_pattern.pattern_type),
        "principal_filter": given.principal,
        "host_filter": given.host,
        "operation": int(given.operation),
        "permission_type": int(given.permission_type),
    }


def _acl(resource: Any, acl: Any) -> ACL:
    return ACL(
        acl.principal,
        acl.host,
        ACLOperation(acl.operation),
        ACLPermissionType(acl.permission_type),
        ResourcePattern(
            ResourceType(resource.resource_type),
            resource.resource_name,
            ACLResourcePatternType(resource.pattern_type),
        ),
    )


def _match_type(name: str | None) -> int:
    if name is None:
        return _DEFAULT
    return _EXACT if name else _ANY
