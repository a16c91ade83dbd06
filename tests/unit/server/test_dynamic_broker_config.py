"""Which broker configurations may change at run time."""

import pytest

from kafkalike.config.errors import ConfigError
from kafkalike.server.dynamic_broker_config import (
    broker_config_synonyms,
    declaration,
    is_password,
    is_read_only,
    override,
    usable_configs,
    validate_dynamic_configs,
)


@pytest.mark.parametrize(
    ("properties", "per_broker", "message"),
    [
        (
            {"log.dirs": "/x", "broker.id": "7"},
            True,
            "Cannot update these configs dynamically: Set(broker.id, log.dirs)",
        ),
        (
            {"ssl.keystore.location": "/x"},
            True,
            (
                "These security configs can be dynamically updated only per-listener using the "
                "listener prefix: HashSet(ssl.keystore.location)"
            ),
        ),
        (
            {"log.cleaner.threads": "x"},
            True,
            "Invalid value x for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (
            {"listener.name.a.max.connections": "-1"},
            False,
            "Invalid value -1 for configuration max.connections: Value must be at least 0",
        ),
        (
            {"leader.replication.throttled.rate": "-1"},
            True,
            (
                "Invalid value -1 for configuration leader.replication.throttled.rate: "
                "Value must be at least 0"
            ),
        ),
        (
            {"listeners": "PLAINTEXT://:1"},
            False,
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: Set(listeners)"
            ),
        ),
        (
            {"listener.name.a.ssl.keystore.type": "PEM"},
            False,
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: Set(listener.name.a.ssl.keystore.type)"
            ),
        ),
    ],
)
def test_update_is_refused_in_kafkas_words(
    properties: dict[str, str], per_broker: bool, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_dynamic_configs(properties, per_broker=per_broker)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("properties", "per_broker"),
    [
        ({"log.cleaner.threads": "2", "somebody.elses.key": "x"}, False),
        ({"listener.name.a.max.connections": "5"}, False),
        ({"listeners": "PLAINTEXT://:1"}, True),
        ({"listener.name.a.ssl.keystore.location": "/x"}, True),
        ({}, False),
    ],
)
def test_update_is_allowed(properties: dict[str, str], per_broker: bool) -> None:
    validate_dynamic_configs(properties, per_broker=per_broker)


def test_bad_values_in_zookeeper_are_left_out_one_by_one() -> None:
    properties = {
        "log.cleaner.threads": "x",
        "log.dirs": "/x",
        "ssl.key.password": "p",
        "listeners": "PLAINTEXT://:1",
        "log.retention.ms": "5",
    }
    usable, complaints = usable_configs(properties, per_broker=False)
    assert usable == {"log.retention.ms": "5"}
    assert len(complaints) == 4
    usable, complaints = usable_configs(properties, per_broker=True)
    assert usable == {"log.retention.ms": "5", "listeners": "PLAINTEXT://:1"}
    assert len(complaints) == 3


def test_dynamic_value_pushes_its_synonyms_out() -> None:
    static = {"log.roll.ms": "5", "log.retention.hours": "7", "num.partitions": "3"}
    dynamic = {"log.roll.hours": "2", "log.retention.ms": "9"}
    assert override(static, dynamic) == {"num.partitions": "3", **dynamic}


def test_value_of_a_listener_leaves_the_base_value_alone() -> None:
    static = {"max.connections": "10"}
    own = {"listener.name.a.max.connections": "5"}
    assert override(static, own) == static | own


def test_synonyms_of_a_listeners_key_end_with_the_base_key() -> None:
    name = "listener.name.sasl.scram-sha-256.sasl.jaas.config"
    assert broker_config_synonyms(name, match_listener_override=True) == (name, "sasl.jaas.config")
    assert broker_config_synonyms(name, match_listener_override=False) == (name,)


def test_declaration_is_found_behind_a_listener_prefix() -> None:
    behind = declaration("listener.name.a.max.connections")
    assert behind is not None
    assert behind.name == "max.connections"
    assert declaration("somebody.elses.key") is None


def test_keys_without_dynamic_mode_are_read_only() -> None:
    assert is_read_only("log.dirs")
    assert not is_read_only("log.retention.ms")
    assert is_read_only("listener.name.a.max.connections")
    assert is_read_only("leader.replication.throttled.rate")


def test_passwords_are_known_behind_any_prefix() -> None:
    assert is_password("listener.name.a.ssl.keystore.password")
    assert not is_password("log.retention.ms")
