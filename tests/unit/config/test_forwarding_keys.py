"""`forwarding.enable` and `listener.name.X.gateway`: which listeners they hold for."""

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError

PROPERTIES = {
    "broker.id": "1",
    "zookeeper.connect": "zk:2181",
    "listeners": "PLAINTEXT://:9092,OUTSIDE://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
}


def config(**properties: str) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {**PROPERTIES, **{name.replace("_", "."): value for name, value in properties.items()}}
    )


def test_forwarding_is_on_and_no_listener_is_a_gateway_unless_told() -> None:
    assert config().forwarding_listeners == {"PLAINTEXT", "OUTSIDE"}
    assert config().gateway_listeners == set()


def test_forwarding_is_switched_off_for_all_or_for_one() -> None:
    """Rule 8."""
    assert config(forwarding_enable="false").forwarding_listeners == set()
    one = config(listener_name_outside_forwarding_enable="false")
    assert one.forwarding_listeners == {"PLAINTEXT"}
    other = config(forwarding_enable="false", listener_name_outside_forwarding_enable="true")
    assert other.forwarding_listeners == {"OUTSIDE"}


def test_gateway_is_a_matter_of_its_listener() -> None:
    """Rule 9."""
    assert config(listener_name_outside_gateway="true").gateway_listeners == {"OUTSIDE"}


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"gateway": "true"}, "must be set for a listener"),
        ({"listener_name_plaintext_gateway": "true"}, "brokers use it among themselves"),
        (
            {"listener_name_outside_gateway": "true", "forwarding_enable": "false"},
            "needs forwarding.enable=true",
        ),
        (
            {"listener_name_outside_gateway": "true", "advertised_listeners": "PLAINTEXT://h:1"},
            "must be in advertised.listeners",
        ),
        (
            {
                "listener_name_outside_gateway": "true",
                "control_plane_listener_name": "outside",
            },
            "brokers use it among themselves",
        ),
        ({"listener_name_outside_gateway": "maybe"}, "Expected value to be either true or false"),
    ],
)
def test_gateway_that_cannot_work_is_refused(properties: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        config(**properties)
