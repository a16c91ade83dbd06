"""Quotas and SCRAM credentials: the half of `kafka-configs` that is about who connects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from kafkalike.cli.tools.config_changes import (
    IP_QUOTAS,
    MECHANISMS,
    QUOTAS,
    ConfigChanges,
    parse_credential,
    parse_quota,
)
from kafkalike.cli.tools.config_entity import CLIENTS, IPS, USERS, Entities
from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.java_names import java_class, message_of
from kafkalike.cli.tools.support.java_values import java_double
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import ScramMechanism
from kafkalike.protocol.errors import InvalidConfigurationError, KafkaError

_ENTITY_TYPES: Final = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}
_SHOWN_TYPES: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of the description: quotas or credentials of one entity."""

    what: str
    entity: Mapping[str, str | None]
    values: Mapping[str, Any]

    def line(self) -> str:
        """Write it as Kafka does."""
        values = ", ".join(f"{key}={_text(value)}" for key, value in self.values.items())
        return f"{self.what} configs for {', '.join(self._names())} are {values}"

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"what": self.what, "entity": dict(self.entity), "configs": dict(self.values)}

    def _names(self) -> Iterator[str]:
        for kind, shown in _SHOWN_TYPES.items():
            if kind in self.entity:
                name = self.entity[kind]
                yield f"the default {shown}" if name is None else f"{shown} '{name}'"


class Failed(Shown):
    """Credentials that could not be read."""

    def line(self) -> str:
        """Write it as Kafka does."""
        return f"Error retrieving SCRAM credential configs for {self.what}"


def _text(value: Any) -> str:
    return java_double(value) if isinstance(value, float) else str(value)


async def describe_quotas(admin: Admin, entities: Entities) -> list[Shown]:
    """Return the quotas of the entities that are meant."""
    found = await _quotas(admin, entities)
    return [Shown("Quota", entry["entity"], entry["values"]) for entry in found]


async def describe_scram(admin: Admin, entities: Entities) -> list[Shown]:
    """Return the credentials of users, unless clients or the default user are meant."""
    if CLIENTS in entities.types or entities.has_default:
        return []
    shown: list[Shown] = []
    for user in entities.names or sorted(await _users(admin)):
        try:
            infos = (await admin.describe_user_scram_credentials([user])).get(user, [])
        except KafkaError as error:
            if entities.names and error.code.name == "RESOURCE_NOT_FOUND":
                continue  # Kafka lists only users that have credentials.
            name = java_class(error).rpartition(".")[2]
            shown.append(Failed(f"user-principal '{user}': {name}: {message_of(error)}", {}, {}))
            continue
        values = {info["mechanism"]: f"iterations={info['iterations']}" for info in infos}
        shown.append(Shown("SCRAM credential", {"user": user}, values))
    return shown


async def _users(admin: Admin) -> list[str]:
    return list(await admin.describe_user_scram_credentials(None))


async def alter_ip(admin: Admin, entities: Entities, changes: ConfigChanges) -> None:
    """Set the connection quota of an address."""
    unknown = [key for key in (*changes.added, *changes.deleted) if key not in IP_QUOTAS]
    if unknown:
        raise IllegalArgumentError(
            f"Only connection quota configs can be added for '{IPS}' using --bootstrap-server. "
            f"Unexpected config names: {','.join(unknown)}"
        )
    await _alter_quotas(admin, entities, changes)


async def alter_user(admin: Admin, entities: Entities, changes: ConfigChanges) -> None:
    """Set quotas of users and clients, or credentials of a user."""
    _check_user_changes(entities, changes)
    if any(key in QUOTAS for key in (*changes.added, *changes.deleted)):
        await _alter_quotas(admin, entities, changes)
    else:
        await _alter_credentials(admin, entities.names[0], changes)


def _check_user_changes(entities: Entities, changes: ConfigChanges) -> None:
    is_client = entities.types[0] == CLIENTS or len(entities.types) == 2
    for verb, names in (("added", list(changes.added)), ("deleted", changes.deleted)):
        allowed = QUOTAS if is_client else QUOTAS | set(MECHANISMS)
        unknown = [name for name in names if name not in allowed]
        if unknown:
            kinds = "quota" if is_client else "quota and SCRAM credential"
            raise IllegalArgumentError(
                f"Only {kinds} configs can be {verb} for '{CLIENTS if is_client else USERS}' "
                f"using --bootstrap-server. Unexpected config names: List({', '.join(unknown)})"
            )
    changed = {*changes.added, *changes.deleted}
    if changed & set(MECHANISMS):
        if entities.has_default:
            raise IllegalArgumentError(
                "The use of --entity-default or --user-defaults is not allowed with User SCRAM "
                "Credentials using --bootstrap-server."
            )
        if changed & QUOTAS:
            raise IllegalArgumentError(
                "Cannot alter both quota and SCRAM credential configs simultaneously for "
                f"'{USERS}' using --bootstrap-server."
            )


async def _alter_credentials(admin: Admin, user: str, changes: ConfigChanges) -> None:
    wanted = {name: parse_credential(name, text) for name, text in changes.added.items()}
    for mechanism in changes.deleted:
        await admin.delete_user_scram_credentials(user, _mechanism(mechanism))
    for mechanism, (iterations, password) in wanted.items():
        await admin.upsert_user_scram_credentials(user, password, _mechanism(mechanism), iterations)


def _mechanism(name: str) -> ScramMechanism:
    return ScramMechanism[name.replace("-", "_")]


async def _alter_quotas(admin: Admin, entities: Entities, changes: ConfigChanges) -> None:
    old = await _quotas(admin, entities)
    values = old[0]["values"] if old else {}
    missing = [key for key in changes.deleted if key not in values]
    if missing:
        raise InvalidConfigurationError(f"Invalid config(s): {','.join(missing)}")
    new: dict[str, float | None] = {
        key: parse_quota(key, value) for key, value in changes.added.items()
    }
    new |= dict.fromkeys(changes.deleted)
    entity = {
        _ENTITY_TYPES[kind]: name or None
        for kind, name in zip(entities.types, entities.names, strict=True)
    }
    await admin.alter_client_quotas([(entity, new)])


async def _quotas(admin: Admin, entities: Entities) -> list[dict[str, Any]]:
    components: dict[str, str | None] = {}
    for kind, name in zip_longest(entities.types, entities.names):
        if kind is None:
            raise IllegalArgumentError("More entity names specified than entity types")
        # The admin client's words: None is the default entity, an empty name any.
        components[_ENTITY_TYPES[kind]] = "" if name is None else name or None
    return await admin.describe_client_quotas(components, strict=True)
