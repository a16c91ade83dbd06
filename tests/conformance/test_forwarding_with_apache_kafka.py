"""Beside a real Apache Kafka 2.8.2: it serves what we forward, and refuses as we do without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalike.protocol.schema import Message
from tests.support import wire
from tests.support.apache_kafka import ApacheKafka, apache_kafka_libs, why_no_apache_kafka
from tests.support.broker import Broker
from tests.support.ensemble import Ensemble
from tests.support.ports import free_ports
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.ensemble]

OURS, THEIRS = 1, 2
TIMEOUT_MS = 20_000


class Pair:
    """Broker 1 is ours, broker 2 is Apache's and the controller."""

    def __init__(self, directory: Path, zookeeper_connect: str) -> None:
        self.apache = ApacheKafka(
            directory / "apache", first_id=THEIRS, zookeeper_connect=zookeeper_connect
        )
        self.plain, self.refusing = free_ports(2)
        names = {"PLAINTEXT": self.plain, "REFUSING": self.refusing}
        self.ours = Broker(
            directory / "ours",
            zookeeper_connect,
            broker_id=OURS,
            properties={
                "listeners": ",".join(f"{n}://127.0.0.1:{port}" for n, port in names.items()),
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,REFUSING:PLAINTEXT",
                "listener.name.refusing.forwarding.enable": "false",
                "offsets.topic.replication.factor": "1",
            },
        )
        self.ours.port = self.plain

    def start(self) -> None:
        self.apache.start()
        self.ours.start()
        with self.our_side() as client:
            wait_until(lambda: self._is_complete(client), 30, "two brokers, one controller")

    @staticmethod
    def _is_complete(client: SimpleClient) -> bool:
        answer = client.send(MetadataRequest(topics=[]))
        return len(answer.brokers) == 2 and answer.controller_id == THEIRS

    def stop(self) -> None:
        self.ours.kill()
        self.apache.stop()

    def our_side(self) -> SimpleClient:
        return SimpleClient("127.0.0.1", self.plain, client_id="tester")

    def our_side_without_forwarding(self) -> SimpleClient:
        return SimpleClient("127.0.0.1", self.refusing, client_id="tester")

    def their_side(self) -> SimpleClient:
        return SimpleClient("127.0.0.1", self.apache.ports[THEIRS], client_id="tester")

    def create_topic(self, *leaders: int) -> str:
        """Create a topic through our broker; each partition has one replica."""
        name = unique_topic("pair")
        assignments = [
            CreatableReplicaAssignment(partition_index=p, broker_ids=[leader])
            for p, leader in enumerate(leaders)
        ]
        topic = CreatableTopic(
            name=name, num_partitions=-1, replication_factor=-1, assignments=assignments
        )
        with self.our_side() as client:
            (made,) = client.send(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)).topics
        assert made.error_code == ErrorCode.NONE, made
        for connect in (self.our_side, self.their_side):
            with connect() as client:
                wait_until(lambda: wire.is_led(client, name, len(leaders)), 20, "leaders")
        return name


@pytest.fixture(scope="module")
def pair(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    if apache_kafka_libs() is None:
        pytest.skip(why_no_apache_kafka())
    connect = f"{ensemble.connect_string}/forwarding-pair"
    made = Pair(tmp_path_factory.mktemp("pair"), connect)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_apache_kafka_serves_what_we_forward(pair: Pair) -> None:
    """M30, M31, rule 4: it tolerates the mark; also as controller, which created the topic."""
    topic = pair.create_topic(THEIRS, OURS)
    with pair.our_side() as client:
        for partition in (0, 1):
            assert wire.append(client, topic, b"a", b"b", partition=partition) == 0
            found = wire.read_all(client, topic, partition=partition)
            assert [record.value for record in found] == [b"a", b"b"]
        for version in range(10):
            wire.fetch_records(client, topic, 0, version)
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=topic, count=3, assignments=None)],
            timeout_ms=TIMEOUT_MS,
        )
        (grown,) = client.send(request).results
        assert grown.error_code == ErrorCode.NONE
    with pair.their_side() as client:
        assert [record.value for record in wire.read_all(client, topic)] == [b"a", b"b"]


def _delete_records(topic: str) -> Message:
    one = DeleteRecordsPartition(partition_index=0, offset=0)
    topics = [DeleteRecordsTopic(name=topic, partitions=[one])]
    return DeleteRecordsRequest(timeout_ms=1000, topics=topics)


def _epochs(topic: str) -> Message:
    one = OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)
    topics = [OffsetForLeaderTopic(topic=topic, partitions=[one])]
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)


QUESTIONS: dict[str, Any] = {
    "produce": lambda topic: wire.produce_request(topic, wire.batch(b"v"), acks=-1),
    "fetch": lambda topic: wire.fetch_request(topic, 0, session_epoch=-1),
    "delete-records": _delete_records,
    "epochs": _epochs,
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_without_forwarding_we_refuse_as_apache_kafka_does(pair: Pair, what: str) -> None:
    """M35, rule 8: field by field, in every version, of a partition that the other one leads."""
    theirs, ours = pair.create_topic(THEIRS), pair.create_topic(OURS)
    probe: Message = QUESTIONS[what](theirs)
    first = 3 if what == "produce" else 0  # older ones want older batches
    with pair.our_side_without_forwarding() as us, pair.their_side() as them:
        for version in range(first, probe.max_version + 1):
            got = repr(us.send(QUESTIONS[what](theirs), version)).replace(theirs, "t")
            expected = repr(them.send(QUESTIONS[what](ours), version)).replace(ours, "t")
            assert got == expected, f"version {version}"
            assert f"error_code={ErrorCode.NOT_LEADER_OR_FOLLOWER:d}" in got


@pytest.mark.parametrize("version", range(7))
def test_offsets_are_refused_as_by_apache_kafka(pair: Pair, version: int) -> None:
    """M35, rule 8."""
    theirs, ours = pair.create_topic(THEIRS), pair.create_topic(OURS)
    with pair.our_side_without_forwarding() as us, pair.their_side() as them:
        got = wire.list_offsets(us, theirs, wire.LATEST, version=version)
        assert got == wire.list_offsets(them, ours, wire.LATEST, version=version)
        assert got.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_broker_that_is_not_the_controller_says_so(pair: Pair) -> None:
    """M35, rule 8: Apache's is the controller here, so 2.8's code is taken from its source."""
    create = CreateTopicsRequest(
        topics=[CreatableTopic(name="x", num_partitions=1, replication_factor=1)],
        timeout_ms=1000,
    )
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(name="x")], timeout_ms=1000)
    with pair.our_side_without_forwarding() as client:
        assert client.send(create).topics[0].error_code == ErrorCode.NOT_CONTROLLER
        assert client.send(delete).responses[0].error_code == ErrorCode.NOT_CONTROLLER


def test_group_is_coordinated_by_apache_kafka_through_our_broker(pair: Pair) -> None:
    """M31: a request about a group goes to whoever coordinates it."""
    with pair.our_side() as us, pair.our_side_without_forwarding() as refusing:
        group = wait_until(lambda: _group_at(us, THEIRS), 30, "a group")
        request = HeartbeatRequest(group_id=group, generation_id=1, member_id="nobody")
        expected = ErrorCode.UNKNOWN_MEMBER_ID
        wait_until(lambda: us.send(request).error_code == expected, 20, "its coordinator")
        assert refusing.send(request).error_code == ErrorCode.NOT_COORDINATOR


def _group_at(client: SimpleClient, broker_id: int) -> str | None:
    """Return a group that this broker coordinates."""
    for number in range(50):
        answer = client.send(FindCoordinatorRequest(key=f"g{number}", key_type=0))
        if not answer.error_code and answer.node_id == broker_id:
            return f"g{number}"
    return None
