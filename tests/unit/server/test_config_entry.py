"""Descriptions of configurations, key by key as Apache Kafka 2.8.2 gave them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kafkalike.config.broker.own import OwnKeys
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.server.config_entry import (
    ConfigEntry,
    ConfigSources,
    broker_default_entries,
    broker_entries,
    topic_entries,
)
from kafkalike.server.config_resource import ConfigSource, ResourceType
from kafkalike.server.dynamic_broker_config import override

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/describe_configs.json").read_text())


def _described() -> dict[tuple[int, str], Iterable[ConfigEntry]]:
    static, default, own = (
        GOLDEN[name] for name in ("properties", "dynamic_default", "dynamic_broker")
    )
    config = BrokerConfig.from_properties(override(override(static, default), own))
    sources = ConfigSources(own, default, static)
    return {
        (ResourceType.TOPIC, "tuned"): topic_entries(config, GOLDEN["topic"], sources),
        (ResourceType.TOPIC, "plain"): topic_entries(config, {}, sources),
        (ResourceType.BROKER, "1"): broker_entries(config, sources, include_internal=True),
        (ResourceType.BROKER, ""): broker_default_entries(sources),
    }


def _as_golden(entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.is_read_only,
        "config_source": entry.source,
        "is_sensitive": entry.is_sensitive,
        "config_type": entry.type,
        "synonyms": [list(synonym) for synonym in entry.synonyms],
    }


@pytest.mark.parametrize(
    "result", GOLDEN["results"], ids=lambda r: f"{r['resource_type']}-{r['resource_name']}"
)
def test_resource_is_described_key_by_key_as_by_kafka(result: dict[str, Any]) -> None:
    entries = _described()[(result["resource_type"], result["resource_name"])]
    ours = {entry.name: _as_golden(entry) for entry in entries if entry.name not in OwnKeys.KEYS}
    theirs = {config["name"]: config for config in result["configs"]}
    assert ours.keys() == theirs.keys()
    assert {name: ours[name] for name in ours if ours[name] != theirs[name]} == {}


def test_internal_keys_are_hidden_until_something_was_updated() -> None:
    config = BrokerConfig.from_properties(GOLDEN["properties"])
    sources = ConfigSources({}, {}, GOLDEN["properties"])
    names = {entry.name for entry in broker_entries(config, sources, include_internal=False)}
    assert "process.roles" not in names
    assert "log.dirs" in names


def test_every_entry_of_a_topic_is_documented() -> None:
    config = BrokerConfig.from_properties(GOLDEN["properties"])
    entries = list(topic_entries(config, {}, ConfigSources({}, {}, {})))
    assert all(entry.documentation for entry in entries)


def test_lesser_synonym_alone_is_not_shown_as_the_source() -> None:
    """`log.retention.hours` is set, `log.retention.ms` is not: Kafka calls that a default."""
    sources = ConfigSources({}, {}, {"log.retention.hours": "100"})
    assert sources.synonyms("log.retention.ms", is_sensitive=False) == ()
    (own, default) = sources.synonyms("log.retention.hours", is_sensitive=False)
    assert own.source is ConfigSource.STATIC_BROKER_CONFIG
    assert default.value == "168"
