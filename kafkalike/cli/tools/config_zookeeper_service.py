"""What `kafka-configs --zookeeper` does on the znodes (`ConfigCommand.processCommandWithZk`)."""

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from kafkalike.cli.tools.config_changes import ConfigChanges, parse_credential
from kafkalike.cli.tools.config_entity import BROKERS, CLIENTS, USERS, Entities
from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.listing import show
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.cli.tools.support.zookeeper import change_configs, with_zookeeper
from kafkalike.protocol.errors import InvalidConfigurationError
from kafkalike.security.sasl import scram
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.znodes.sanitizer import desanitize, sanitize

_DEFAULT: Final = "<default>"
_SHOWN_TYPES: Final = {USERS: "user-principal", CLIENTS: "client-id", "topics": "topic"}
_ANYTIME: Final = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)


class Entity(NamedTuple):
    """One entity: its type and its name in paths; no name means all of the type."""

    kind: str
    name: str | None

    def __str__(self) -> str:
        shown = _SHOWN_TYPES.get(self.kind, self.kind)
        if self.name is None:
            return self.kind
        if self.name == _DEFAULT:
            return f"default {shown}"
        is_sanitized = self.kind in (USERS, CLIENTS)
        return f"{shown} '{desanitize(self.name) if is_sanitized else self.name}'"


class ConfigEntity(NamedTuple):
    """An entity, or a client of a user."""

    root: Entity
    child: Entity | None

    def __str__(self) -> str:
        return str(self.root) if self.child is None else f"{self.root}, {self.child}"

    @property
    def sanitized_name(self) -> str:
        """The name below the znode of the root's type."""
        if self.child is None:
            return self.root.name or ""
        return f"{self.root.name}/{self.child.kind}/{self.child.name}"


def entity_of(entities: Entities, *, is_alter: bool) -> ConfigEntity:
    """Return the entity that the options mean; of a user and a client the user comes first."""
    types, names = list(entities.types), list(entities.names)
    if types[0] in (USERS, CLIENTS) and is_alter and len(types) != len(names):
        raise IllegalArgumentError(
            "--entity-name or --entity-default must be specified with each --entity-type for "
            "--alter"
        )
    if len(types) == 2 and types[0] == CLIENTS:
        types.reverse()
        if len(names) == 2:
            names.reverse()
    found = [
        Entity(kind, _sanitized(kind, names[number]) if number < len(names) else None)
        for number, kind in enumerate(types)
    ]
    return ConfigEntity(found[0], found[1] if len(found) > 1 else None)


def _sanitized(kind: str, name: str) -> str:
    if not name:
        return _DEFAULT
    return sanitize(name) if kind in (USERS, CLIENTS) else name


def run_through_zookeeper(parsed: Parsed, entities: Entities) -> None:
    """Alter or describe."""
    entity = entity_of(entities, is_alter=parsed.has("alter"))
    changes = ConfigChanges.of(parsed) if parsed.has("alter") else None

    async def work(zk: KafkaZkClient) -> None:
        if changes is None:
            await _describe(zk, parsed, entity)
        else:
            await _alter(zk, entity, changes)

    with_zookeeper(parsed.value("zookeeper"), work, parsed.value("zk-tls-config-file"))


async def _alter(zk: KafkaZkClient, entity: ConfigEntity, changes: ConfigChanges) -> None:
    kind, name = entity.root.kind, entity.sanitized_name
    if kind == BROKERS:
        await _check_broker(zk, name, changes)
    old = await zk.get_entity_configs(kind, name)
    missing = [key for key in changes.deleted if key not in old]
    if missing:
        raise InvalidConfigurationError(f"Invalid config(s): {','.join(missing)}")
    added = dict(changes.added)
    if kind == USERS:
        added = {key: _credential(key, value) for key, value in added.items()}
    await change_configs(zk, kind, name, added, changes.deleted)
    print_line(f"Completed updating config for entity: {entity}.")


def _credential(key: str, value: str) -> str:
    """Stretch the password that a SCRAM credential is made of: so brokers get theirs at first."""
    mechanism = scram.MECHANISMS.get(key)
    if mechanism is None:
        return value
    iterations, password = parse_credential(key, value)
    credential = scram.generate_credential(mechanism, password, iterations)
    return scram.format_credential(credential)


async def _check_broker(zk: KafkaZkClient, name: str, changes: ConfigChanges) -> None:
    """Refuse what only the broker itself can check, while it runs."""
    dynamic = [key for key in changes.added if key not in _ANYTIME]
    if not dynamic:
        return
    running = await zk.get_sorted_broker_list()
    words = (
        "requirement failed: --bootstrap-server option must be specified to update broker configs "
        f"Set({', '.join(dynamic)})."
    )
    info = (
        "Broker configuration updates using ZooKeeper are supported for bootstrapping before "
        "brokers are started to enable encrypted password configs to be stored in ZooKeeper."
    )
    if name == _DEFAULT and running:
        raise IllegalArgumentError(f"{words} for default cluster if any broker is running. {info}")
    if name != _DEFAULT and int(name) in running:
        raise IllegalArgumentError(f"{words} when broker {name} is running. {info}")


async def _describe(zk: KafkaZkClient, parsed: Parsed, entity: ConfigEntity) -> None:
    is_all_users = entity.root == (USERS, None) and entity.child is None
    found = []
    async for one in _all(zk, entity):
        configs = await zk.get_entity_configs(one.root.kind, one.sanitized_name)
        if configs or not is_all_users:
            found.append((one, configs))
    rows = [{"entity": str(one), "configs": configs} for one, configs in found]
    show(
        parsed,
        rows,
        lambda: (
            f"Configs for {one} are {','.join(f'{k}={v}' for k, v in configs.items())}"
            for one, configs in found
        ),
    )


async def _all(zk: KafkaZkClient, entity: ConfigEntity) -> AsyncIterator[ConfigEntity]:
    """Yield the entities that are meant: where no name is given, all that have configs."""
    root, child = entity
    names = [root.name]
    if root.name is None:
        names = list(await zk.get_all_entities_with_config(root.kind))
    for name in names:
        if child is None or child.name is not None:
            yield ConfigEntity(Entity(root.kind, name), child)
            continue
        path = f"{root.kind}/{name}/{child.kind}"
        for of_child in await zk.get_all_entities_with_config(path):
            yield ConfigEntity(Entity(root.kind, name), Entity(child.kind, of_child))
