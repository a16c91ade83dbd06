"""Every key of the broker and of topics against the facts read from Kafka 2.8.2, key by key."""

import json
from typing import Any

import pytest

from kafkalike.config.broker.own import OwnKeys
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.definition import READ_ONLY, Config, ConfigKey
from kafkalike.config.topic_config import TopicConfig
from kafkalike.config.value_types import format_value
from tests.support.protocol_vectors import GOLDEN

ROOT = GOLDEN.parents[1]


def facts(name: str) -> list[dict[str, Any]]:
    text = (GOLDEN / "facts" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def shown_default(key: ConfigKey) -> str | None:
    """Show a default as the facts do: lists as Java prints them."""
    if isinstance(key.default, tuple):
        return f"[{', '.join(key.default)}]"
    return format_value(key.default)


CLASSES: dict[str, type[Config]] = {"broker": BrokerConfig, "topic": TopicConfig}
CASES = [(kind, fact) for kind in CLASSES for fact in facts(kind)]


@pytest.mark.parametrize("kind", CLASSES)
def test_keys_are_exactly_kafkas_and_the_few_of_our_own(kind: str) -> None:
    own = OwnKeys.KEYS if kind == "broker" else {}
    assert set(CLASSES[kind].KEYS) == {fact["name"] for fact in facts(kind)} | set(own)
    assert not set(own) & {fact["name"] for fact in facts(kind)}


def test_every_key_of_our_own_is_in_the_list_of_deviations() -> None:
    text = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    assert [name for name in OwnKeys.KEYS if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    ("kind", "fact"), CASES, ids=[f"{kind} {fact['name']}" for kind, fact in CASES]
)
def test_type_default_valid_values_and_importance_are_kafkas(
    kind: str, fact: dict[str, Any]
) -> None:
    key = CLASSES[kind].KEYS[fact["name"]]
    assert key.type.name == fact["type"]
    assert shown_default(key) == fact["default"]
    assert (None if key.check is None else str(key.check)) == fact["valid"]
    assert key.importance.name == fact["importance"]


def test_broker_keys_change_at_run_time_as_kafkas_do() -> None:
    """M67: which keys are dynamic, and whether per broker or cluster-wide, is as in Kafka."""
    modes = {
        key.name: key.dynamic.value
        for key in BrokerConfig.KEYS.values()
        if key.dynamic is not READ_ONLY
    }
    assert modes == {fact["name"]: fact["mode"] for fact in facts("dynamic")}


def test_topic_keys_fall_back_to_kafkas_broker_keys() -> None:
    fall_backs = {
        key.name: key.server_default
        for key in TopicConfig.KEYS.values()
        if key.server_default is not None
    }
    assert fall_backs == {fact["topic"]: fact["broker"] for fact in facts("synonym")}
    assert set(fall_backs.values()) <= set(BrokerConfig.KEYS)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_default_passes_its_own_check(kind: str) -> None:
    for key in CLASSES[kind].KEYS.values():
        text = format_value(key.default)
        if text is not None:
            assert key.parse(text) == key.default, key.name


@pytest.mark.parametrize("kind", CLASSES)
def test_every_key_says_what_it_is_for(kind: str) -> None:
    for key in CLASSES[kind].KEYS.values():
        assert key.doc.endswith("."), key.name
        assert getattr(CLASSES[kind](), key.attribute) == key.default
