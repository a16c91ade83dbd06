"""Changes reach a broker through ZooKeeper: configs, topics, deletions, other brokers."""

import json
import time
from collections.abc import Callable

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalike.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalike.protocol.messages.metadata import MetadataRequest
from tests.support import wire
from tests.support.new_broker import NewBroker, connect_to
from tests.support.target import unique_topic
from tests.support.waiting import wait_until
from tests.support.znode_client import ZnodeClient

pytestmark = pytest.mark.ensemble

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
# "Notified within a second" is about the watch, not about a machine that is busy with other tests:
# the quickest of some tries counts.
TRIES = 3
NOTIFIED_S = 1.0


def _quickest(change: Callable[[int], Callable[[], object]]) -> float:
    """Make a change some times; `change(n)` makes it and returns what tells that it took effect."""
    seconds = []
    for number in range(TRIES):
        started = time.monotonic()
        wait_until(change(number), 20, "effect of the change")
        seconds.append(time.monotonic() - started)
    return min(seconds)


def _alter(client: SimpleClient, kind: int, name: str, key: str, value: str | None) -> None:
    operation = DELETE if value is None else SET
    resource = AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[AlterableConfig(name=key, config_operation=operation, value=value)],
    )
    (answer,) = client.send(IncrementalAlterConfigsRequest(resources=[resource])).responses
    assert answer.error_code == ErrorCode.NONE, answer.error_message


def _takes(client: SimpleClient, topic: str, size: int) -> bool:
    """Whether the topic takes a batch of that size."""
    answer = wire.produce(client, topic, wire.batch(bytes(size)))
    assert answer.error_code in (ErrorCode.NONE, ErrorCode.MESSAGE_TOO_LARGE)
    return answer.error_code == ErrorCode.NONE


def test_topic_config_takes_effect_within_a_second(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M67, M71: kept in /config/topics, told through /config/changes."""
    broker = new_broker()
    with connect_to(broker) as client:
        topic = wire.create_topic(client)
        assert _takes(client, topic, 5000)

        def change(number: int) -> Callable[[], object]:
            _alter(client, TOPIC, topic, "max.message.bytes", str(1000 + number))
            assert znodes.json(f"/config/topics/{topic}") == {
                "version": 1,
                "config": {"max.message.bytes": str(1000 + number)},
            }
            return lambda: not _takes(client, topic, 5000)

        assert _quickest(change) < NOTIFIED_S
        _alter(client, TOPIC, topic, "max.message.bytes", None)
        wait_until(lambda: _takes(client, topic, 5000), 10, "the default again")
    last = znodes.children("/config/changes")[-1]
    assert znodes.json(f"/config/changes/{last}") == {
        "version": 2,
        "entity_path": f"topics/{topic}",
    }


def test_config_that_a_tool_wrote_to_zookeeper_takes_effect(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M67, M71: as `kafka-configs --zookeeper` does it, past the broker."""
    broker = new_broker()
    with connect_to(broker) as client:
        topic = wire.create_topic(client)

        def change(number: int) -> Callable[[], object]:
            limit = 1000 if number % 2 == 0 else 100_000
            config = {"version": 1, "config": {"max.message.bytes": str(limit)}}
            znodes.kazoo.set(f"/config/topics/{topic}", json.dumps(config).encode())
            told = json.dumps({"version": 2, "entity_path": f"topics/{topic}"}).encode()
            znodes.create("/config/changes/config_change_", told, is_sequence=True)
            return lambda: _takes(client, topic, 5000) is (limit > 5000)

        assert _quickest(change) < NOTIFIED_S


@pytest.mark.parametrize("name", ["1", ""], ids=["this broker", "all brokers"])
def test_broker_config_changes_without_a_restart(
    new_broker: NewBroker, znodes: ZnodeClient, name: str
) -> None:
    """M67: a default that topics inherit, in /config/brokers."""
    broker = new_broker()
    with connect_to(broker) as client:
        topic = wire.create_topic(client)
        assert _takes(client, topic, 5000)
        _alter(client, BROKER, name, "message.max.bytes", "1000")
        wait_until(lambda: not _takes(client, topic, 5000), 10, "the new limit")
        kept = znodes.json(f"/config/brokers/{name or '<default>'}")
        assert kept["config"] == {"message.max.bytes": "1000"}
    broker.restart()
    with connect_to(broker) as client:
        wait_until(lambda: wire.is_led(client, topic), 20, "its leader")
        assert not _takes(client, topic, 5000)


def test_topic_that_a_tool_created_in_zookeeper_is_served(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M71: a new topic, as `kafka-topics --zookeeper --create` makes it."""
    broker = new_broker()
    with connect_to(broker) as client:

        def change(number: int) -> Callable[[], object]:
            name = unique_topic("by-tool")
            znodes.create(f"/config/topics/{name}", b'{"version":1,"config":{}}')
            assignment = {"version": 2, "partitions": {"0": [1], "1": [1]}}
            znodes.create(f"/brokers/topics/{name}", json.dumps(assignment).encode())
            return lambda: wire.is_led(client, name, 2)

        assert _quickest(change) < NOTIFIED_S
        topic = znodes.children("/brokers/topics")[0]
        assert wire.append(client, topic, b"value", partition=1) == 0
        assert znodes.json(f"/brokers/topics/{topic}/partitions/1/state")["leader"] == 1


@pytest.mark.parametrize("is_by_tool", [True, False], ids=["by a tool", "by a request"])
def test_deleted_topic_vanishes_everywhere(
    new_broker: NewBroker, znodes: ZnodeClient, is_by_tool: bool
) -> None:
    """M71: from metadata, from ZooKeeper and from disk; its name is free again."""
    broker = new_broker(properties={"log.segment.delete.delay.ms": "100"})
    with connect_to(broker) as client:
        topic = wire.create_topic(client, partitions=2)
        wire.append(client, topic, b"old", partition=1)
        if is_by_tool:
            znodes.create(f"/admin/delete_topics/{topic}")
        else:
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=10_000)
            (answer,) = client.send(request).responses
            assert answer.error_code == ErrorCode.NONE

        def is_gone() -> bool:
            paths = ("/brokers/topics", "/config/topics", "/admin/delete_topics")
            told = wire.metadata(client, topic)
            return told.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not any(
                znodes.exists(f"{path}/{topic}") for path in paths
            )

        wait_until(is_gone, 15, f"{topic} gone")
        wait_until(lambda: not list(broker.log_dir.glob(f"{topic}*")), 15, "its files gone")
        answer = wire.produce(client, topic, wire.batch(b"too late"))
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        znodes.create(f"/brokers/topics/{topic}", b'{"version":2,"partitions":{"0":[1]}}')
        wait_until(lambda: wire.is_led(client, topic), 15, "the new topic of the old name")
        assert wire.append(client, topic, b"new") == 0


def test_brokers_that_come_and_go_are_told(new_broker: NewBroker) -> None:
    """M71: the controller hears of it by a watch, and tells the others."""
    first = new_broker(broker_id=1)
    second = new_broker(broker_id=2, is_started=False)

    def told() -> list[int]:
        with connect_to(first) as client:
            return sorted(b.node_id for b in client.send(MetadataRequest(topics=[])).brokers)

    wait_until(lambda: told() == [1], 10, "broker 1 alone")
    second.start()
    wait_until(lambda: told() == [1, 2], 10, "both brokers")

    def change(number: int) -> Callable[[], object]:
        if second.is_alive:
            second.terminate()
            return lambda: told() == [1]
        second.start()
        return lambda: told() == [1, 2]

    for number in range(TRIES):
        wait_until(change(number), 10, "broker 2 gone or back")
