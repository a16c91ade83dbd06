"""A broker and a plain client: what goes over the wire, request by request."""

import json
import socket
import struct
from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.header import encode_request_header, parse_response_header
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalike.protocol.messages.produce import ProduceRequest
from tests.support.broker import Broker
from tests.support.golden import GOLDEN
from tests.support.plain_requests import (
    a_batch,
    create_topic,
    fetch,
    fetch_request,
    produce,
    produce_request,
)

pytestmark = pytest.mark.ensemble

HANDSHAKE = ApiVersionsRequest(client_software_name="plain", client_software_version="1.0")


@pytest.fixture
def client(broker: Broker) -> Iterator[SimpleClient]:
    with SimpleClient("127.0.0.1", broker.port) as client:
        yield client


@pytest.mark.parametrize("version", ApiKey.API_VERSIONS.versions)
def test_handshake_tells_the_versions_of_every_api(client: SimpleClient, version: int) -> None:
    """M50: ApiVersions, as a client asks when it connects; all that is there is Kafka's."""
    answer = client.send(HANDSHAKE, version)
    golden = json.loads((GOLDEN / "api_versions.json").read_text())
    kafkas = {api["api_key"]: (api["min"], api["max"]) for api in golden["apis"]}
    ours = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
    assert ApiKey.PRODUCE in ours
    assert ours.items() <= kafkas.items()


def test_handshake_of_a_later_client_gets_the_oldest_answer(client: SimpleClient) -> None:
    """M50: error 35 in version 0, so that the client can ask again in a version that is there."""
    client.send_frame(encode_request_header(ApiKey.API_VERSIONS, 99, 5, "later") + b"\0")
    frame = client.receive_frame()
    header = parse_response_header(frame, ApiKey.API_VERSIONS, 0)
    answer = ApiVersionsResponse.decode(frame, 0, header.body_start)
    assert (header.correlation_id, answer.error_code) == (5, 35)
    assert [key.api_key for key in answer.api_keys] == [ApiKey.API_VERSIONS]


@pytest.mark.parametrize(
    "frame",
    [
        encode_request_header(ApiKey.METADATA, 99, 1, "x"),  # no such version
        struct.pack(">hhih", 1000, 0, 1, -1),  # no such API
        encode_request_header(ApiKey.PRODUCE, 9, 1, "x") + b"\xff" * 20,  # no such message
        b"",
    ],
)
def test_what_cannot_be_understood_ends_the_connection(client: SimpleClient, frame: bytes) -> None:
    client.send_frame(frame)
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive_frame()


def test_a_frame_above_the_limit_ends_the_connection_and_no_other(
    broker: Broker, client: SimpleClient
) -> None:
    with SimpleClient("127.0.0.1", broker.port) as other:
        other.send_bytes(struct.pack(">i", 104857601))
        with pytest.raises((EOFError, ConnectionResetError)):
            other.receive_frame()
    assert client.send(HANDSHAKE).error_code == 0


def test_answers_come_in_the_order_of_the_requests(client: SimpleClient) -> None:
    """A fetch that waits holds back what the client asked after it."""
    create_topic(client, "in-order")
    waiting = client.send_only(fetch_request("in-order", 0, max_wait_ms=500))
    quick = client.send_only(HANDSHAKE)
    client.receive(ApiKey.FETCH, 12, waiting)
    client.receive(ApiKey.API_VERSIONS, 3, quick)


def test_topic_with_one_partition_on_one_broker(client: SimpleClient) -> None:
    """M14: one partition and one broker are enough; M7: offsets count from 0."""
    create_topic(client, "single")
    assert [produce(client, "single", a_batch(b"%d" % n)) for n in range(3)] == [0, 1, 2]
    assert [(r.offset, r.value) for r in fetch(client, "single")] == [
        (0, b"0"),
        (1, b"1"),
        (2, b"2"),
    ]
    assert [r.offset for r in fetch(client, "single", 2)] == [2]


@pytest.mark.parametrize("partitions", [1, 2, 300])
def test_topic_has_as_many_partitions_as_asked_for(client: SimpleClient, partitions: int) -> None:
    """M13: any number, chosen when the topic is created."""
    name = f"with-{partitions}"
    create_topic(client, name, partitions)
    answer = client.send(MetadataRequest(topics=[MetadataRequestTopic(name=name)]))
    found = answer.topics[0].partitions
    assert {partition.partition_index for partition in found} == set(range(partitions))
    assert produce(client, name, a_batch(b"last"), partition=partitions - 1) == 0


def test_messages_of_any_kind_share_a_topic(client: SimpleClient) -> None:
    """M11: no schema; M10: any bytes, none, and null."""
    create_topic(client, "anything")
    values = [b"text", b'{"json": 1}', b"\x00\xff\xfe", struct.pack(">d", 1.5), b"", None]
    produce(client, "anything", a_batch(*values))
    assert [record.value for record in fetch(client, "anything")] == values


def test_several_producers_write_one_stream_and_several(broker: Broker) -> None:
    """M18: messages of several producers in the same topic and in others; M17: each in order."""
    clients = [SimpleClient("127.0.0.1", broker.port) for _ in range(3)]
    for topic in ("shared", "other"):
        create_topic(clients[0], topic)
    ids = []
    for number in range(20):
        for index, client in enumerate(clients):
            batch = a_batch(b"%d:%d" % (index, number))
            topic = "other" if index == 2 else "shared"
            ids.append((client, client.send_only(produce_request(topic, 0, batch, 1))))
    for client, sent in ids:
        client.receive(ApiKey.PRODUCE, 9, sent)
    shared = [record.value for record in fetch(clients[0], "shared")]
    for index in (0, 1):
        own = [value for value in shared if value and value.startswith(b"%d:" % index)]
        assert own == [b"%d:%d" % (index, number) for number in range(20)]
    assert len(shared) == 40
    assert len(fetch(clients[0], "other")) == 20
    for client in clients:
        client.close()


def test_acks_1_is_answered_when_the_leader_has_written(client: SimpleClient) -> None:
    """M48: what was acknowledged is there for the next reader."""
    create_topic(client, "acks-1")
    for number in range(5):
        offset = produce(client, "acks-1", a_batch(b"v"), acks=1)
        assert offset == number
        assert [record.offset for record in fetch(client, "acks-1", offset)] == [offset]


def test_acks_0_is_not_answered(client: SimpleClient) -> None:
    """M47: no frame comes back; the next answer belongs to the next request."""
    create_topic(client, "acks-0")
    client.send_only(produce_request("acks-0", 0, a_batch(b"v"), 0))
    assert client.send(HANDSHAKE).error_code == 0
    assert [record.value for record in fetch(client, "acks-0")] == [b"v"]


def test_acks_0_with_an_error_ends_the_connection(client: SimpleClient) -> None:
    """The client could not be told in any other way (as Kafka does)."""
    client.send_only(produce_request("acks-0", 99, a_batch(b"v"), 0))
    with pytest.raises((EOFError, ConnectionResetError)):
        client.send(HANDSHAKE)


@pytest.mark.parametrize("version", ApiKey.PRODUCE.versions[3:])
def test_produce_is_understood_in_every_version_of_format_2(
    client: SimpleClient, version: int
) -> None:
    topic = f"produce-{version}"
    create_topic(client, topic)
    request: ProduceRequest = produce_request(topic, 0, a_batch(b"v"), 1)
    (done,) = client.send(request, version).responses[0].partition_responses
    # zstd alone needs version 7; this batch is plain.
    assert (done.error_code, done.base_offset) == (0, 0)


def test_port_is_plain_tcp_and_survives_a_scan(broker: Broker, client: SimpleClient) -> None:
    """M19: a port that answers Kafka's protocol, whatever else comes along."""
    for junk in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(600)):
        with socket.create_connection(("127.0.0.1", broker.port), 10) as scanner:
            scanner.sendall(junk)
    assert client.send(HANDSHAKE).error_code == 0
