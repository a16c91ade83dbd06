"""DeleteTopics, at every version."""

import pytest

from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.support.admin_broker import AdminBroker


def _request(
    *names: str | None, ids: tuple[bytes, ...] = (), version: int = 6, timeout_ms: int = 1000
) -> DeleteTopicsRequest:
    if version < 6:
        return DeleteTopicsRequest(
            topic_names=[name for name in names if name is not None], timeout_ms=timeout_ms
        )
    topics = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in names]
    topics += [DeleteTopicState(name=None, topic_id=topic_id) for topic_id in ids]
    return DeleteTopicsRequest(topics=topics, timeout_ms=timeout_ms)


@pytest.fixture
def broker() -> AdminBroker:
    started = AdminBroker()
    started.create_topic("t", {0: (1,)})
    return started


@pytest.mark.parametrize("version", range(7))
def test_topic_is_deleted_at_every_version(broker: AdminBroker, version: int) -> None:
    answer = broker.ask(_request("t", "nope", version=version), version)
    assert [(t.name, t.error_code) for t in answer.responses] == [
        ("t", ErrorCode.NONE),
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert not broker.metadata_cache.snapshot.topics


def test_topic_is_deleted_by_its_id(broker: AdminBroker) -> None:
    topic_id = broker.metadata_cache.snapshot.topic_id("t")
    (topic,) = broker.ask(_request(ids=(topic_id,))).responses
    assert (topic.name, topic.topic_id, topic.error_code) == ("t", topic_id, ErrorCode.NONE)
    assert not broker.metadata_cache.snapshot.topics


def test_unknown_id_has_no_name(broker: AdminBroker) -> None:
    (topic,) = broker.ask(_request(ids=(b"x" * 16,))).responses
    assert (topic.name, topic.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


def test_name_and_id_together_are_refused(broker: AdminBroker) -> None:
    both = DeleteTopicState(name="t", topic_id=b"x" * 16)
    request = DeleteTopicsRequest(topics=[both], timeout_ms=1000)
    (topic,) = broker.ask(request).responses
    assert topic.error_code == ErrorCode.INVALID_REQUEST
    assert "t" in broker.metadata_cache.snapshot.topics


def test_neither_name_nor_id_is_not_authorized(broker: AdminBroker) -> None:
    (topic,) = broker.ask(_request(None)).responses
    assert topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_topic_named_twice_is_deleted_once_and_answered_twice(broker: AdminBroker) -> None:
    answer = broker.ask(_request("t", "t"))
    assert [t.error_code for t in answer.responses] == [0, 0]


@pytest.mark.parametrize(
    ("version", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)],
)
def test_deletion_can_be_disabled(version: int, code: ErrorCode) -> None:
    broker = AdminBroker({"delete.topic.enable": "false"})
    broker.create_topic("t", {0: (1,)})
    (topic,) = broker.ask(_request("t", version=version), version).responses
    assert topic.error_code == code
    assert "t" in broker.metadata_cache.snapshot.topics


def test_only_the_controller_deletes_topics(broker: AdminBroker) -> None:
    broker.controller.is_active = False
    (topic,) = broker.ask(_request("t")).responses
    assert topic.error_code == ErrorCode.NOT_CONTROLLER


def test_without_a_timeout_deletion_is_only_begun(broker: AdminBroker) -> None:
    (topic,) = broker.ask(_request("t", timeout_ms=0)).responses
    assert topic.error_code == ErrorCode.REQUEST_TIMED_OUT
    broker.react()
    assert not broker.metadata_cache.snapshot.topics
