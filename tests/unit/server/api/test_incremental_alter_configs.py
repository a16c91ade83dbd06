"""IncrementalAlterConfigs, at every version."""

import json

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.admin_broker import AdminBroker
from tests.support.run import run

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)


def _request(
    kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    configs = [AlterableConfig(name=n, config_operation=o, value=v) for n, o, v in changes]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


@pytest.fixture
def broker() -> AdminBroker:
    started = AdminBroker()
    started.create_topic("t", {0: (1,)})
    run(started.dynamic_config.startup())
    return started


@pytest.mark.parametrize("version", range(2))
def test_all_operations_work_at_every_version(broker: AdminBroker, version: int) -> None:
    for changes in (
        [("retention.ms", SET, "5"), ("cleanup.policy", APPEND, "compact")],
        [("retention.ms", DELETE, None), ("cleanup.policy", SUBTRACT, "delete")],
    ):
        (answer,) = broker.ask(_request(TOPIC, "t", *changes), version).responses
        assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    stored = json.loads(broker.zookeeper.data("/config/topics/t") or b"")
    assert stored["config"] == {"cleanup.policy": "compact"}


def test_broker_and_its_loggers_are_altered(broker: AdminBroker) -> None:
    broker.ask(_request(BROKER, "1", ("log.retention.ms", SET, "5")))
    assert broker.config.log_retention_ms == 5
    broker.ask(_request(BROKER_LOGGER, "1", ("root", SET, "DEBUG")))
    assert broker.loggers.levels()["root"] == "DEBUG"


def test_validation_alone_changes_nothing(broker: AdminBroker) -> None:
    request = _request(BROKER, "1", ("log.retention.ms", SET, "5"), validate_only=True)
    (answer,) = broker.ask(request).responses
    assert answer.error_code == ErrorCode.NONE
    assert broker.config.log_retention_ms is None


def test_unknown_operation_is_an_unknown_error(broker: AdminBroker) -> None:
    (answer,) = broker.ask(_request(TOPIC, "t", ("retention.ms", 9, "5"))).responses
    assert (answer.error_code, answer.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)


def test_unknown_kind_of_resource_spoils_the_whole_request(broker: AdminBroker) -> None:
    request = _request(TOPIC, "t", ("retention.ms", SET, "5"))
    request.resources.append(AlterConfigsResource(resource_type=3, resource_name="x"))
    answer = broker.ask(request)
    assert [r.error_message for r in answer.responses] == ["Unexpected resource type UNKNOWN"] * 2
    assert "/config/topics/t" not in broker.zookeeper.paths()
