"""CreateTopics, at every version."""

import pytest

from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_topics import (
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from tests.support.admin_broker import AdminBroker
from tests.support.golden_answers import golden_exchanges


def _request(*names: str, **options: bool) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics, timeout_ms=1000, **options)


@pytest.mark.parametrize("version", range(8))
def test_topic_is_created_at_every_version(version: int) -> None:
    broker = AdminBroker()
    (topic,) = broker.ask(_request("t"), version).topics
    assert (topic.name, topic.error_code) == ("t", ErrorCode.NONE)
    assert len(broker.metadata_cache.snapshot.topics["t"]) == 2
    if version >= 5:
        assert (topic.num_partitions, topic.replication_factor) == (2, 1)
        assert len(topic.configs) == 26
    if version >= 7:
        assert topic.topic_id == broker.metadata_cache.snapshot.topic_id("t")


def test_topic_named_twice_is_refused_twice_and_the_others_are_created() -> None:
    broker = AdminBroker()
    answer = broker.ask(_request("twice", "once", "twice"))
    assert [(t.name, t.error_code) for t in answer.topics] == [
        ("twice", ErrorCode.INVALID_REQUEST),
        ("once", ErrorCode.NONE),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert answer.topics[0].error_message == "Found multiple entries for this topic."
    assert list(broker.metadata_cache.snapshot.topics) == ["once"]


def test_only_the_controller_creates_topics() -> None:
    broker = AdminBroker()
    broker.controller.is_active = False
    (topic,) = broker.ask(_request("t")).topics
    assert topic.error_code == ErrorCode.NOT_CONTROLLER
    assert topic.error_message is None


def test_validation_alone_creates_nothing() -> None:
    broker = AdminBroker()
    (topic,) = broker.ask(_request("t", validate_only=True)).topics
    assert (topic.error_code, topic.num_partitions) == (ErrorCode.NONE, 2)
    assert topic.topic_id == ZERO_UUID
    assert not broker.metadata_cache.snapshot.topics


def test_refused_topic_has_its_reason_and_no_numbers() -> None:
    request = _request("t")
    request.topics[0].configs = [CreateableTopicConfig(name="foo", value="1")]
    (topic,) = AdminBroker().ask(request).topics
    assert topic.error_code == ErrorCode.INVALID_CONFIG
    assert topic.error_message == "Unknown topic config name: foo"
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, [])


def test_captured_requests_are_answered_as_kafka_did() -> None:
    seen = 0
    for version, request, theirs in golden_exchanges(CreateTopicsRequest):
        ours = AdminBroker(brokers=3).ask(request, version)
        for topic, golden in zip(ours.topics, theirs.topics, strict=True):
            assert (topic.name, topic.error_code) == (golden.name, golden.error_code)
            assert topic.num_partitions == golden.num_partitions
            assert topic.replication_factor == golden.replication_factor
            # A dynamic default for retention was set for a while when this was captured.
            changed = {"retention.ms"}
            rows = {
                c.name: (c.value, c.read_only, c.config_source, c.is_sensitive)
                for c in topic.configs
            }
            golden_rows = {
                c.name: (c.value, c.read_only, c.config_source, c.is_sensitive)
                for c in golden.configs
            }
            assert rows.keys() == golden_rows.keys()
            assert {n for n in rows if rows[n] != golden_rows[n]} <= changed
            seen += 1
    assert seen > 10
