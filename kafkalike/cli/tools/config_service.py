"""What `kafka-configs` does through brokers (Kafka's `ConfigCommand.processCommand`)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kafkalike.cli.tools.config_changes import ConfigChanges
from kafkalike.cli.tools.config_entity import (
    BROKER_LOGGERS,
    BROKERS,
    IPS,
    TOPICS,
    Entities,
)
from kafkalike.cli.tools.config_users import alter_ip, alter_user, describe_quotas, describe_scram
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.listing import output_format, print_json, print_lines, table
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import AlterConfigOp, ConfigResource, ConfigResourceType
from kafkalike.model.topic import why_invalid
from kafkalike.protocol.errors import InvalidConfigurationError, InvalidTopicError

_RESOURCE_TYPES: Final = {
    TOPICS: ConfigResourceType.TOPIC,
    BROKERS: ConfigResourceType.BROKER,
    BROKER_LOGGERS: ConfigResourceType.BROKER_LOGGER,
}

Entry = dict[str, Any]
Configs = dict[str, Entry]


def run_through_brokers(parsed: Parsed, entities: Entities) -> None:
    """Alter or describe."""
    if parsed.has("alter") and len(entities.types) != len(entities.names):
        raise IllegalArgumentError("An entity name must be specified for every entity type")
    settings = client_settings(parsed)
    if parsed.has("alter"):
        changes = ConfigChanges.of(parsed)
        with_admin(settings, lambda admin: _alter(admin, entities, changes))
    else:
        with_admin(settings, lambda admin: _describe(admin, parsed, entities))


async def _alter(admin: Admin, entities: Entities, changes: ConfigChanges) -> None:
    kind, name = entities.types[0], entities.names[0]
    if kind == TOPICS:
        await _alter_topic(admin, name, changes)
    elif kind == BROKERS:
        await _alter_broker(admin, name, changes)
    elif kind == BROKER_LOGGERS:
        await _alter_loggers(admin, name, changes)
    elif kind == IPS:
        await alter_ip(admin, entities, changes)
    else:
        await alter_user(admin, entities, changes)
    if name:
        print_line(f"Completed updating config for {kind[:-1]} {name}.")
    else:
        print_line(f"Completed updating default config for {kind} in the cluster.")


async def _alter_topic(admin: Admin, name: str, changes: ConfigChanges) -> None:
    _refuse_missing(changes, await _configs(admin, TOPICS, name, is_all=False))
    await _alter_incrementally(admin, ConfigResourceType.TOPIC, name, changes)


async def _alter_broker(admin: Admin, name: str, changes: ConfigChanges) -> None:
    old = await _configs(admin, BROKERS, name, is_all=False)
    _refuse_missing(changes, old)
    new = {key: entry["value"] for key, entry in old.items()} | changes.added
    new = {key: value for key, value in new.items() if key not in changes.deleted}
    unknown = [key for key, value in new.items() if value is None]
    if unknown:
        raise InvalidConfigurationError(
            "All sensitive broker config entries must be specified for --alter, missing entries: "
            f"Set({', '.join(unknown)})"
        )
    resource = ConfigResource(ConfigResourceType.BROKER, name, new)
    await admin.alter_configs([resource], incremental=False)


async def _alter_loggers(admin: Admin, name: str, changes: ConfigChanges) -> None:
    loggers = await _configs(admin, BROKER_LOGGERS, name, is_all=False)
    unknown = [key for key in (*changes.deleted, *changes.added) if key not in loggers]
    if unknown:
        raise InvalidConfigurationError(f"Invalid broker logger(s): {','.join(unknown)}")
    await _alter_incrementally(admin, ConfigResourceType.BROKER_LOGGER, name, changes)


async def _alter_incrementally(
    admin: Admin, kind: ConfigResourceType, name: str, changes: ConfigChanges
) -> None:
    operations: dict[str, tuple[AlterConfigOp, str]] = {
        key: (AlterConfigOp.SET, value) for key, value in changes.added.items()
    }
    operations |= dict.fromkeys(changes.deleted, (AlterConfigOp.DELETE, ""))
    await admin.incremental_alter_configs([ConfigResource(kind, name, operations)])


def _refuse_missing(changes: ConfigChanges, old: Configs) -> None:
    missing = [key for key in changes.deleted if key not in old]
    if missing:
        raise InvalidConfigurationError(f"Invalid config(s): {','.join(missing)}")


async def _describe(admin: Admin, parsed: Parsed, entities: Entities) -> None:
    kind = entities.types[0]
    if kind in _RESOURCE_TYPES:
        await _describe_resources(admin, parsed, kind, entities.names[:1])
        return
    rows = await describe_quotas(admin, entities)
    if kind != IPS:
        rows += await describe_scram(admin, entities)
    shape = output_format(parsed)
    if shape == "json":
        print_json([row.document() for row in rows])
    else:
        print_lines(row.line() for row in rows)


async def _describe_resources(admin: Admin, parsed: Parsed, kind: str, names: list[str]) -> None:
    is_all, shape = parsed.has("all"), output_format(parsed)
    documents = []
    for name in names or await _all_names(admin, kind):
        if shape != "json":
            # Before the broker is asked, as Kafka does: an error comes below it.
            print_line(_heading(kind, name, is_all))
        configs = await _configs(admin, kind, name, is_all=is_all)
        documents += [_document(kind, name, key, entry) for key, entry in configs.items()]
        if shape == "table":
            print_lines(table([_row(key, entry) for key, entry in configs.items()]))
        elif shape == "text":
            print_lines(_lines(configs.items()))
    if shape == "json":
        print_json(documents)


def _heading(kind: str, name: str, is_all: bool) -> str:
    if not name:
        return f"Default configs for {kind} in the cluster are:"
    return f"{'All' if is_all else 'Dynamic'} configs for {kind[:-1]} {name} are:"


def _lines(configs: Iterable[tuple[str, Entry]]) -> Iterator[str]:
    for key, entry in configs:
        synonyms = ", ".join(
            f"{synonym['source']}:{synonym['name']}={_shown(synonym['value'])}"
            for synonym in entry["synonyms"]
        )
        is_sensitive = "true" if entry["is_sensitive"] else "false"
        yield f"  {key}={_shown(entry['value'])} sensitive={is_sensitive} synonyms={{{synonyms}}}"


def _row(key: str, entry: Entry) -> Entry:
    return {"config": key, "value": entry["value"], "source": entry["config_source"]}


def _document(kind: str, name: str, key: str, entry: Entry) -> Entry:
    return {
        "entity_type": kind,
        "entity_name": name,
        "name": key,
        "value": entry["value"],
        "source": entry["config_source"],
        "is_sensitive": entry["is_sensitive"],
        "synonyms": entry["synonyms"],
    }


def _shown(value: str | None) -> str:
    return "null" if value is None else value


async def _all_names(admin: Admin, kind: str) -> list[str]:
    if kind == TOPICS:
        return sorted(await admin.list_topics())
    return [*map(str, await admin.broker_ids()), ""]


async def _configs(admin: Admin, kind: str, name: str, *, is_all: bool) -> Configs:
    """Return the configs of a topic or broker: those set for itself, or all."""
    problem = why_invalid(name) if kind == TOPICS and name else None
    if problem is not None:
        raise InvalidTopicError(problem)
    resource = ConfigResource(_RESOURCE_TYPES[kind], name)
    found = await admin.describe_configs([resource], include_synonyms=True)
    configs: Configs = next(iter(found.values()))[name]
    source = _own_source(kind, name)
    if is_all or source is None:
        return configs
    return {key: entry for key, entry in configs.items() if entry["config_source"] == source}


def _own_source(kind: str, name: str) -> str | None:
    if kind == TOPICS:
        return "DYNAMIC_TOPIC_CONFIG"
    if kind == BROKERS:
        return "DYNAMIC_BROKER_CONFIG" if name else "DYNAMIC_DEFAULT_BROKER_CONFIG"
    return None
