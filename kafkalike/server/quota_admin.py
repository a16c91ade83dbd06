"""Client quotas described and altered: what of Kafka's `ZkAdminManager` is about quotas."""

from collections.abc import Awaitable, Collection, Mapping, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple

from twisted.logger import Logger

from kafkalike.protocol.errors import InvalidRequestError, KafkaError, UnsupportedVersionError
from kafkalike.quota.client_quotas import DEFAULT
from kafkalike.quota.quota_type import CONNECTION_RATE, WHOLE_NUMBERS, QuotaType
from kafkalike.server.api_error import NO_ERROR, UNKNOWN_ERROR, ApiError
from kafkalike.utils.gather import gather
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import ZkError
from kafkalike.zk.znodes.configs import ConfigType
from kafkalike.zk.znodes.sanitizer import desanitize, sanitize

log = Logger()

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
_NAMES: Final = {USER: "user", CLIENT_ID: "client", IP: "ip"}
_CLIENT_KEYS: Final = frozenset(map(str, QuotaType))
_EPSILON: Final = 1e-6

Entity = tuple[tuple[str, str | None], ...]
"""(type, name) pairs; a name of None is the default of its type."""


class Wanted(NamedTuple):
    """Which entities of a type are meant: of this name, the default (None), or any."""

    is_any: bool
    name: str | None = None

    def matches(self, name: str | None) -> bool:
        """Whether an entity of this name is meant."""
        return self.is_any or name == self.name


class QuotaAdmin:
    """Carries out DescribeClientQuotas and AlterClientQuotas."""

    def __init__(self, zk: KafkaZkClient) -> None:
        self._zk = zk

    # --- describe

    async def describe(
        self, components: Sequence[tuple[str, Wanted]], *, is_strict: bool
    ) -> dict[Entity, dict[str, float]]:
        """Give the quotas of the entities that match; strictly: that have no other types."""
        wanted = _checked(components)
        found: dict[Entity, dict[str, float]] = {}
        if IP not in wanted:
            found = {
                entity: quotas
                for entity, quotas in (await self._client_quotas()).items()
                if _is_meant(dict(entity), wanted, is_strict=is_strict)
            }
        if IP in wanted or (not wanted and not is_strict):
            for name, quotas in (await self._quotas(ConfigType.IP, {CONNECTION_RATE})).items():
                if IP not in wanted or wanted[IP].matches(_name(name)):
                    found[((IP, _name(name)),)] = quotas
        return found

    async def _client_quotas(self) -> dict[Entity, dict[str, float]]:
        found: dict[Entity, dict[str, float]] = {}
        for user, quotas in (await self._quotas(ConfigType.USER, _CLIENT_KEYS)).items():
            found[((USER, _name(user)),)] = quotas
        for client, quotas in (await self._quotas(ConfigType.CLIENT, _CLIENT_KEYS)).items():
            found[((CLIENT_ID, _name(client)),)] = quotas
        for user in await self._zk.get_all_entities_with_config(ConfigType.USER):
            below = f"{ConfigType.USER}/{user}/{ConfigType.CLIENT}"
            for client, quotas in (await self._quotas(below, _CLIENT_KEYS)).items():
                found[((USER, _name(user)), (CLIENT_ID, _name(client)))] = quotas
        return found

    async def _quotas(self, entity_type: str, keys: Collection[str]) -> dict[str, dict[str, float]]:
        names = await self._zk.get_all_entities_with_config(entity_type)
        configs = await gather([self._zk.get_entity_configs(entity_type, n) for n in names])
        found = {}
        for name, config in zip(names, configs, strict=True):
            quotas = {key: float(text) for key, text in config.items() if key in keys}
            if quotas:
                found[name] = quotas
        return found

    # --- alter

    async def alter(
        self,
        entries: Sequence[tuple[Entity, Mapping[str, float | None]]],
        *,
        validate_only: bool,
    ) -> list[ApiError]:
        """Set quotas of entities, or take them away (None)."""
        return [
            await _outcome(self._alter(dict(entity), changes, validate_only=validate_only))
            for entity, changes in entries
        ]

    async def _alter(
        self,
        entity: Mapping[str, str | None],
        changes: Mapping[str, float | None],
        *,
        validate_only: bool,
    ) -> None:
        entity_type, path = _place(entity)
        keys = {CONNECTION_RATE} if entity_type is ConfigType.IP else _CLIENT_KEYS
        configs = await self._zk.get_entity_configs(entity_type, path)
        for key, value in changes.items():
            if value is None:
                configs.pop(key, None)
            elif key not in keys:
                raise InvalidRequestError(f"Invalid configuration key {key}")
            else:
                configs[key] = _text(key, value)
        if validate_only:
            return
        log.info("altering quotas of {entity}: {changes}", entity=dict(entity), changes=changes)
        await self._zk.set_or_create_entity_configs(entity_type, path, configs)
        await self._zk.create_config_change_notification(f"{entity_type}/{path}")


def _checked(components: Sequence[tuple[str, Wanted]]) -> dict[str, Wanted]:
    wanted: dict[str, Wanted] = {}
    for entity_type, one in components:
        if not entity_type:
            raise InvalidRequestError("Unexpected empty filter component entity type")
        if entity_type not in _NAMES:
            raise UnsupportedVersionError(f"Custom entity type '{entity_type}' not supported")
        if entity_type in wanted:
            raise InvalidRequestError(
                f"Duplicate {_NAMES[entity_type]} filter component entity type"
            )
        wanted[entity_type] = one
    if IP in wanted and len(wanted) > 1:
        raise InvalidRequestError(
            "Invalid entity filter component combination, IP filter component should not be used "
            "with user or clientId filter component."
        )
    return wanted


def _is_meant(
    entity: Mapping[str, str | None], wanted: Mapping[str, Wanted], *, is_strict: bool
) -> bool:
    for entity_type in (USER, CLIENT_ID):
        one = wanted.get(entity_type)
        if one is None:
            if is_strict and entity_type in entity:
                return False
        elif entity_type not in entity or not one.matches(entity[entity_type]):
            return False
    return True


def _place(entity: Mapping[str, str | None]) -> tuple[ConfigType, str]:
    """Say where an entity's quotas are: below which kind, by which path."""
    if not entity:
        raise InvalidRequestError("Invalid empty client quota entity")
    for entity_type, name in entity.items():
        if entity_type not in _NAMES:
            raise InvalidRequestError(f"Unhandled client quota entity type: {entity_type}")
        if name == "":
            raise InvalidRequestError(f"Empty {entity_type} not supported")
    names = {kind: DEFAULT if name is None else sanitize(name) for kind, name in entity.items()}
    if IP in names:
        if len(names) > 1:
            raise InvalidRequestError(
                "Invalid quota entity combination, IP entity should not be used with user/client ID"
                " entity."
            )
        return ConfigType.IP, _checked_ip(entity[IP])
    if USER not in names:
        return ConfigType.CLIENT, names[CLIENT_ID]
    if CLIENT_ID not in names:
        return ConfigType.USER, names[USER]
    return ConfigType.USER, f"{names[USER]}/{ConfigType.CLIENT}/{names[CLIENT_ID]}"


def _checked_ip(name: str | None) -> str:
    if name is None:
        return DEFAULT
    try:
        ip_address(name)
    except ValueError:
        raise InvalidRequestError(f"{name} is not a valid IP or resolvable host.") from None
    return name


def _text(key: str, value: float) -> str:
    if key not in WHOLE_NUMBERS:
        return repr(float(value))
    whole = int(value + _EPSILON)
    if abs(whole - value) > _EPSILON:
        kind = "INT" if key == CONNECTION_RATE else "LONG"
        raise InvalidRequestError(f"Configuration {key} must be a {kind} value")
    return str(whole)


def _name(sanitized: str) -> str | None:
    return None if sanitized == DEFAULT else desanitize(sanitized)


async def _outcome(attempt: Awaitable[None]) -> ApiError:
    try:
        await attempt
    except KafkaError as error:
        return ApiError.of(error)
    except ZkError as error:
        log.error("quotas could not be altered: {error}", error=error)
        return UNKNOWN_ERROR
    return NO_ERROR
