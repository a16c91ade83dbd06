"""From one configuration to another while the broker runs."""

from collections.abc import Mapping

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.server.reconfiguration import check_reconfiguration

BASE = {
    "broker.id": "1",
    "zookeeper.connect": "zk:2181",
    "listeners": "PLAINTEXT://:9092",
    "num.io.threads": "8",
    "log.cleaner.threads": "4",
}


def _check(changes: Mapping[str, str], base: Mapping[str, str] | None = None) -> None:
    old = {**BASE, **(base or {})}
    new = {**old, **changes}
    check_reconfiguration(BrokerConfig.from_properties(old), BrokerConfig.from_properties(new))


@pytest.mark.parametrize("threads", ["4", "8", "16"])
def test_thread_count_may_halve_and_double(threads: str) -> None:
    _check({"num.io.threads": threads})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"num.io.threads": "3"}, "value should be at least half the current value 8"),
        (
            {"num.io.threads": "17"},
            (
                "Dynamic thread count update validation failed for num.io.threads=17, value should "
                "not be greater than double the current value 8"
            ),
        ),
        ({"log.cleaner.threads": "9"}, "increased to more than double the current value 4"),
        ({"log.cleaner.threads": "1"}, "reduced to less than half the current value 4"),
        ({"metric.reporters": "a.Reporter"}, "Validation of dynamic config update"),
    ],
)
def test_jump_is_refused_and_wrapped_as_kafka_does(changes: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _check(changes)
    message = caught.value.message
    assert reason in message
    assert message.startswith("Invalid value org.apache.kafka.common.config.ConfigException: ")
    assert message.endswith(" for configuration Invalid dynamic configuration")


def test_security_protocol_of_a_listener_that_stays_is_fixed() -> None:
    two = {"listeners": "PLAINTEXT://:9092,X://:9093"}
    first = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,X:PLAINTEXT"}
    second = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,X:SSL"}
    with pytest.raises(ConfigError, match="Security protocol cannot be updated"):
        _check(second, two | first)


def test_listener_may_be_added_and_removed() -> None:
    names = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,X:PLAINTEXT"}
    more = {"listeners": "PLAINTEXT://:9092,X://:9093"}
    _check(more, names)
    _check({"listeners": BASE["listeners"]}, names | more)


def test_key_of_a_listener_that_stays_is_fixed_unless_it_can_change() -> None:
    _check({"listener.name.plaintext.max.connections": "5"})
    _check({"listener.name.plaintext.ssl.keystore.location": "/x"})
    with pytest.raises(ConfigError, match="Configs cannot be updated dynamically for existing"):
        _check({"listener.name.plaintext.sasl.enabled.mechanisms": "PLAIN"})
