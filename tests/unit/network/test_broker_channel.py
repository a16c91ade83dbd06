import struct
from collections.abc import Iterator

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError, ConnectionDone
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from kafkalike.network import broker_channel
from kafkalike.network.broker_channel import BrokerChannel
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import NetworkError, ProtocolError, RequestTimedOutError
from kafkalike.protocol.header import (
    RequestHeader,
    parse_request_header,
    response_header_bytes,
)
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.schema import Message
from kafkalike.utils.time import Time
from tests.support.loopback import Loopback
from tests.support.run import result_of, run, start

TIMEOUT_MS = 1000


class Transport(StringTransport):
    """Keeps what is written, and tells the channel at once when it aborts."""

    channel: BrokerChannel

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    def abortConnection(self) -> None:
        self.channel.connectionLost(Failure(ConnectionDone()))


class Peer:
    """A channel in a test's hand: what it sent, and what it is to receive."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.channel = BrokerChannel(Time(self.clock), "me")
        self.transport = Transport()
        self.transport.channel = self.channel
        self.channel.makeConnection(self.transport)

    def send(self, request: Message, version: int = 0) -> "Deferred[Message]":
        return start(self.channel.send(request, version, TIMEOUT_MS))

    def sent(self) -> list[tuple[RequestHeader, bytes]]:
        """Take the frames that were sent."""
        data, found = self.transport.value(), []
        self.transport.clear()
        while data:
            (size,) = struct.unpack_from(">i", data)
            frame, data = data[4 : 4 + size], data[4 + size :]
            header = parse_request_header(frame)
            found.append((header, frame[header.body_start :]))
        return found

    def answer(self, header: RequestHeader, response: Message) -> None:
        body = response.encode(header.api_version)
        head = response_header_bytes(header.api_key, header.api_version, header.correlation_id)
        self.channel.dataReceived(struct.pack(">i", len(head + body)) + head + body)


@pytest.fixture
def peer() -> Peer:
    return Peer()


def test_a_request_has_header_and_body_and_its_answer_comes_back(peer: Peer) -> None:
    answered = peer.send(ApiVersionsRequest(client_software_name="me"), 3)
    [(header, body)] = peer.sent()
    assert header[:4] == (ApiKey.API_VERSIONS, 3, 0, "me")
    assert ApiVersionsRequest.decode(body, 3).client_software_name == "me"
    peer.answer(header, ApiVersionsResponse(throttle_time_ms=7))
    assert result_of(answered).throttle_time_ms == 7  # type: ignore[attr-defined]
    assert not peer.clock.getDelayedCalls()


def test_records_that_are_views_go_out_within_the_frame(peer: Peer) -> None:
    data = PartitionProduceData(index=0, records=memoryview(b"records"))
    topic = TopicProduceData(name="t", partition_data=[data])
    peer.send(ProduceRequest(acks=1, topic_data=[topic]), 9)
    [(_, body)] = peer.sent()
    [sent] = ProduceRequest.decode(body, 9).topic_data
    assert sent.partition_data[0].records == b"records"


def test_several_requests_are_in_flight_and_answered_in_order(peer: Peer) -> None:
    answers = [peer.send(MetadataRequest(topics=[]), version) for version in (1, 9, 1)]
    headers = [header for header, _ in peer.sent()]
    assert [header.correlation_id for header in headers] == [0, 1, 2]
    assert peer.channel.in_flight_count == 3
    for number, header in enumerate(headers):
        peer.answer(header, MetadataResponse(controller_id=number))
    assert [result_of(answer).controller_id for answer in answers] == [0, 1, 2]  # type: ignore[attr-defined]
    assert peer.channel.in_flight_count == 0


def test_answers_in_one_chunk_or_in_pieces_are_the_same(peer: Peer) -> None:
    answers = [peer.send(ApiVersionsRequest()) for _ in range(3)]
    stream = b"".join(
        struct.pack(">iihi", 10, number, number, 0) for number in range(3)
    )  # error code = number
    for start_at in range(0, len(stream), 5):
        peer.channel.dataReceived(stream[start_at : start_at + 5])
    assert [result_of(answer).error_code for answer in answers] == [0, 1, 2]  # type: ignore[attr-defined]


def test_a_request_without_an_answer_is_not_in_flight(peer: Peer) -> None:
    peer.channel.send_unanswered(ProduceRequest(acks=0), 9)
    answered = peer.send(ApiVersionsRequest())
    produce, asked = (header for header, _ in peer.sent())
    assert (produce.api_key, produce.correlation_id) == (ApiKey.PRODUCE, 0)
    assert peer.channel.in_flight_count == 1
    peer.answer(asked, ApiVersionsResponse(error_code=35))
    assert result_of(answered).error_code == 35  # type: ignore[attr-defined]


def test_the_end_of_a_connection_is_told_after_what_was_in_flight_has_failed(peer: Peer) -> None:
    answered = peer.send(ApiVersionsRequest())
    told: list[bool] = []
    peer.channel.on_lost = lambda: told.append(answered.called)
    peer.channel.connectionLost(Failure(ConnectionDone()))
    assert told == [True]
    with pytest.raises(NetworkError):
        result_of(answered)
    with pytest.raises(NetworkError):
        peer.channel.send_unanswered(ProduceRequest(acks=0), 9)


def test_all_in_flight_fail_when_the_connection_goes(peer: Peer) -> None:
    answers = [peer.send(ApiVersionsRequest()) for _ in range(3)]
    peer.channel.connectionLost(Failure(ConnectionDone()))
    for answer in answers:
        with pytest.raises(NetworkError, match=r"ApiVersions: Connection was closed cleanly\."):
            result_of(answer)
    assert not peer.channel.is_open
    assert not peer.clock.getDelayedCalls()
    with pytest.raises(NetworkError, match="closed cleanly"):
        run(peer.channel.send(ApiVersionsRequest(), 0, 1))


def test_closing_fails_what_is_in_flight_with_the_reason(peer: Peer) -> None:
    answer = peer.send(ApiVersionsRequest())
    peer.channel.close("broker 3 is gone")
    with pytest.raises(NetworkError, match="broker 3 is gone"):
        result_of(answer)
    peer.channel.close()


def test_a_request_without_answer_times_out_and_ends_the_connection(peer: Peer) -> None:
    first, second = peer.send(ApiVersionsRequest()), peer.send(ApiVersionsRequest())
    peer.clock.advance(TIMEOUT_MS / 1000 - 0.001)
    assert peer.channel.is_open
    peer.clock.advance(0.001)
    with pytest.raises(RequestTimedOutError, match="no answer to ApiVersions in 1000 ms"):
        result_of(first)
    with pytest.raises(NetworkError, match="no answer to ApiVersions in 1000 ms"):
        result_of(second)
    assert not peer.channel.is_open


def test_a_wait_that_is_cancelled_keeps_its_place_in_the_order(peer: Peer) -> None:
    first, second = peer.send(ApiVersionsRequest()), peer.send(ApiVersionsRequest())
    first.cancel()
    with pytest.raises(CancelledError):
        result_of(first)
    headers = [header for header, _ in peer.sent()]
    peer.answer(headers[0], ApiVersionsResponse(error_code=1))
    peer.answer(headers[1], ApiVersionsResponse(error_code=2))
    assert result_of(second).error_code == 2  # type: ignore[attr-defined]
    assert peer.channel.is_open


def test_a_cancelled_wait_and_a_lost_connection_do_not_collide(peer: Peer) -> None:
    answer = peer.send(ApiVersionsRequest())
    answer.cancel()
    with pytest.raises(CancelledError):
        result_of(answer)
    peer.channel.connectionLost()
    assert not peer.clock.getDelayedCalls()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (struct.pack(">iihi", 10, 9, 0, 0), "answer 9 where 0 is due"),
        (struct.pack(">iih", 6, 0, 0), "ApiVersionsResponse v0"),
        (struct.pack(">i", -1), "frame of -1 bytes"),
    ],
)
def test_nonsense_ends_the_connection_and_says_why(peer: Peer, frame: bytes, message: str) -> None:
    answer = peer.send(ApiVersionsRequest())
    peer.channel.dataReceived(frame)
    with pytest.raises(NetworkError, match=message):
        result_of(answer)
    assert not peer.channel.is_open


def test_an_answer_to_nothing_ends_the_connection(peer: Peer) -> None:
    peer.channel.dataReceived(struct.pack(">iihi", 10, 0, 0, 0))
    assert not peer.channel.is_open


def test_what_cannot_be_encoded_is_not_in_flight(peer: Peer) -> None:
    with pytest.raises(ProtocolError, match="not 99"):
        run(peer.channel.send(ApiVersionsRequest(), 99, TIMEOUT_MS))
    assert peer.channel.in_flight_count == 0
    assert not peer.clock.getDelayedCalls()
    assert peer.transport.value() == b""


def test_requests_in_flight_are_bounded(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_channel, "MAX_IN_FLIGHT", 2)
    peer.send(ApiVersionsRequest())
    peer.send(ApiVersionsRequest())
    with pytest.raises(NetworkError, match="2 requests are in flight"):
        run(peer.channel.send(ApiVersionsRequest(), 0, TIMEOUT_MS))


def test_correlation_ids_begin_anew_after_the_largest(peer: Peer) -> None:
    peer.channel._next_correlation_id = 2**31 - 1
    peer.send(ApiVersionsRequest())
    peer.send(ApiVersionsRequest())
    assert [header.correlation_id for header, _ in peer.sent()] == [2**31 - 1, 0]


def test_a_channel_that_is_not_connected_refuses_to_send() -> None:
    channel = BrokerChannel(Time(Clock()), None)
    with pytest.raises(NetworkError, match="not open"):
        run(channel.send(ApiVersionsRequest(), 0, TIMEOUT_MS))


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    loopback = Loopback()
    yield loopback
    loopback.close()


class Silent(Protocol):
    """Accepts, and says nothing."""


def test_a_channel_connects_to_a_broker_that_listens(loopback: Loopback) -> None:
    loopback.start_threads()
    port = loopback.reactor.listenTCP(0, Factory.forProtocol(Silent), interface="127.0.0.1")
    number = port.getHost().port
    time = Time(loopback.reactor)
    connecting = start(
        BrokerChannel.connect(loopback.reactor, time, "127.0.0.1", number, "me", TIMEOUT_MS)
    )
    loopback.turn_until(lambda: connecting.called)
    channel = result_of(connecting)
    assert channel.is_open
    channel.close()
    loopback.turn_until(lambda: not channel.is_open)
    port.stopListening()
    loopback.turn()
    connecting = start(
        BrokerChannel.connect(loopback.reactor, time, "127.0.0.1", number, "me", TIMEOUT_MS)
    )
    loopback.turn_until(lambda: connecting.called)
    with pytest.raises(ConnectError):
        result_of(connecting)
