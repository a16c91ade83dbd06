import socket
import struct
from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import parse_request_header, response_header_bytes
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalike.protocol.schema import Message


class Server:
    """The other end of a client's connection; its answers are written before they are asked."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.client = SimpleClient("127.0.0.1", listener.getsockname()[1], timeout_s=10)
            self.socket, _ = listener.accept()

    def will_answer(self, key: ApiKey, version: int, id: int, response: Message) -> None:
        frame = response_header_bytes(key, version, id) + response.encode(version)
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def received(self) -> bytes:
        (size,) = struct.unpack(">i", self.socket.recv(4, socket.MSG_WAITALL))
        return self.socket.recv(size, socket.MSG_WAITALL)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with server.client, server.socket:
        yield server


def test_a_request_goes_out_in_its_latest_version_and_its_answer_comes_back(server: Server) -> None:
    server.will_answer(ApiKey.METADATA, 11, 1, MetadataResponse(cluster_id="c"))
    assert server.client.send(MetadataRequest(topics=None)).cluster_id == "c"
    frame = server.received()
    header = parse_request_header(frame)
    assert header[:4] == (ApiKey.METADATA, 11, 1, "simple")
    assert MetadataRequest.decode(frame, 11, header.body_start).topics is None


def test_requests_may_be_sent_before_their_answers_are_read(server: Server) -> None:
    sent = [server.client.send_only(ApiVersionsRequest(), version) for version in (0, 3)]
    for version, number in zip((0, 3), sent, strict=True):
        server.will_answer(
            ApiKey.API_VERSIONS, version, number, ApiVersionsResponse(error_code=number)
        )
    for version, number in zip((0, 3), sent, strict=True):
        answer = server.client.receive(ApiKey.API_VERSIONS, version, number)
        assert answer.error_code == number


def test_an_answer_to_another_request_is_refused(server: Server) -> None:
    server.will_answer(ApiKey.API_VERSIONS, 0, 77, ApiVersionsResponse())
    with pytest.raises(ProtocolError, match="answer to 77 came for 1"):
        server.client.send(ApiVersionsRequest(), 0)


def test_a_broker_that_closes_is_an_eof(server: Server) -> None:
    server.socket.sendall(b"\0\0\0\x09abc")
    server.socket.close()
    with pytest.raises(EOFError, match="closed the connection"):
        server.client.receive_frame()


def test_bytes_go_out_as_they_are(server: Server) -> None:
    server.client.send_bytes(b"\0\0\0\2hi")
    assert server.received() == b"hi"
