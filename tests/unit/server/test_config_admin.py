"""Configurations are described and altered."""

import json

import pytest

from kafkalike.protocol.errors import (
    ErrorCode,
    InvalidRequestError,
    InvalidTopicError,
    PolicyViolationError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafkalike.server.api_error import NO_ERROR, ApiError
from kafkalike.server.config_operations import AlterConfigOp, OpType
from kafkalike.server.config_resource import ConfigResource, ConfigSource, ResourceType
from kafkalike.server.policies import AlterConfigMetadata
from tests.support.admin_broker import AdminBroker
from tests.support.run import run

TOPIC = ConfigResource(ResourceType.TOPIC, "t")
BROKER = ConfigResource(ResourceType.BROKER, "1")
ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")
LOGGERS = ConfigResource(ResourceType.BROKER_LOGGER, "1")


@pytest.fixture
def broker() -> AdminBroker:
    started = AdminBroker()
    started.create_topic("t", {0: (1,)})
    run(started.dynamic_config.startup())
    return started


def _alter(
    broker: AdminBroker,
    resource: ConfigResource,
    config: dict[str, str | None],
    *,
    validate_only: bool = False,
) -> ApiError:
    altered = run(broker.config_admin.alter({resource: config}, validate_only=validate_only))
    return altered[resource]


def _change(
    broker: AdminBroker,
    resource: ConfigResource,
    *operations: tuple[str, OpType, str | None],
    validate_only: bool = False,
) -> ApiError:
    changes = [AlterConfigOp(*operation) for operation in operations]
    altered = run(
        broker.config_admin.incremental_alter({resource: changes}, validate_only=validate_only)
    )
    return altered[resource]


def _stored(broker: AdminBroker, entity: str) -> dict[str, str]:
    data = json.loads(broker.zookeeper.data(f"/config/{entity}") or b"{}")
    config: dict[str, str] = data.get("config", {})
    return config


def _values(broker: AdminBroker, resource: ConfigResource) -> dict[str, str | None]:
    return {entry.name: entry.value for entry in run(broker.config_admin.describe(resource))}


# --- alter


def test_topic_gets_exactly_what_is_asked(broker: AdminBroker) -> None:
    assert _alter(broker, TOPIC, {"retention.ms": "5", "segment.ms": "6"}) == NO_ERROR
    assert _alter(broker, TOPIC, {"retention.ms": "7"}) == NO_ERROR
    assert _stored(broker, "topics/t") == {"retention.ms": "7"}
    assert _values(broker, TOPIC)["retention.ms"] == "7"


def test_change_is_announced_to_all_brokers(broker: AdminBroker) -> None:
    _alter(broker, TOPIC, {"retention.ms": "5"})
    data = broker.zookeeper.data("/config/changes/config_change_0000000000")
    assert json.loads(data or b"") == {"version": 2, "entity_path": "topics/t"}


def test_broker_hears_of_its_own_change(broker: AdminBroker) -> None:
    assert _alter(broker, BROKER, {"log.retention.ms": "5"}) == NO_ERROR
    assert broker.config.log_retention_ms == 5
    assert _alter(broker, ALL_BROKERS, {"log.segment.bytes": "1000"}) == NO_ERROR
    assert broker.config.log_segment_bytes == 1000
    assert _stored(broker, "brokers/<default>") == {"log.segment.bytes": "1000"}


@pytest.mark.parametrize("resource", [TOPIC, BROKER, ALL_BROKERS])
def test_validation_alone_writes_nothing(broker: AdminBroker, resource: ConfigResource) -> None:
    before = list(broker.zookeeper.writes)
    key = "retention.ms" if resource is TOPIC else "log.retention.ms"
    assert _alter(broker, resource, {key: "5"}, validate_only=True) == NO_ERROR
    assert _alter(broker, resource, {key: "x"}, validate_only=True) != NO_ERROR
    assert broker.zookeeper.writes == before


@pytest.mark.parametrize(
    ("resource", "config", "code", "message"),
    [
        (
            ConfigResource(ResourceType.TOPIC, "nope"),
            {"retention.ms": "5"},
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "The topic 'nope' does not exist.",
        ),
        (TOPIC, {"foo": "1"}, ErrorCode.INVALID_CONFIG, "Unknown topic config name: foo"),
        (
            TOPIC,
            {"retention.ms": "x"},
            ErrorCode.INVALID_REQUEST,
            (
                "Invalid config value for resource ConfigResource(type=TOPIC, name='t'): "
                "Invalid value x for configuration retention.ms: Not a number of type LONG"
            ),
        ),
        (
            TOPIC,
            {"retention.ms": None},
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : retention.ms",
        ),
        (
            TOPIC,
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            ErrorCode.INVALID_CONFIG,
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            ConfigResource(ResourceType.BROKER, "2"),
            {"log.retention.ms": "5"},
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1, but received 2",
        ),
        (
            ConfigResource(ResourceType.BROKER, "x"),
            {"log.retention.ms": "5"},
            ErrorCode.INVALID_REQUEST,
            "Broker id must be an integer, but it is: x",
        ),
        (
            BROKER,
            {"log.dirs": "/x"},
            ErrorCode.INVALID_REQUEST,
            (
                "Invalid config value for resource ConfigResource(type=BROKER, name='1'): "
                "Cannot update these configs dynamically: Set(log.dirs)"
            ),
        ),
        (
            BROKER,
            {"listener.name.a.ssl.keystore.password": "p"},
            ErrorCode.INVALID_REQUEST,
            (
                "Invalid config value for resource ConfigResource(type=BROKER, name='1'): "
                "Password encoder secret not configured"
            ),
        ),
        (
            ConfigResource(ResourceType.UNKNOWN, "1"),
            {},
            ErrorCode.INVALID_REQUEST,
            "AlterConfigs is only supported for topics and brokers, but resource type is UNKNOWN",
        ),
    ],
)
def test_alteration_is_refused_in_kafkas_words(
    broker: AdminBroker,
    resource: ConfigResource,
    config: dict[str, str | None],
    code: ErrorCode,
    message: str,
) -> None:
    assert _alter(broker, resource, config) == (code, message)


def test_one_bad_resource_does_not_keep_the_others_back(broker: AdminBroker) -> None:
    nope = ConfigResource(ResourceType.TOPIC, "nope")
    altered = run(
        broker.config_admin.alter(
            {nope: {"retention.ms": "5"}, TOPIC: {"retention.ms": "5"}}, validate_only=False
        )
    )
    assert altered[nope].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert altered[TOPIC] == NO_ERROR


# --- single changes


def test_single_changes_leave_the_rest(broker: AdminBroker) -> None:
    _alter(broker, TOPIC, {"retention.ms": "5", "segment.ms": "6"})
    changed = _change(
        broker,
        TOPIC,
        ("segment.ms", OpType.DELETE, None),
        ("cleanup.policy", OpType.APPEND, "compact"),
    )
    assert changed == NO_ERROR
    assert _stored(broker, "topics/t") == {
        "retention.ms": "5",
        "cleanup.policy": "delete,compact",
    }


def test_single_change_of_a_broker_heals_what_was_invalid(broker: AdminBroker) -> None:
    invalid = {"log.segment.bytes": "many", "log.retention.ms": "5"}
    run(broker.zk.set_or_create_entity_configs("brokers", "1", invalid))
    assert _change(broker, BROKER, ("log.roll.ms", OpType.SET, "7")) == NO_ERROR
    assert _stored(broker, "brokers/1") == {"log.retention.ms": "5", "log.roll.ms": "7"}


def test_result_of_single_changes_must_be_valid(broker: AdminBroker) -> None:
    error = _change(broker, TOPIC, ("cleanup.policy", OpType.APPEND, "x"))
    assert error.code is ErrorCode.INVALID_REQUEST
    assert "String must be one of: compact, delete" in (error.message or "")


def test_unknown_operation_is_an_unknown_error(broker: AdminBroker) -> None:
    changes = [AlterConfigOp("retention.ms", None, "5")]
    altered = run(broker.config_admin.incremental_alter({TOPIC: changes}, validate_only=False))
    assert altered[TOPIC] == (ErrorCode.UNKNOWN_SERVER_ERROR, None)


# --- log levels


def test_log_level_is_set_and_unset(broker: AdminBroker) -> None:
    assert _change(broker, LOGGERS, ("state.change", OpType.SET, "DEBUG")) == NO_ERROR
    assert _values(broker, LOGGERS)["state.change"] == "DEBUG"
    assert _change(broker, LOGGERS, ("state.change", OpType.DELETE, None)) == NO_ERROR
    assert _values(broker, LOGGERS)["state.change"] == "INFO"


def test_log_level_is_only_validated_if_so_wanted(broker: AdminBroker) -> None:
    _change(broker, LOGGERS, ("root", OpType.SET, "DEBUG"), validate_only=True)
    assert _values(broker, LOGGERS)["root"] == "INFO"


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (("root", OpType.APPEND, "INFO"), "APPEND operation is not allowed for the BROKER_LOGGER"),
        (("root", OpType.DELETE, None), "Removing the log level of the root logger is not allowed"),
        (("nope", OpType.SET, "INFO"), "Logger nope does not exist!"),
        (("root", OpType.SET, "LOUD"), "Cannot set the log level of root to LOUD"),
    ],
)
def test_log_level_is_refused(
    broker: AdminBroker, operation: tuple[str, OpType, str | None], message: str
) -> None:
    error = _change(broker, LOGGERS, operation)
    assert error.code is ErrorCode.INVALID_REQUEST
    assert message in (error.message or "")


# --- describe


def test_broker_and_cluster_are_described(broker: AdminBroker) -> None:
    _alter(broker, ALL_BROKERS, {"log.retention.ms": "5"})
    assert _values(broker, ALL_BROKERS) == {"log.retention.ms": "5"}
    described = {e.name: e for e in run(broker.config_admin.describe(BROKER))}
    assert described["log.retention.ms"].source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    assert described["listeners"].source is ConfigSource.STATIC_BROKER_CONFIG


@pytest.mark.parametrize(
    ("resource", "error", "message"),
    [
        (ConfigResource(ResourceType.TOPIC, "nope"), UnknownTopicOrPartitionError, "host"),
        (ConfigResource(ResourceType.TOPIC, "a b"), InvalidTopicError, "is illegal"),
        (
            ConfigResource(ResourceType.BROKER, "2"),
            InvalidRequestError,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (
            ConfigResource(ResourceType.BROKER_LOGGER, ""),
            InvalidRequestError,
            "Broker id must not be empty",
        ),
        (
            ConfigResource(ResourceType.BROKER_LOGGER, "2"),
            InvalidRequestError,
            "Unexpected broker id, expected 1 but received 2",
        ),
        (ConfigResource(ResourceType.UNKNOWN, "1"), InvalidRequestError, "Unsupported resource"),
    ],
)
def test_description_is_refused(
    broker: AdminBroker, resource: ConfigResource, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run(broker.config_admin.describe(resource))


def test_topic_with_an_invalid_value_in_zookeeper_cannot_be_described(broker: AdminBroker) -> None:
    run(broker.zk.set_or_create_entity_configs("topics", "t", {"retention.ms": "soon"}))
    with pytest.raises(UnknownServerError):
        run(broker.config_admin.describe(TOPIC))


# --- policy


class NobodyTouchesRetention:
    """A policy as a site would write it."""

    def configure(self, properties: dict[str, str]) -> None:
        self.key = properties["our.protected.key"]

    def validate(self, request: AlterConfigMetadata) -> None:
        if self.key in request.configs:
            raise PolicyViolationError(f"{self.key} is ours")


def test_policy_is_configured_asked_and_obeyed() -> None:
    broker = AdminBroker(
        {
            "alter.config.policy.class.name": f"{__name__}.NobodyTouchesRetention",
            "our.protected.key": "retention.ms",
        }
    )
    broker.create_topic("t", {0: (1,)})
    refused = (ErrorCode.POLICY_VIOLATION, "retention.ms is ours")
    assert _alter(broker, TOPIC, {"retention.ms": "5"}) == refused
    assert _change(broker, TOPIC, ("retention.ms", OpType.DELETE, None)) == refused
    assert _alter(broker, TOPIC, {"segment.ms": "5"}) == NO_ERROR
