"""Requests that arrive at the wrong broker of three are forwarded to the right one.

Broker 3 leads nothing of most topics here: whatever it answers about them comes from elsewhere.
"""

import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.errors import error_for
from kafkalike.protocol.messages import alter_partition_reassignments as reassignments
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalike.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalike.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.records.legacy_message_set import encode_message
from kafkalike.protocol.records.record_reader import iter_all_records
from tests.support import one_way_out, wire
from tests.support.apache_kafka import ToolResult
from tests.support.broker import Broker
from tests.support.forwarding_cluster import BROKERS, ForwardingCluster
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

ENTRY = 3
TIMEOUT_MS = 20_000
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.fixture(scope="module")
def three(broker_factory: Callable[..., Broker]) -> ForwardingCluster:
    return ForwardingCluster(broker_factory)


@pytest.fixture
def entry(three: ForwardingCluster) -> Iterator[SimpleClient]:
    """A connection to the broker that leads nothing."""
    with three.connect(ENTRY) as client:
        yield client


def produce_to(topic: str, *partitions: int, acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=p, records=wire.batch(b"to %d" % p)) for p in partitions]
    return ProduceRequest(
        acks=acks,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )


def values(client: SimpleClient, topic: str, partition: int = 0) -> list[bytes | None]:
    return [record.value for record in wire.read_all(client, topic, partition=partition)]


# --- rule 1


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", [0, 2, 3, 8, 9])
def test_raw_produce_to_a_broker_that_leads_nothing_returns_the_offset(
    three: ForwardingCluster, entry: SimpleClient, acks: int, version: int
) -> None:
    """M30, rule 1, C1: the leader's acknowledgement is relayed."""
    topic = three.create_topic([1, 2])
    magic = {0: 0, 2: 1}.get(version, 2)
    for offset in range(3):
        if magic == 2:
            records = wire.batch(b"value")
        else:
            records = encode_message(0, magic, 1, None, b"value")
        answer = wire.produce(entry, topic, records, acks=acks, version=version)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, offset)
    with three.connect(1) as leader:
        # With acks=1 the followers, and so the high watermark, may be behind.
        wait_until(lambda: values(leader, topic) == [b"value"] * 3, 10, "three records")


def test_leader_sees_who_forwards_for_whom(three: ForwardingCluster) -> None:
    """M30: the trace of the hop: one more connection to the leader, from the entry broker."""
    topic = three.create_topic([1])
    with three.connect(ENTRY, client_id="traced") as client:
        before = three.connections_between(ENTRY, 1)
        for _ in range(3):
            wire.append(client, topic, b"v")
        assert three.connections_between(ENTRY, 1) == before + 1, "rule 2: one, not three"
        client.close()
    wait_until(lambda: three.connections_between(ENTRY, 1) == before, 10, "its end")


def test_client_that_is_cut_off_from_the_leaders_produces_and_fetches(
    three: ForwardingCluster,
) -> None:
    """M30, M31, M32: in a network where only the entry broker's port exists."""
    topic = three.create_topic([1, 2], [2, 1])
    script = (
        "import sys; from tests.support import wire;"
        "from kafkalike.client.simple_client import SimpleClient;"
        "host, port, topic, other = sys.argv[1:];"
        "client = SimpleClient(host, int(port));"
        "offsets = [wire.append(client, topic, b'v', partition=p) for p in (0, 1)];"
        "read = [wire.read_all(client, topic, partition=p)[0].value for p in (0, 1)];"
        "print(offsets, read)\n"
        "try: SimpleClient(host, int(other))\n"
        "except ConnectionRefusedError: print('no way to the leader')\n"
    )
    port, leader_port = three.ports["PLAINTEXT"][ENTRY], three.ports["PLAINTEXT"][1]
    arguments = ["127.0.0.1", str(port), topic, str(leader_port)]
    output = one_way_out.run_python(["-c", script, *arguments], port).output
    assert output.splitlines() == ["[0, 0] [b'v', b'v']", "no way to the leader"]


@pytest.mark.parametrize("version", [0, 3, 4, 7, 11, 12])
def test_raw_fetch_from_a_broker_that_leads_nothing_returns_the_records(
    three: ForwardingCluster, entry: SimpleClient, version: int
) -> None:
    """M31, rule 1: in versions with old formats, with sessions, and in between."""
    topic = three.create_topic([1, 2])
    wire.append(entry, topic, b"a", b"b")
    found = wire.fetch_records(entry, topic, 0, version)
    assert [record.value for record in found] == [b"a", b"b"]


def test_fetch_waits_at_the_leader_for_records(
    three: ForwardingCluster, entry: SimpleClient
) -> None:
    """M31: a long poll through the hop ends when records come."""
    topic = three.create_topic([1])
    request = wire.fetch_request(topic, 0, max_wait_ms=TIMEOUT_MS)
    correlation_id = entry.send_only(request, 12)
    with three.connect(1) as leader:
        wire.append(leader, topic, b"at last")
    answer = entry.receive(ApiKey.FETCH, 12, correlation_id)
    ((found,),) = (one.partition_responses for one in answer.responses)
    assert [r.value for r in iter_all_records(bytes(found.record_set))] == [b"at last"]


def test_produce_and_fetch_are_split_by_leader_and_merged(
    three: ForwardingCluster, entry: SimpleClient
) -> None:
    """Rule 1: each partition has its own leader, the entry broker among them."""
    topic = three.create_topic([1], [2], [3])
    answer = entry.send(produce_to(topic, 2, 0, 1))
    ((parts,),) = (answer.responses,)
    done = [(p.index, p.error_code, p.base_offset) for p in parts.partition_responses]
    assert done == [(2, 0, 0), (0, 0, 0), (1, 0, 0)]
    for partition in range(3):
        assert values(entry, topic, partition) == [b"to %d" % partition]
        assert wire.list_offset(entry, topic, wire.LATEST, partition=partition) == 1


def test_epochs_and_deletions_are_the_leaders_to_answer(
    three: ForwardingCluster, entry: SimpleClient
) -> None:
    """Rule 1: OffsetForLeaderEpoch and DeleteRecords."""
    topic = three.create_topic([1, 2])
    wire.append(entry, topic, b"a", b"b", b"c")
    wanted = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    asked = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
    )
    ((end,),) = (one.partitions for one in entry.send(asked).topics)
    assert (end.error_code, end.leader_epoch, end.end_offset) == (0, 0, 3)
    delete = DeleteRecordsPartition(partition_index=0, offset=2)
    request = DeleteRecordsRequest(
        timeout_ms=TIMEOUT_MS, topics=[DeleteRecordsTopic(name=topic, partitions=[delete])]
    )
    ((deleted,),) = (one.partitions for one in entry.send(request).topics)
    assert (deleted.error_code, deleted.low_watermark) == (0, 2)
    assert wire.list_offset(entry, topic, wire.EARLIEST) == 2


@pytest.mark.parametrize("broker_id", BROKERS)
def test_topics_are_administered_through_any_broker(
    three: ForwardingCluster, broker_id: int
) -> None:
    """Rule 1: requests for the controller arrive there, whoever is asked."""
    topic = unique_topic("administered")
    with three.connect(broker_id) as client:
        create = CreatableTopic(name=topic, num_partitions=1, replication_factor=2)
        request = CreateTopicsRequest(topics=[create], timeout_ms=TIMEOUT_MS)
        (created,) = client.send(request).topics
        assert (created.error_code, created.num_partitions) == (0, 1)
        (again,) = client.send(request).topics
        assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        more = CreatePartitionsTopic(name=topic, count=2, assignments=None)
        (grown,) = client.send(
            CreatePartitionsRequest(topics=[more], timeout_ms=TIMEOUT_MS)
        ).results
        assert grown.error_code == 0
        elected = client.send(_elect(topic))
        assert elected.error_code == 0
        ((one,),) = (found.partition_result for found in elected.replica_election_results)
        assert one.error_code == ErrorCode.ELECTION_NOT_NEEDED
        assert client.send(_cancel(topic)).error_code == 0
        moves = client.send(ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=None))
        assert (moves.error_code, moves.topics) == (0, [])
        doomed = [DeleteTopicState(name=topic)]
        (deleted,) = client.send(
            DeleteTopicsRequest(topics=doomed, timeout_ms=TIMEOUT_MS)
        ).responses
        assert deleted.error_code == 0


def _elect(topic: str) -> ElectLeadersRequest:
    wanted = [TopicPartitions(topic=topic, partition_id=[0])]
    return ElectLeadersRequest(election_type=0, topic_partitions=wanted, timeout_ms=TIMEOUT_MS)


def _cancel(topic: str) -> reassignments.AlterPartitionReassignmentsRequest:
    one = reassignments.ReassignablePartition(partition_index=0, replicas=None)
    topics = [reassignments.ReassignableTopic(name=topic, partitions=[one])]
    return reassignments.AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=topics)


@pytest.mark.kafka
def test_console_producer_of_apache_kafka_needs_no_leader_in_its_broker_list(
    three: ForwardingCluster, apache_kafka_tools: Callable[..., ToolResult], entry: SimpleClient
) -> None:
    """M29: `--broker-list` names the one broker that leads nothing of the topic."""
    topic = three.create_topic([1, 2], [2, 1])
    done = apache_kafka_tools(
        "kafka.tools.ConsoleProducer",
        *("--broker-list", three.address(ENTRY, "PLAINTEXT"), "--topic", topic),
        input="one\ntwo\n",
    )
    assert done.exit_code == 0, done.stderr
    assert sorted(values(entry, topic, 0) + values(entry, topic, 1), key=str) == [b"one", b"two"]


# --- rules 4, 7, 8


@pytest.mark.parametrize("client_id", ["__forwarded-by-2:app", "__forwarded-by-2"])
def test_forwarded_request_is_not_forwarded_again(three: ForwardingCluster, client_id: str) -> None:
    """Rule 4."""
    topic = three.create_topic([1])
    with three.connect(ENTRY, client_id=client_id) as client:
        assert wire.produce(client, topic, wire.batch(b"v")).error_code == NOT_LEADER
        assert wire.fetch(client, topic, 0).error_code == NOT_LEADER


def test_client_that_knew_the_leader_is_sent_to_the_new_one(three: ForwardingCluster) -> None:
    """Rule 7: and a client that did not is served."""
    topic = three.create_topic([1, 2])
    with three.connect(1) as knew:
        wire.append(knew, topic, b"while it led")
        three.move_leader(topic, 0, to=2)
        answer = wire.produce(knew, topic, wire.batch(b"late"))
        assert (answer.error_code, answer.base_offset) == (NOT_LEADER, -1)
        assert wire.fetch(knew, topic, 0).error_code == NOT_LEADER
        with three.connect(1) as later:
            assert wire.append(later, topic, b"by the hop") == 1
    with three.connect(2) as leader:
        assert values(leader, topic) == [b"while it led", b"by the hop"]


def test_without_forwarding_errors_are_those_of_kafka(three: ForwardingCluster) -> None:
    """M35, rule 8: only the leader takes writes and serves reads."""
    topic = three.create_topic([1, 3], [1, 2])
    controller = three.controller_id()
    other = next(b for b in BROKERS if b != controller)
    with three.connect(ENTRY, "REFUSING") as client:
        for partition in (0, 1):
            answer = wire.produce(client, topic, wire.batch(b"v"), partition=partition)
            assert (answer.error_code, answer.base_offset) == (NOT_LEADER, -1)
            fetched = wire.fetch(client, topic, 0, partition=partition)
            assert (fetched.error_code, fetched.high_watermark) == (NOT_LEADER, -1)
            listed = wire.list_offsets(client, topic, wire.LATEST, partition=partition)
            assert listed.error_code == NOT_LEADER
    with three.connect(other, "REFUSING") as client:
        create = CreatableTopic(name=unique_topic("t"), num_partitions=1, replication_factor=1)
        (made,) = client.send(CreateTopicsRequest(topics=[create], timeout_ms=1000)).topics
        assert made.error_code == ErrorCode.NOT_CONTROLLER


# --- rule 5


def test_acks_0_is_forwarded_without_an_answer(
    three: ForwardingCluster, entry: SimpleClient
) -> None:
    """Rule 5, rule 2: and what follows it on the connection comes after it."""
    topic = three.create_topic([1, 2])
    for number in range(50):
        entry.send_only(wire.produce_request(topic, wire.batch(b"%d" % number), acks=0))
    assert wire.append(entry, topic, b"last") == 50
    expected: list[bytes | None] = [b"%d" % number for number in range(50)]
    assert values(entry, topic) == [*expected, b"last"]


def test_acks_0_that_fails_at_the_leader_closes_the_clients_connection(
    three: ForwardingCluster, entry: SimpleClient
) -> None:
    """Rule 5: the one way to tell such a client anything passes through the hop."""
    topic = three.create_topic([1], configs={"max.message.bytes": "100"})
    entry.send_only(wire.produce_request(topic, wire.batch(b"v" * 1000), acks=0))
    with pytest.raises((EOFError, ConnectionResetError)):
        entry.receive_frame()


def test_leader_that_dies_in_flight_is_never_a_success(three: ForwardingCluster) -> None:
    """Rule 5: a retriable error, and the client may try again at once."""
    topic = three.create_topic([2, 1], configs={"min.insync.replicas": "1"})
    leader = three.brokers[2]
    with three.connect(ENTRY) as client:
        wire.append(client, topic, b"before")
        leader.send_signal(signal.SIGSTOP)
        try:
            request = wire.produce_request(topic, wire.batch(b"lost"), acks=-1)
            correlation_id = client.send_only(request, 9)
            assert not select.select([client], [], [], 1.0)[0], "no answer without the leader's"
        finally:
            leader.kill()
        answer = client.receive(ApiKey.PRODUCE, 9, correlation_id)
        ((done,),) = (one.partition_responses for one in answer.responses)
        assert done.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert error_for(done.error_code).retriable
        wait_until(lambda: _append(client, topic, b"again"), 30, "a new leader")
        assert values(client, topic)[0] == b"before"
        assert values(client, topic)[-1] == b"again"
    three.restart(2)


def _append(client: SimpleClient, topic: str, value: bytes) -> bool:
    return bool(wire.produce(client, topic, wire.batch(value), acks=-1).error_code == 0)


# --- idempotence


class Idempotent:
    """A producer that numbers its batches and has five requests in flight, as real ones do."""

    def __init__(self, client: SimpleClient, topic: str) -> None:
        self._client = client
        self._topic = topic
        self.sent = 0
        self.errors: set[ErrorCode] = set()

    def send(self, count: int = 5) -> None:
        """Send so many batches at once, and again from the first that was not acknowledged."""
        first, end = self.sent, self.sent + count
        deadline = time.monotonic() + 60
        while first < end:
            assert time.monotonic() < deadline, f"batch {first} still fails: {self.errors}"
            ids = [self._client.send_only(self._request(n), 9) for n in range(first, end)]
            codes = [self._receive(correlation_id) for correlation_id in ids]
            wrong = [number for number, code in enumerate(codes) if code]
            self.errors |= {code for code in codes if code}
            first = first + wrong[0] if wrong else end
        self.sent = end

    def _request(self, sequence: int) -> ProduceRequest:
        records = wire.batch(
            b"%d" % sequence, producer_id=4711, producer_epoch=0, base_sequence=sequence
        )
        return wire.produce_request(self._topic, records, acks=-1)

    def _receive(self, correlation_id: int) -> ErrorCode:
        answer = self._client.receive(ApiKey.PRODUCE, 9, correlation_id)
        ((done,),) = (one.partition_responses for one in answer.responses)
        return ErrorCode(done.error_code)


def kill_and_restart(three: ForwardingCluster, broker_id: int) -> None:
    three.brokers[broker_id].kill()
    three.restart(broker_id)


def test_idempotent_sequences_keep_their_order_under_leader_changes(
    three: ForwardingCluster,
) -> None:
    """Rules 2 and 5: through the hop every record comes once, in order, whoever leads."""
    topic = three.create_topic([1, 2], configs={"min.insync.replicas": "1"})
    changes: list[Callable[[], None]] = [
        lambda: three.move_leader(topic, 0, to=2),
        lambda: three.move_leader(topic, 0, to=1),
        lambda: kill_and_restart(three, 1),
        lambda: three.move_leader(topic, 0, to=2),
    ]
    failures: list[BaseException] = []

    def change() -> None:
        try:
            for one in changes:
                one()
        except BaseException as error:
            failures.append(error)
            raise

    nemesis = threading.Thread(target=change)
    with three.connect(ENTRY, "GATEWAY") as client:
        producer = Idempotent(client, topic)
        nemesis.start()
        while nemesis.is_alive():
            producer.send()
        producer.send()
        nemesis.join()
        assert not failures
        expected: list[Any] = [b"%d" % number for number in range(producer.sent)]
        assert values(client, topic) == expected
    assert all(error_for(code).retriable for code in producer.errors - {_OUT_OF_ORDER})
    assert producer.errors, "no leader change was noticed: the test has shown nothing"


# What stood behind a batch that failed; the producer sends both again.
_OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_metadata_of_other_listeners_tell_the_truth(three: ForwardingCluster) -> None:
    """M32: a client that can reach the leaders is told to go there."""
    topic = three.create_topic([1], [2])
    with three.connect(ENTRY) as client:
        assert [p.leader_id for p in wire.metadata(client, topic).partitions] == [1, 2]
        brokers = client.send(MetadataRequest(topics=[])).brokers
        assert {b.node_id: b.port for b in brokers} == three.ports["PLAINTEXT"]
