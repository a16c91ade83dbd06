"""Dynamic secrets of a broker: encrypted in ZooKeeper, plain in its configuration."""

import pytest
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.persistent_configs import PersistentConfigs
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes.configs import ConfigType
from tests.support.admin_broker import PROPERTIES
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import run

KEY = "listener.name.external.ssl.keystore.password"


def persistent(**secrets: str) -> PersistentConfigs:
    return PersistentConfigs(a_config(**secrets))


def a_config(secret: str | None = "new", old_secret: str | None = None) -> BrokerConfig:
    given = {"password.encoder.secret": secret, "password.encoder.old.secret": old_secret}
    return BrokerConfig.from_properties(
        PROPERTIES | {name: value for name, value in given.items() if value is not None}
    )


def test_secret_is_written_encrypted_and_read_plain() -> None:
    """Only secrets are encrypted, and only for one broker."""
    configs = persistent()
    written = configs.encode({KEY: "hush", "log.retention.ms": "5"}, per_broker=True)
    assert written["log.retention.ms"] == "5"
    assert "hush" not in written[KEY]
    assert configs.decode(written, per_broker=True) == {KEY: "hush", "log.retention.ms": "5"}


def test_secret_of_all_brokers_is_refused() -> None:
    with pytest.raises(ConfigError, match="only at broker level"):
        persistent().encode({KEY: "hush"}, per_broker=False)


def test_secret_that_cannot_be_decoded_is_left_out() -> None:
    written = persistent(secret="other").encode({KEY: "hush"}, per_broker=True)
    assert persistent().decode(written | {"log.retention.ms": "5"}, per_broker=True) == {
        "log.retention.ms": "5"
    }


def test_changed_secret_encodes_anew_what_the_old_one_encoded() -> None:
    """At start, with password.encoder.old.secret."""
    zk = KafkaZkClient(FakeZooKeeper(Clock()).connected_client())
    run(zk.create_top_level_paths())
    old = persistent(secret="old").encode({KEY: "hush"}, per_broker=True)
    run(zk.set_or_create_entity_configs(ConfigType.BROKER, "1", old))
    dynamic = DynamicConfig(a_config("new", "old"), 1, zk, Time(Clock()))
    run(dynamic.initialize())
    assert dynamic.current.originals[KEY] == "hush"
    written = run(zk.get_entity_configs(ConfigType.BROKER, "1"))
    assert persistent(secret="new").decode(written, per_broker=True) == {KEY: "hush"}


def test_nothing_is_encoded_anew_twice() -> None:
    configs = persistent(secret="new", old_secret="old")
    written = persistent(secret="new").encode({KEY: "hush"}, per_broker=True)
    assert configs.encode_anew(written) is None
