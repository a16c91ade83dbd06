"""A gateway listener: one address of a three-broker cluster is enough for any client."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkalike.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalike.protocol.messages.metadata import MetadataRequest
from tests.support import one_way_out, wire
from tests.support.apache_kafka import ToolResult
from tests.support.broker import Broker
from tests.support.clients.java_console import JavaConsoleClient
from tests.support.clients.message import Message
from tests.support.forwarding_cluster import ForwardingCluster
from tests.support.target import unique_topic

pytestmark = pytest.mark.ensemble

GATEWAY = 3
PARTITIONS, COUNT = 6, 600


@pytest.fixture(scope="module")
def three(broker_factory: Callable[..., Broker]) -> ForwardingCluster:
    return ForwardingCluster(broker_factory)


@pytest.mark.parametrize("client", ["confluent", "kafka-python"])
def test_client_with_one_address_administers_produces_and_consumes(
    three: ForwardingCluster, client: str
) -> None:
    """Rule 9, M30, M31, M32: in a network where no other port exists, of brokers or ZooKeeper."""
    port = three.ports["GATEWAY"][GATEWAY]
    arguments = [
        *("-m", "tests.support.gateway_client", client, f"127.0.0.1:{port}"),
        *(unique_topic("gateway"), str(PARTITIONS), str(COUNT), str(three.ports["PLAINTEXT"][1])),
    ]
    done = one_way_out.run_python(arguments, port)
    found: dict[str, Any] = json.loads(done.output)
    assert not found["is_elsewhere_reachable"]
    assert done.connections
    assert found["nodes"] == [GATEWAY]
    assert found["leaders"] == [GATEWAY]
    assert found["replicas"] == [3] * PARTITIONS
    assert found["ends"] == [COUNT // PARTITIONS] * PARTITIONS
    assert found["received"] == [list(range(p, COUNT, PARTITIONS)) for p in range(PARTITIONS)]
    if client == "confluent":
        assert found["controller"] == GATEWAY
        assert found["retention"] == "7200000"


def test_groups_and_transactions_work_through_a_gateway(three: ForwardingCluster) -> None:
    """Rule 9, M31: whichever brokers coordinate them, the client knows one."""
    port = three.ports["GATEWAY"][GATEWAY]
    arguments = [
        *("-m", "tests.support.gateway_client", "coordinated", f"127.0.0.1:{port}"),
        *(unique_topic("gateway"), str(PARTITIONS), "60", str(three.ports["PLAINTEXT"][1])),
    ]
    found: dict[str, Any] = json.loads(one_way_out.run_python(arguments, port, 180).output)
    committed = sorted(f"{number}-{n}" for number in (0, 2) for n in range(60))
    assert found["received"] == [committed] * 4, "what was aborted is not seen"
    assert found["again"] == [], "what was committed is not read again"
    assert found["listed"] == sorted(found["groups"])
    assert found["states"] == ["EMPTY"] * 4
    assert not found["is_elsewhere_reachable"]


@pytest.mark.kafka
def test_tools_of_apache_kafka_work_through_a_gateway(
    three: ForwardingCluster, apache_kafka_tools: Callable[..., ToolResult]
) -> None:
    """Rule 9: create, produce, consume and ask for offsets with the Java client."""
    topic, address = unique_topic("gateway"), three.address(GATEWAY, "GATEWAY")
    created = apache_kafka_tools(
        "kafka.admin.TopicCommand",
        *("--bootstrap-server", address, "--create", "--topic", topic),
        *("--replica-assignment", "1:2"),
    )
    assert created.exit_code == 0, created.stderr + created.stdout
    java = JavaConsoleClient()
    java.produce(address, topic, [Message(None, b"one"), Message(None, b"two")], "lz4")
    assert [record.value for record in java.consume(address, topic, 2)] == [b"one", b"two"]
    assert java.offset_range(address, topic) == (0, 2)


def test_every_node_id_of_a_gateway_is_its_own(three: ForwardingCluster) -> None:
    """Rule 9: one consistent node id, and the true leader epochs."""
    topic = three.create_topic([1, 2], [2, 1])
    three.move_leader(topic, 0, to=2)
    port = three.ports["GATEWAY"][GATEWAY]
    with three.connect(1) as client:
        epochs = [p.leader_epoch for p in wire.metadata(client, topic).partitions]
    with three.connect(GATEWAY, "GATEWAY") as client:
        answer = client.send(MetadataRequest(topics=None))
        assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [
            (GATEWAY, "127.0.0.1", port)
        ]
        ids = {answer.controller_id}
        for one in answer.topics:
            for p in one.partitions:
                ids |= {p.leader_id, *p.replica_nodes, *p.isr_nodes}
        assert ids == {GATEWAY}
        assert [p.leader_epoch for p in wire.metadata(client, topic).partitions] == epochs
        assert epochs[0] > 0
        cluster = client.send(DescribeClusterRequest())
        assert [b.broker_id for b in cluster.brokers] == [cluster.controller_id] == [GATEWAY]


def test_gateway_goes_on_when_the_leader_changes(three: ForwardingCluster) -> None:
    """Rule 9: rule 7 does not apply: the client has nothing to learn, and nowhere to go."""
    topic = three.create_topic([3, 1])
    with three.connect(GATEWAY, "GATEWAY") as client:
        assert wire.append(client, topic, b"led here") == 0
        three.move_leader(topic, 0, to=1)
        assert wire.append(client, topic, b"led there") == 1
        found = [record.value for record in wire.read_all(client, topic)]
        assert found == [b"led here", b"led there"]


def test_long_poll_ends_with_the_first_records_of_any_leader(three: ForwardingCluster) -> None:
    """Rule 9: records of one broker do not wait for the patience of another."""
    topic = three.create_topic([1], [2], [3])
    wanted = [
        FetchPartition(partition=p, fetch_offset=0, partition_max_bytes=1 << 20) for p in range(3)
    ]
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=20_000,
        min_bytes=1,
        topics=[FetchTopic(topic=topic, partitions=wanted)],
    )
    for leader in (1, 2, 3):
        with three.connect(GATEWAY, "GATEWAY", timeout_s=15) as client:
            correlation_id = client.send_only(request, 12)
            with three.connect(leader) as producer:
                wire.append(producer, topic, b"news", partition=leader - 1)
            answer = client.receive(ApiKey.FETCH, 12, correlation_id)
        (one,) = answer.responses
        assert [p.error_code for p in one.partition_responses] == [ErrorCode.NONE] * 3
        assert any(p.record_set for p in one.partition_responses)
