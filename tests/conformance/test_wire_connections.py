"""How a broker treats a connection: frames, order of answers, limits, peers that talk nonsense."""

import contextlib
import json
import struct
import time
from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.header import encode_request_header
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.table import StructTable
from tests.support import wire
from tests.support.golden import GOLDEN
from tests.support.target import KAFKALIKE, Target
from tests.support.waiting import wait_until

REQUEST_MAX_BYTES = 100_000  # As in STRICT of conftest.py.
CONNECTIONS_PER_IP = 5
IDLE_S = 1.5

GOLDEN_VERSIONS = {
    api["api_key"]: (api["min"], api["max"])
    for api in json.loads((GOLDEN / "api_versions.json").read_text())["apis"]
}


def _ask_versions(client: SimpleClient, version: int = 0) -> ApiVersionsResponse:
    answer: ApiVersionsResponse = client.send(ApiVersionsRequest(), version)
    return answer


def _assert_closed(client: SimpleClient) -> None:
    """The broker ends the connection, without an answer before."""
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive_frame()


@pytest.fixture
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


@pytest.mark.parametrize("version", range(4))
def test_handshake_tells_the_versions_of_kafka(
    target: Target, client: SimpleClient, version: int
) -> None:
    """M50: what is there has exactly Kafka's versions; what is not is not advertised."""
    answer = client.send(
        ApiVersionsRequest(client_software_name="test", client_software_version="1"), version
    )
    assert answer.error_code == ErrorCode.NONE
    told = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert len(told) == len(answer.api_keys)
    assert told.items() <= GOLDEN_VERSIONS.items()
    if target.name != KAFKALIKE:
        assert told == GOLDEN_VERSIONS


def test_no_api_queries_or_sorts_records(client: SimpleClient) -> None:
    """M8, M6: records go in by Produce and come out by Fetch, in order; nothing edits one."""
    told = {ApiKey(api.api_key) for api in _ask_versions(client).api_keys}
    assert {key for key in told if _carries_records(request_class(key).table)} == {ApiKey.PRODUCE}
    assert {key for key in told if _carries_records(response_class(key).table)} == {ApiKey.FETCH}


def _carries_records(table: StructTable) -> bool:
    return any(
        field.type == "records" or (field.struct is not None and _carries_records(field.struct))
        for field in table.fields
    )


@pytest.mark.parametrize("version", [4, 99, 32767])
def test_handshake_of_an_unknown_version_is_answered_in_version_0(
    client: SimpleClient, version: int
) -> None:
    """M50: error 35, and only the versions of ApiVersions itself (KIP-511)."""
    client.send_frame(encode_request_header(ApiKey.API_VERSIONS, version, 7, "test") + b"\x01junk")
    answer = client.receive(ApiKey.API_VERSIONS, 0, 7)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    told = [(api.api_key, api.min_version, api.max_version) for api in answer.api_keys]
    assert told == [(18, 0, 3)]
    assert _ask_versions(client).error_code == ErrorCode.NONE


def test_handshake_with_a_bad_software_name_is_refused(client: SimpleClient) -> None:
    answer = client.send(ApiVersionsRequest(client_software_name="*", client_software_version="1"))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert _ask_versions(client).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">hhih", 9999, 0, 1, -1),
        struct.pack(">hhih", -1, 0, 1, -1),
        struct.pack(">hhih", ApiKey.METADATA, 99, 1, -1),
        struct.pack(">hhih", ApiKey.METADATA, -1, 1, -1),
        struct.pack(">hhihi", ApiKey.METADATA, 1, 1, -1, 1000),
        struct.pack(">hhih", ApiKey.METADATA, 1, 1, 500) + b"short",
        struct.pack(">hh", ApiKey.METADATA, 1),
        b"",
        bytes(range(200, 250)),
    ],
    ids=[
        *("unknown key", "negative key", "unknown version", "negative version"),
        *("array without its elements", "client id cut off", "header cut off", "empty", "garbage"),
    ],
)
def test_frame_that_is_no_request_closes_the_connection(
    target: Target, client: SimpleClient, frame: bytes
) -> None:
    client.send_frame(frame)
    _assert_closed(client)
    with target.connect() as another:
        assert _ask_versions(another).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    "data",
    [struct.pack(">i", -1), struct.pack(">i", -(1 << 31)), b"GET / HTTP/1.1\r\n\r\n"],
    ids=["-1", "smallest", "HTTP"],
)
def test_impossible_size_closes_the_connection(
    target: Target, client: SimpleClient, data: bytes
) -> None:
    client.send_bytes(data)
    _assert_closed(client)
    with target.connect() as another:
        assert _ask_versions(another).error_code == ErrorCode.NONE


def test_request_may_be_as_large_as_allowed_and_no_larger(strict_target: Target) -> None:
    head = encode_request_header(ApiKey.API_VERSIONS, 0, 1, "test")
    with strict_target.connect() as client:
        client.send_frame(head + bytes(REQUEST_MAX_BYTES - len(head)))
        assert client.receive(ApiKey.API_VERSIONS, 0, 1).error_code == ErrorCode.NONE
        client.send_bytes(struct.pack(">i", REQUEST_MAX_BYTES + 1))
        _assert_closed(client)


def test_requests_sent_at_once_are_answered_in_order(client: SimpleClient) -> None:
    """A fetch that waits holds back what was asked after it."""
    topic = wire.create_topic(client)
    waiting = client.send_only(wire.fetch_request(topic, 0, max_wait_ms=300))
    following = [client.send_only(ApiVersionsRequest(), 0) for _ in range(20)]
    client.receive(ApiKey.FETCH, 12, waiting)
    for correlation_id in following:
        client.receive(ApiKey.API_VERSIONS, 0, correlation_id)


def test_request_may_come_byte_by_byte(client: SimpleClient) -> None:
    frame = encode_request_header(ApiKey.API_VERSIONS, 0, 1, "test")
    for byte in struct.pack(">i", len(frame)) + frame:
        client.send_bytes(bytes([byte]))
    assert client.receive(ApiKey.API_VERSIONS, 0, 1).error_code == ErrorCode.NONE


def test_broker_never_pushes(client: SimpleClient) -> None:
    """M52: nothing comes that was not asked for, though the topic has news."""
    topic = wire.create_topic(client)
    assert wire.fetch_records(client, topic, 0, max_wait_ms=0) == []
    wire.append(client, topic, b"news")
    # The next frame on the connection is the answer to the next request, not the news.
    assert _ask_versions(client).error_code == ErrorCode.NONE


def test_produce_with_acks_0_has_no_answer(client: SimpleClient) -> None:
    """M47: the next answer belongs to the next request; the record is there all the same."""
    topic = wire.create_topic(client)
    client.send_only(wire.produce_request(topic, wire.batch(b"unanswered"), acks=0))
    assert _ask_versions(client).error_code == ErrorCode.NONE
    assert [record.value for record in wire.fetch_records(client, topic)] == [b"unanswered"]


def test_produce_with_acks_0_that_fails_closes_the_connection(client: SimpleClient) -> None:
    """M47: an error cannot be told, and closing makes the producer look for the leader again."""
    topic = wire.create_topic(client)
    client.send_only(wire.produce_request(topic, wire.batch(b"nowhere"), acks=0, partition=7))
    _assert_closed(client)


@pytest.mark.parametrize("data", [b"", b"\x00\x00\x00\x10half"], ids=["nothing", "half a frame"])
def test_silent_connection_is_closed(strict_target: Target, data: bytes) -> None:
    """After connections.max.idle.ms, also in the middle of a frame."""
    with strict_target.connect(timeout_s=15) as client:
        assert _ask_versions(client).error_code == ErrorCode.NONE
        client.send_bytes(data)
        _assert_closed(client)


def test_connection_that_talks_is_not_idle(strict_target: Target) -> None:
    deadline = time.monotonic() + 2 * IDLE_S
    with strict_target.connect() as client:
        while time.monotonic() < deadline:
            assert _ask_versions(client).error_code == ErrorCode.NONE


def test_one_address_has_only_so_many_connections(strict_target: Target) -> None:
    """`max.connections.per.ip`: one more is closed at once, and one that ends makes room."""

    def fill(stack: contextlib.ExitStack) -> list[SimpleClient]:
        clients = [stack.enter_context(strict_target.connect()) for _ in range(CONNECTIONS_PER_IP)]
        assert all(_is_served(client) for client in clients), "an earlier test's are still counted"
        return clients

    with contextlib.ExitStack() as stack:

        def try_to_fill() -> list[SimpleClient]:
            stack.close()
            return fill(stack)

        clients = wait_until(try_to_fill, 15, "room for all connections")
        with strict_target.connect() as too_many:
            assert not _is_served(too_many)
        assert _is_served(clients[0])
        clients[1].close()
        wait_until(lambda: _is_served_anew(strict_target), 10, "room for another connection")


def _is_served(client: SimpleClient) -> bool:
    try:
        return _ask_versions(client).error_code == ErrorCode.NONE
    except (EOFError, ConnectionError):
        return False


def _is_served_anew(target: Target) -> bool:
    with target.connect() as client:
        return _is_served(client)


def test_unknown_tagged_fields_of_a_newer_client_are_ignored(client: SimpleClient) -> None:
    request = MetadataRequest(topics=[])
    request.unknown_tagged_fields = {77: b"from the future"}
    assert client.send(request).brokers
