import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.launcher.broker_properties import broker_properties, fill_in
from kafkalike.launcher.errors import ClusterError


def _properties(settings: dict[str, str] | None = None, *, brokers: int = 3) -> dict[str, str]:
    return broker_properties(
        settings or {},
        broker_id=2,
        port=9094,
        log_dir="data",
        zookeeper_connect="127.0.0.1:2181/chroot",
        broker_count=brokers,
    )


def test_three_brokers_have_kafkas_defaults() -> None:
    assert _properties() == {
        "broker.id": "2",
        "listeners": "PLAINTEXT://127.0.0.1:9094",
        "log.dirs": "data",
        "zookeeper.connect": "127.0.0.1:2181/chroot",
    }


@pytest.mark.parametrize("brokers", [1, 2])
def test_internal_topics_get_as_many_replicas_as_there_are_brokers(brokers: int) -> None:
    config = BrokerConfig.from_properties(_properties(brokers=brokers))
    assert config.offsets_topic_replication_factor == brokers
    assert config.transaction_state_log_replication_factor == brokers
    assert config.transaction_state_log_min_isr == 1


def test_settings_win() -> None:
    properties = _properties({"offsets.topic.replication.factor": "2", "log.dirs": "x"}, brokers=1)
    assert properties["offsets.topic.replication.factor"] == "2"
    assert properties["log.dirs"] == "x"


def test_braces_stand_for_the_brokers_own_numbers() -> None:
    settings = {"listeners": "A://:{port},B://:1{port}", "broker.rack": "r{id}"}
    properties = _properties(settings)
    assert properties["listeners"] == "A://:9094,B://:19094"
    assert properties["broker.rack"] == "r2"


def test_other_braces_are_refused() -> None:
    with pytest.raises(ClusterError, match=r"log\.dirs=/d/\{name\}: \{name\} means nothing here"):
        fill_in("log.dirs", "/d/{name}", broker_id=1, port=2)
