import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.value_types import Password
from kafkalike.model.broker import EndPoint


def config(**properties: str) -> BrokerConfig:
    """Read a configuration; underscores stand for dots."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return BrokerConfig.from_properties({"zookeeper.connect": "zk:2181", **given})


def refused(message: str, **properties: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**properties)


def test_zookeeper_is_required() -> None:
    """M64: a broker without ZooKeeper does not start."""
    with pytest.raises(ConfigError, match=r"Missing required configuration `zookeeper.connect`"):
        BrokerConfig.from_properties({})


def test_raft_mode_is_refused_with_the_reason() -> None:
    refused("KRaft mode is not supported", process_roles="broker")


def test_broker_id_is_any_number_below_the_reserved_ones() -> None:
    """M20: ids such as 101 are fine; generated ids have a range of their own."""
    assert config(broker_id="101").effective_broker_id == 101
    assert config().effective_broker_id == -1
    assert config(broker_id="1", node_id="2").effective_broker_id == 2
    refused("not greater than reserved.broker.max.id", broker_id="1001")
    refused("greater than or equal to -1", broker_id="-2")
    refused("greater than or equal to 0", broker_id_generation_enable="false")


@pytest.mark.parametrize(
    ("properties", "retention_ms"),
    [
        ({}, 7 * 24 * 3600 * 1000),
        ({"log_retention_hours": "1"}, 3600 * 1000),
        ({"log_retention_hours": "1", "log_retention_minutes": "2"}, 120 * 1000),
        ({"log_retention_minutes": "2", "log_retention_ms": "3"}, 3),
        ({"log_retention_ms": "-1"}, -1),
        ({"log_retention_hours": "-1"}, -1),
    ],
)
def test_retention_comes_from_the_finest_key_that_is_set(
    properties: dict[str, str], retention_ms: int
) -> None:
    """M9: the default is 7 days."""
    assert config(**properties).log_retention_time_ms == retention_ms


def test_other_fall_backs_between_keys() -> None:
    assert config().log_roll_time_ms == 168 * 3600 * 1000
    assert config(log_roll_ms="5").log_roll_time_ms == 5
    assert config(log_roll_jitter_hours="1").log_roll_time_jitter_ms == 3600 * 1000
    assert config(log_roll_jitter_ms="2").log_roll_time_jitter_ms == 2
    assert config().log_flush_time_ms == 2**63 - 1
    assert config(log_flush_scheduler_interval_ms="9").log_flush_time_ms == 9
    assert config(log_flush_interval_ms="4").log_flush_time_ms == 4
    assert config().zookeeper_connection_time_ms == 18000
    assert config(zookeeper_connection_timeout_ms="1").zookeeper_connection_time_ms == 1
    assert config(delegation_token_master_key="m").delegation_token_key == Password("m")
    assert config().delegation_token_key is None


def test_log_directories_are_a_list() -> None:
    assert config().log_directories == ("/tmp/kafka-logs",)
    assert config(log_dirs="/a, /b,").log_directories == ("/a", "/b")
    assert config(log_dir="/c").log_directories == ("/c",)
    refused("At least one log directory must be defined", log_dirs=",")


def test_default_listener_is_plaintext_on_9092() -> None:
    """M19: the default port is 9092."""
    assert config().listener_end_points == (EndPoint("", 9092, "PLAINTEXT", "PLAINTEXT"),)
    assert config().advertised_end_points == config().listener_end_points


def test_several_listeners_each_with_name_host_port_and_protocol() -> None:
    """M25: listeners and advertised listeners are told apart."""
    found = config(
        listeners="internal://:9092,EXTERNAL://[::1]:9093",
        advertised_listeners="INTERNAL://192.168.1.2:9092,EXTERNAL://192.168.1.5:9095",
        listener_security_protocol_map="INTERNAL:PLAINTEXT,EXTERNAL:SSL",
        inter_broker_listener_name="INTERNAL",
    )
    assert found.listener_end_points == (
        EndPoint("", 9092, "INTERNAL", "PLAINTEXT"),
        EndPoint("::1", 9093, "EXTERNAL", "SSL"),
    )
    assert [point.connection_string for point in found.advertised_end_points] == [
        "INTERNAL://192.168.1.2:9092",
        "EXTERNAL://192.168.1.5:9095",
    ]
    assert found.inter_broker_listener == ("INTERNAL", "PLAINTEXT")


def test_old_host_and_port_keys_still_work() -> None:
    found = config(host_name="h", port="1", advertised_host_name="a")
    assert found.listener_end_points == (EndPoint("h", 1, "PLAINTEXT", "PLAINTEXT"),)
    assert found.advertised_end_points == (EndPoint("a", 1, "PLAINTEXT", "PLAINTEXT"),)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"listeners": "PLAINTEXT://h:1,PLAINTEXT://h:2"}, "must have a different name"),
        ({"listeners": "PLAINTEXT://h:1,SSL://h:1"}, "must have a different port"),
        ({"listeners": "OTHER://h:1"}, "No security protocol defined for listener OTHER"),
        ({"listeners": "h:1"}, "Unable to parse h:1 to a broker endpoint"),
        ({"listeners": "PLAINTEXT://h:x"}, "Unable to parse"),
        ({"listener_security_protocol_map": "A:B"}, "Invalid security protocol `B`"),
        ({"listener_security_protocol_map": "A"}, "no ':' in 'A'"),
        (
            {"listeners": "PLAINTEXT://h:1", "inter_broker_listener_name": "SSL"},
            "inter.broker.listener.name must be a listener name defined in advertised.listeners",
        ),
        ({"inter_broker_listener_name": "X"}, "Listener with name X defined in inter.broker"),
        (
            {
                "inter_broker_listener_name": "PLAINTEXT",
                "security_inter_broker_protocol": "PLAINTEXT",
            },
            "Only one of inter.broker.listener.name and",
        ),
        (
            {"listeners": "PLAINTEXT://h:1", "advertised_listeners": "PLAINTEXT://h:1,SSL://h:2"},
            "must be equal to or a subset",
        ),
        ({"listeners": "PLAINTEXT://0.0.0.0:1"}, "cannot use the nonroutable meta-address"),
        ({"control_plane_listener_name": "PLAINTEXT"}, "should have a different value"),
    ],
)
def test_listeners_that_do_not_go_together_are_refused(
    properties: dict[str, str], message: str
) -> None:
    refused(message, **properties)


def test_any_free_port_may_be_asked_for_more_than_once() -> None:
    found = config(listeners="PLAINTEXT://h:0,SSL://h:0")
    assert [point.port for point in found.listener_end_points] == [0, 0]


def test_a_listener_may_have_values_of_its_own() -> None:
    given = {
        "zookeeper.connect": "zk",
        "max.connections": "10",
        "listener.name.plaintext.max.connections": "3",
        "listener.name.plaintext.plain.sasl.jaas.config": "secret",
    }
    found = BrokerConfig.from_properties(given)
    assert found.max_connections == 10
    assert found.for_listener("PLAINTEXT").max_connections == 3
    assert found.for_listener("SSL") == found
    plain = found.for_mechanism("PLAINTEXT", "PLAIN")
    assert plain.sasl_jaas_config == Password("secret")
    assert plain.max_connections == 3


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"log_roll_ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log_retention_ms": "0"}, "log.retention.ms must be unlimited"),
        ({"compression_type": "zip"}, "compression.type : zip is not valid"),
        ({"log_cleaner_threads": "200"}, "at least 1MB per cleaner thread"),
        ({"replica_fetch_wait_max_ms": "40000"}, "replica.socket.timeout.ms should always be"),
        ({"replica_lag_time_max_ms": "100"}, "to prevent frequent changes in ISR"),
        ({"offsets_commit_required_acks": "4"}, "offsets.commit.required.acks must be"),
        ({"offsets_topic_compression_codec": "9"}, "9 is an unknown compression codec"),
        ({"queued_max_request_bytes": "1"}, "queued.max.request.bytes must be larger"),
        ({"max_connections_per_ip": "0"}, "can be set to zero only if"),
        ({"max_connections_per_ip_overrides": "a b:1"}, "contains invalid addresses : a b"),
        ({"max_connections_per_ip_overrides": "a:x"}, "max.connections.per.ip.overrides"),
        ({"connections_max_idle_ms": "50"}, "should always be less than connections.max.idle.ms"),
        ({"inter_broker_protocol_version": "0.10.0"}, "log.message.format.version 2.8-IV1 can"),
        ({"inter_broker_protocol_version": "9.9"}, "`9.9` is not a valid version"),
        (
            {"security_inter_broker_protocol": "SASL_PLAINTEXT", "listeners": "SASL_PLAINTEXT://:1"}
            | {"sasl_mechanism_inter_broker_protocol": "PLAIN"},
            "must be included in sasl.enabled.mechanisms",
        ),
    ],
)
def test_values_that_do_not_go_together_are_refused(
    properties: dict[str, str], message: str
) -> None:
    refused(message, **properties)


def test_limits_per_address() -> None:
    found = config(max_connections_per_ip_overrides="host:5,127.0.0.1:6,::1:7")
    assert found.max_connections_per_address == {"host": 5, "127.0.0.1": 6, "::1": 7}


def test_properties_that_name_no_key_are_reported() -> None:
    given = {
        "zookeeper.connect": "zk",
        "log.segmnt.bytes": "1",
        "super.users": "User:a",
        "listener.name.x.max.connections": "1",
    }
    assert BrokerConfig.from_properties(given).unused_keys == ("log.segmnt.bytes",)
