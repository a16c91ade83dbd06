"""The `--zookeeper` ways of Kafka 2.8's own tools: they write znodes, and our controller acts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalike.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponsePartition,
)
from tests.support.apache_kafka import ToolResult
from tests.support.broker import Broker
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.ensemble]

TOPICS = "kafka.admin.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
REASSIGN = "kafka.admin.ReassignPartitionsCommand"
_TOPIC_RESOURCE = 2


@pytest.fixture(scope="module")
def brokers(broker_factory: Callable[..., Broker]) -> dict[int, Broker]:
    return {number: broker_factory(broker_id=number) for number in (1, 2, 3)}


@pytest.fixture
def tool(
    brokers: dict[int, Broker], apache_kafka_tools: Callable[..., ToolResult]
) -> Callable[..., str]:
    """Run a stock tool with `--zookeeper`; return what it printed."""

    def run(main_class: str, *args: str) -> str:
        done = apache_kafka_tools(
            main_class,
            "--zookeeper",
            brokers[1].properties["zookeeper.connect"],
            *args,
            timeout=120,
        )
        assert done.exit_code == 0, done.stdout + done.stderr
        return done.stdout

    return run


def partitions(broker: Broker, topic: str) -> dict[int, MetadataResponsePartition]:
    with SimpleClient("127.0.0.1", broker.port) as client:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        answer = client.send(asked, 9)
    return {found.partition_index: found for found in answer.topics[0].partitions}


def wait_for_partitions(broker: Broker, topic: str, count: int) -> None:
    def are_led() -> bool:
        found = partitions(broker, topic)
        return len(found) == count and all(one.leader_id >= 0 for one in found.values())

    wait_until(are_led, 30, f"{count} partitions of {topic} with leaders")


def test_topic_is_created_described_extended_and_deleted(
    brokers: dict[int, Broker], tool: Callable[..., str]
) -> None:
    """M36: leader, replicas and ISR of each partition are in the state znode, as its tool reads."""
    tool(
        TOPICS, "--create", "--topic", "old-ways", "--partitions", "2", "--replication-factor", "3"
    )
    wait_for_partitions(brokers[2], "old-ways", 2)

    described = tool(TOPICS, "--describe", "--topic", "old-ways")
    first, *lines = described.strip().splitlines()
    assert "PartitionCount: 2\tReplicationFactor: 3" in first
    for line, found in zip(lines, partitions(brokers[2], "old-ways").values(), strict=True):
        assert f"Leader: {found.leader_id}\t" in line
        assert f"Replicas: {','.join(map(str, found.replica_nodes))}\t" in line
        in_sync = line.split("Isr: ")[1].split(",")
        assert sorted(map(int, in_sync)) == sorted(found.isr_nodes) == [1, 2, 3]

    tool(TOPICS, "--alter", "--topic", "old-ways", "--partitions", "5")
    wait_for_partitions(brokers[3], "old-ways", 5)

    tool(TOPICS, "--delete", "--topic", "old-ways")
    wait_until(lambda: not partitions(brokers[1], "old-ways"), 30, "the deletion of old-ways")


def test_topic_config_is_altered(brokers: dict[int, Broker], tool: Callable[..., str]) -> None:
    tool(
        TOPICS,
        "--create",
        "--topic",
        "configured",
        "--partitions",
        "1",
        "--replication-factor",
        "1",
    )
    wait_for_partitions(brokers[1], "configured", 1)
    entity = ("--entity-type", "topics", "--entity-name", "configured")
    tool(CONFIGS, "--alter", *entity, "--add-config", "retention.ms=12345")

    def retention_ms() -> str | None:
        resource = DescribeConfigsResource(
            resource_type=_TOPIC_RESOURCE,
            resource_name="configured",
            configuration_keys=["retention.ms"],
        )
        with SimpleClient("127.0.0.1", brokers[1].port) as client:
            answer = client.send(DescribeConfigsRequest(resources=[resource]), 1)
        value: str | None = answer.results[0].configs[0].value
        return value

    wait_until(lambda: retention_ms() == "12345", 20, "the new retention time")


def test_partition_is_reassigned(
    brokers: dict[int, Broker], tool: Callable[..., str], tmp_path: Path
) -> None:
    tool(TOPICS, "--create", "--topic", "moved", "--replica-assignment", "1:2")
    wait_for_partitions(brokers[1], "moved", 1)
    plan = tmp_path / "plan.json"
    wanted = {"topic": "moved", "partition": 0, "replicas": [3, 1]}
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    tool(REASSIGN, "--reassignment-json-file", str(plan), "--execute")

    def is_moved() -> bool:
        found = partitions(brokers[3], "moved")[0]
        return list(found.replica_nodes) == [3, 1] and sorted(found.isr_nodes) == [1, 3]

    wait_until(is_moved, 60, "replicas 3 and 1")
    verified = tool(REASSIGN, "--reassignment-json-file", str(plan), "--verify")
    assert "Reassignment of partition moved-0 is complete" in verified
