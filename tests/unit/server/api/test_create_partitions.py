"""CreatePartitions, at every version."""

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tests.support.admin_broker import AdminBroker


def _request(*counts: tuple[str, int]) -> CreatePartitionsRequest:
    topics = [CreatePartitionsTopic(name=n, count=c, assignments=None) for n, c in counts]
    return CreatePartitionsRequest(topics=topics, timeout_ms=1000)


@pytest.fixture
def broker() -> AdminBroker:
    started = AdminBroker()
    started.create_topic("t", {0: (1,)})
    started.create_topic("u", {0: (1,)})
    return started


@pytest.mark.parametrize("version", range(4))
def test_topic_grows_at_every_version(broker: AdminBroker, version: int) -> None:
    (topic,) = broker.ask(_request(("t", 3)), version).results
    assert (topic.name, topic.error_code, topic.error_message) == ("t", 0, None)
    assert len(broker.metadata_cache.snapshot.topics["t"]) == 3


def test_topic_named_twice_is_refused_once(broker: AdminBroker) -> None:
    answer = broker.ask(_request(("t", 2), ("u", 2), ("t", 3)))
    assert [(t.name, t.error_code, t.error_message) for t in answer.results] == [
        ("t", ErrorCode.INVALID_REQUEST, "Duplicate topic in request."),
        ("u", ErrorCode.NONE, None),
    ]


def test_topic_that_is_being_deleted_does_not_grow(broker: AdminBroker) -> None:
    broker.controller.context.topics_to_be_deleted["t"] = None
    (topic,) = broker.ask(_request(("t", 2))).results
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert topic.error_message == "The topic is queued for deletion."


def test_only_the_controller_adds_partitions(broker: AdminBroker) -> None:
    broker.controller.is_active = False
    (topic,) = broker.ask(_request(("t", 2))).results
    assert topic.error_code == ErrorCode.NOT_CONTROLLER
