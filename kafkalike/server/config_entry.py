"""Configuration as it is described: each value with its source and what it would else be.

Part of Kafka's `ConfigHelper`, decisions only.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kafkalike.config.api_version import api_version
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.definition import ConfigKey
from kafkalike.config.topic_config import TopicConfig
from kafkalike.config.value_types import ConfigType, format_value
from kafkalike.server.config_resource import ConfigSource
from kafkalike.server.dynamic_broker_config import (
    broker_config_synonyms,
    declaration,
    is_read_only,
)


class ConfigSynonym(NamedTuple):
    """A key that gives a value, and where it is set; the first of several counts."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One configuration of a topic or broker."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    type: ConfigType
    synonyms: tuple[ConfigSynonym, ...]
    documentation: str | None


class ConfigSources(NamedTuple):
    """The properties of a broker by where they are set."""

    dynamic_broker: Mapping[str, str]
    dynamic_default: Mapping[str, str]
    static_broker: Mapping[str, str]

    def synonyms(self, name: str, *, is_sensitive: bool) -> tuple[ConfigSynonym, ...]:
        """List what gives a key its value; empty if only a lesser synonym is set (as in Kafka)."""
        by_precedence = (
            (self.dynamic_broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
            (self.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self.static_broker, ConfigSource.STATIC_BROKER_CONFIG),
            (_DEFAULTS, ConfigSource.DEFAULT_CONFIG),
        )
        names = broker_config_synonyms(name, match_listener_override=True)
        found = [
            ConfigSynonym(synonym, None if is_sensitive else properties[synonym], source)
            for properties, source in by_precedence
            for synonym in names
            if synonym in properties
        ]
        first = next((i for i, synonym in enumerate(found) if synonym.name == name), len(found))
        return tuple(found[first:])


_DEFAULTS: Final[Mapping[str, str]] = {
    name: text
    for name, key in BrokerConfig.KEYS.items()
    if (text := format_value(key.default)) is not None
}


def broker_entries(
    config: BrokerConfig, sources: ConfigSources, *, include_internal: bool
) -> Iterable[ConfigEntry]:
    """Describe a broker: all keys, and what else was given.

    Kafka shows internal keys only of a configuration that was dynamically updated.
    """
    values: dict[str, Any] = dict(config.originals)
    values.update(
        (name, config.value(name))
        for name, key in config.KEYS.items()
        if include_internal or not key.internal
    )
    for name, value in values.items():
        yield _broker_entry(name, value, sources, ConfigSource.DYNAMIC_BROKER_CONFIG)


def broker_default_entries(sources: ConfigSources) -> Iterable[ConfigEntry]:
    """Describe what was set dynamically for all brokers."""
    for name, value in sources.dynamic_default.items():
        yield _broker_entry(name, value, sources, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)


def topic_entries(
    config: BrokerConfig, overrides: Mapping[str, str], sources: ConfigSources
) -> Iterable[ConfigEntry]:
    """Describe a topic: every key, overridden or following the broker."""
    topic_config = TopicConfig.merge(config, overrides)
    for name, key in TopicConfig.KEYS.items():
        value = format_value(topic_config.value(name))
        if name == "message.format.version" and name not in overrides and value is not None:
            value = api_version(value).version  # a broker's 2.7 means 2.7-IV2 to its topics
        yield _topic_entry(key, value, overrides, sources)


def _topic_entry(
    key: ConfigKey, value: str | None, overrides: Mapping[str, str], sources: ConfigSources
) -> ConfigEntry:
    synonyms: tuple[ConfigSynonym, ...] = ()
    if key.server_default is not None:
        synonyms = sources.synonyms(key.server_default, is_sensitive=False)
    if key.name in overrides:
        synonyms = (ConfigSynonym(key.name, value, ConfigSource.TOPIC_CONFIG), *synonyms)
    return ConfigEntry(
        key.name, value, _source(synonyms), False, False, key.type, synonyms, key.doc
    )


def _broker_entry(
    name: str, value: Any, sources: ConfigSources, highest: ConfigSource
) -> ConfigEntry:
    key = declaration(name)
    # What nobody declared may be somebody's secret.
    is_sensitive = key is None or key.type is ConfigType.PASSWORD
    synonyms = sources.synonyms(name, is_sensitive=is_sensitive)
    if highest is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG:
        synonyms = tuple(synonym for synonym in synonyms if synonym.source is highest)
    return ConfigEntry(
        name,
        None if is_sensitive else format_value(value),
        _source(synonyms),
        is_read_only(name),
        is_sensitive,
        ConfigType.UNKNOWN if key is None else key.type,
        synonyms,
        BrokerConfig.KEYS[name].doc if name in BrokerConfig.KEYS else None,
    )


def _source(synonyms: tuple[ConfigSynonym, ...]) -> ConfigSource:
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
