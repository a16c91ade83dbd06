"""docs/configs.md and the list of keys without effect say what the code does."""

import ast

from kafkalike.config import docs
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.ineffective_keys import (
    INEFFECTIVE_BROKER_KEYS,
    INEFFECTIVE_TOPIC_KEYS,
    ineffective_settings,
)
from kafkalike.config.topic_config import TopicConfig
from tests.support import config_keys
from tests.support.source_tree import PACKAGE, Module, modules

MODULES = modules()
CONFIG = [module for module in MODULES if module.layer == "config"]


def module_that_says(source: str) -> Module:
    path = PACKAGE / "server/example.py"
    tree = ast.parse(source)
    return Module(path=path, name="kafkalike.server.example", source=source, tree=tree)


def effective(source: str) -> set[str]:
    """Return the broker and topic keys that a server of one module would read."""
    broker_keys, topic_keys = config_keys.ineffective([*CONFIG, module_that_says(source)])
    return {*BrokerConfig.KEYS, *TopicConfig.KEYS} - {*broker_keys, *topic_keys}


def test_list_of_keys_without_effect_is_true() -> None:
    broker_keys, topic_keys = config_keys.ineffective(MODULES)
    assert set(broker_keys) == INEFFECTIVE_BROKER_KEYS, "run scripts/config-docs"
    assert set(topic_keys) == INEFFECTIVE_TOPIC_KEYS, "run scripts/config-docs"


def test_documentation_is_up_to_date() -> None:
    text = docs.document(INEFFECTIVE_BROKER_KEYS, INEFFECTIVE_TOPIC_KEYS)
    assert config_keys.DOCUMENT.read_text(encoding="utf-8") == text, "run scripts/config-docs"


def test_documentation_has_every_key_once() -> None:
    text = docs.document(frozenset(), frozenset({"segment.ms"}))
    for name in (*BrokerConfig.KEYS, *TopicConfig.KEYS):
        assert text.count(f"| `{name}` |") == (name in BrokerConfig.KEYS) + (
            name in TopicConfig.KEYS
        )
    assert text.count("*No effect.*") == 1


def test_settings_without_effect_are_picked_out_sorted() -> None:
    some = sorted(INEFFECTIVE_BROKER_KEYS)[:2]
    assert ineffective_settings([*reversed(some), "no.such.key"]) == some


def test_a_key_is_read_as_an_attribute_of_a_configuration() -> None:
    assert effective("self._config.broker_id") == {"broker.id"}
    assert effective("config.for_listener(name).max_connections") == {"max.connections"}
    assert effective("self.broker_id = 1") == set()


def test_a_key_is_read_by_its_name() -> None:
    assert effective('config.value("broker.id")') == {"broker.id"}
    assert effective('read(self.config, "broker.id")') == {"broker.id"}
    assert effective('print("broker.id")') == set()


def test_a_key_is_read_through_a_property_made_of_it() -> None:
    assert effective("config.log_directories") == {"log.dir", "log.dirs"}
    assert {"log.retention.ms", "log.retention.hours"} <= effective("config.log_retention_time_ms")


def test_a_broker_key_is_read_through_the_topic_key_that_falls_back_to_it() -> None:
    assert effective("log.config.segment_ms") == {"segment.ms", "log.roll.ms", "log.roll.hours"}
