"""The configuration that holds now, over a ZooKeeper in memory."""

from collections.abc import Mapping

import pytest
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes.configs import ConfigType
from tests.support.admin_broker import PROPERTIES
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import run


class World:
    """A ZooKeeper, and the dynamic configuration of broker 1."""

    def __init__(self, **znodes: Mapping[str, str]) -> None:
        self.zookeeper = FakeZooKeeper(Clock())
        self.client = self.zookeeper.connected_client()
        self.zk = KafkaZkClient(self.client)
        run(self.zk.create_top_level_paths())
        for name, config in znodes.items():
            run(self.zk.set_or_create_entity_configs(ConfigType.BROKER, _entity(name), config))
        static = BrokerConfig.from_properties(PROPERTIES | {"log.retention.hours": "100"})
        self.dynamic_config = DynamicConfig(static, 1, self.zk, Time(self.zookeeper.clock))
        run(self.dynamic_config.initialize())
        self.told: list[BrokerConfig] = []
        self.dynamic_config.subscribe(self.told.append)

    def change(self, name: str, config: Mapping[str, str], kind: str = ConfigType.BROKER) -> None:
        run(self.zk.set_or_create_entity_configs(kind, _entity(name), config))
        run(self.zk.create_config_change_notification(f"{kind}/{_entity(name)}"))


def _entity(name: str) -> str:
    return {"default": "<default>", "own": "1", "other": "2"}.get(name, name)


def test_broker_starts_with_what_zookeeper_has() -> None:
    world = World(
        default={"log.retention.ms": "5000", "log.segment.bytes": "1000"},
        own={"log.segment.bytes": "2000"},
        other={"log.segment.bytes": "3000"},
    )
    config = world.dynamic_config.current
    assert config.log_retention_time_ms == 5000
    assert config.log_segment_bytes == 2000
    assert world.dynamic_config.is_updated


def test_broker_without_znodes_keeps_its_static_configuration() -> None:
    world = World()
    assert world.dynamic_config.current.log_retention_time_ms == 100 * 3600 * 1000
    assert not world.dynamic_config.is_updated


def test_bad_value_in_zookeeper_keeps_the_others_and_the_start() -> None:
    world = World(own={"log.segment.bytes": "many", "log.retention.ms": "7"})
    assert world.dynamic_config.current.log_retention_ms == 7
    assert world.dynamic_config.current.log_segment_bytes == 1 << 30


def test_thread_count_of_before_the_start_may_be_any() -> None:
    assert World(own={"num.io.threads": "100"}).dynamic_config.current.num_io_threads == 100


def test_change_is_heard_and_told() -> None:
    world = World()
    run(world.dynamic_config.startup())
    world.change("own", {"log.retention.ms": "77"})
    assert world.dynamic_config.current.log_retention_ms == 77
    assert [config.log_retention_ms for config in world.told] == [77]
    world.change("own", {})
    assert world.dynamic_config.current.log_retention_ms is None
    assert len(world.told) == 2


def test_change_for_another_broker_is_not_ours() -> None:
    world = World()
    run(world.dynamic_config.startup())
    world.change("other", {"log.retention.ms": "77"})
    assert world.told == []


def test_own_value_wins_over_that_of_all_until_it_goes() -> None:
    world = World()
    run(world.dynamic_config.startup())
    world.change("own", {"log.retention.ms": "1"})
    world.change("default", {"log.retention.ms": "2"})
    assert world.dynamic_config.current.log_retention_ms == 1
    world.change("own", {})
    assert world.dynamic_config.current.log_retention_ms == 2


def test_same_value_again_is_not_told() -> None:
    world = World(own={"log.retention.ms": "77"})
    run(world.dynamic_config.startup())
    world.change("own", {"log.retention.ms": "77"})
    assert world.told == []


def test_impossible_change_leaves_everything_as_it_was() -> None:
    world = World()
    run(world.dynamic_config.startup())
    world.change("own", {"log.cleaner.threads": "1000"})
    assert world.dynamic_config.current.log_cleaner_threads == 1
    assert world.dynamic_config.sources.dynamic_broker == {}
    assert world.told == []


def test_change_while_the_session_was_lost_is_found_later() -> None:
    world = World()
    run(world.dynamic_config.startup())
    world.client.suspend()
    other = KafkaZkClient(world.zookeeper.connected_client())
    run(other.set_or_create_entity_configs(ConfigType.BROKER, "1", {"log.retention.ms": "5"}))
    run(other.create_config_change_notification("brokers/1"))
    assert world.told == []
    world.client.expire()
    assert world.dynamic_config.current.log_retention_ms == 5


def test_after_shutdown_nothing_is_heard() -> None:
    world = World()
    run(world.dynamic_config.startup())
    world.dynamic_config.shutdown()
    world.change("own", {"log.retention.ms": "77"})
    assert world.told == []


def test_handler_hears_of_existing_and_of_changed_entities() -> None:
    world = World()
    heard: list[tuple[str, dict[str, str]]] = []
    world.dynamic_config.add_handler(
        ConfigType.TOPIC, lambda name, config: heard.append((name, dict(config)))
    )
    world.change("before", {"retention.ms": "1"}, ConfigType.TOPIC)
    run(world.dynamic_config.startup())
    world.change("after", {"retention.ms": "2"}, ConfigType.TOPIC)
    assert ("before", {"retention.ms": "1"}) in heard
    assert heard[-1] == ("after", {"retention.ms": "2"})


def test_change_that_nobody_handles_is_passed_over() -> None:
    world = World()
    run(world.dynamic_config.startup())
    world.change("bob", {"producer_byte_rate": "1"}, ConfigType.USER)
    world.change("own", {"log.retention.ms": "77"})
    assert len(world.told) == 1


def test_topic_follows_the_broker_but_for_its_overrides() -> None:
    world = World(default={"log.segment.bytes": "1000"})
    run(world.zk.set_or_create_entity_configs(ConfigType.TOPIC, "t", {"retention.ms": "5"}))
    config = run(world.dynamic_config.topic_config("t"))
    assert (config.retention_ms, config.segment_bytes) == (5, 1000)
    assert config.overrides == {"retention.ms": "5"}


@pytest.mark.parametrize("per_broker", [True, False])
def test_validation_changes_nothing(per_broker: bool) -> None:
    world = World()
    world.dynamic_config.validate({"log.retention.ms": "5"}, per_broker=per_broker)
    assert not world.dynamic_config.is_updated
    with pytest.raises(ConfigError, match=r"log\.roll\.ms must be greater"):
        world.dynamic_config.validate({"log.roll.ms": "0"}, per_broker=per_broker)


def test_secret_without_an_encoder_is_refused() -> None:
    with pytest.raises(ConfigError, match="Password encoder secret not configured"):
        World().dynamic_config.persistent.encode(
            {"listener.name.a.ssl.keystore.password": "p"}, per_broker=True
        )


def test_limits_for_replication_come_from_the_brokers_own_znode() -> None:
    world = World(own={"replica.alter.log.dirs.io.max.bytes.per.second": "1000"})
    assert world.dynamic_config.max_log_dir_move_rate() == 1000
    assert World().dynamic_config.max_log_dir_move_rate() == (1 << 63) - 1
