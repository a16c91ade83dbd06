"""AlterConfigs, at every version."""

import json

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from tests.support.admin_broker import AdminBroker
from tests.support.golden_answers import golden_exchanges
from tests.support.run import run

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8


def _resource(kind: int, name: str, **config: str) -> AlterConfigsResource:
    configs = [AlterableConfig(name=k.replace("_", "."), value=v) for k, v in config.items()]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


@pytest.fixture
def broker() -> AdminBroker:
    started = AdminBroker()
    started.create_topic("t", {0: (1,)})
    run(started.dynamic_config.startup())
    return started


@pytest.mark.parametrize("version", range(3))
def test_configs_are_replaced_at_every_version(broker: AdminBroker, version: int) -> None:
    for config in ({"retention_ms": "5", "segment_ms": "6"}, {"retention_ms": "7"}):
        request = AlterConfigsRequest(resources=[_resource(TOPIC, "t", **config)])
        (answer,) = broker.ask(request, version).responses
        assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
        assert (answer.resource_type, answer.resource_name) == (TOPIC, "t")
    stored = json.loads(broker.zookeeper.data("/config/topics/t") or b"")
    assert stored["config"] == {"retention.ms": "7"}


def test_loggers_cannot_be_altered_like_this(broker: AdminBroker) -> None:
    resources = [_resource(BROKER_LOGGER, "1", root="INFO"), _resource(TOPIC, "t")]
    answer = broker.ask(AlterConfigsRequest(resources=resources))
    assert {(r.error_code, r.error_message) for r in answer.responses} == {
        (
            ErrorCode.INVALID_REQUEST,
            "AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER",
        )
    }


def test_unknown_kind_of_resource_spoils_the_whole_request(broker: AdminBroker) -> None:
    resources = [_resource(TOPIC, "t", retention_ms="5"), _resource(3, "x")]
    answer = broker.ask(AlterConfigsRequest(resources=resources))
    assert [r.error_message for r in answer.responses] == ["Unexpected resource type UNKNOWN"] * 2
    assert "/config/topics/t" not in broker.zookeeper.paths()


def test_of_two_wishes_for_one_resource_the_last_counts(broker: AdminBroker) -> None:
    resources = [_resource(TOPIC, "t", retention_ms="5"), _resource(TOPIC, "t", segment_ms="6")]
    answer = broker.ask(AlterConfigsRequest(resources=resources))
    assert len(answer.responses) == 1
    stored = json.loads(broker.zookeeper.data("/config/topics/t") or b"")
    assert stored["config"] == {"segment.ms": "6"}


def test_captured_requests_are_answered_as_kafka_did(broker: AdminBroker) -> None:
    seen = 0
    for version, request, theirs in golden_exchanges(AlterConfigsRequest):
        assert str(broker.ask(request, version)) == str(theirs)
        seen += 1
    assert seen == 2
