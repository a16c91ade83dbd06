import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from kafkalike.model.broker import EndPoint
from kafkalike.network.connection import Connection
from kafkalike.network.socket_server import ConnectionLimits, SocketServer
from kafkalike.utils.time import Time
from tests.support.loopback import Loopback

MAX_REQUEST_BYTES = 1 << 20


class Range:
    """A part of a file, as a fetch sends it."""

    def __init__(self, file: Any, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def fileno(self) -> int:
        return int(self.file.fileno())


class Listener:
    """One listener whose requests the test answers by hand."""

    def __init__(self) -> None:
        self.loopback = Loopback()
        self.requests: list[bytes] = []
        self.connections: list[Connection] = []
        self.answers_at_once = False
        limits = ConnectionLimits(
            max_request_bytes=MAX_REQUEST_BYTES, max_idle_ms=-1, max_connections=100, max_per_ip=100
        )
        server = SocketServer(self.loopback.reactor, Time(Clock()), limits, self.handle)
        self.port = server.listen(EndPoint("127.0.0.1", 0, "PLAINTEXT", "PLAINTEXT"))
        self.turn_until = self.loopback.turn_until

    def handle(self, connection: Connection, buffer: bytes, start: int, end: int) -> None:
        assert connection.is_busy
        self.requests.append(bytes(buffer[start:end]))
        self.connections.append(connection)
        if self.answers_at_once:
            connection.respond([framed(self.requests[-1])])

    def connect(self) -> socket.socket:
        return self.loopback.connect(self.port)

    def sent(self, client: socket.socket, *bodies: bytes) -> Connection:
        """Send requests and return the connection once the first has arrived."""
        before = len(self.requests)
        client.send(b"".join(map(framed, bodies)))
        self.turn_until(lambda: len(self.requests) > before)
        return self.connections[-1]


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.loopback.close()


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def test_a_request_is_answered(listener: Listener) -> None:
    client = listener.connect()
    connection = listener.sent(client, b"ask")
    assert (connection.peer_host, connection.listener_name) == ("127.0.0.1", "PLAINTEXT")
    connection.respond([b"an", memoryview(b"swer")])
    assert listener.loopback.receive(client, 6) == b"answer"
    assert not connection.is_busy


def test_the_next_request_is_handled_when_the_one_in_hand_is_answered(listener: Listener) -> None:
    client = listener.connect()
    connection = listener.sent(client, b"1", b"2", b"3")
    listener.loopback.turn()
    assert listener.requests == [b"1"]
    connection.respond([b"one"])
    assert listener.requests == [b"1", b"2"]
    connection.respond([b"two"])
    connection.respond([b"three"])
    assert listener.requests == [b"1", b"2", b"3"]
    assert listener.loopback.receive(client, 11) == b"onetwothree"


def test_reading_stops_while_requests_wait_and_goes_on_after(listener: Listener) -> None:
    client = listener.connect()
    connection = listener.sent(client, b"1", b"2")
    listener.loopback.turn()
    client.send(framed(b"3"))
    assert connection.transport not in listener.loopback.reactor.getReaders()
    connection.respond(None)
    connection.respond(None)
    assert connection.transport in listener.loopback.reactor.getReaders()
    listener.turn_until(lambda: len(listener.requests) == 3)
    connection.respond([b"3"])
    assert listener.loopback.receive(client, 1) == b"3"


def test_a_request_without_answer_makes_room_for_the_next(listener: Listener) -> None:
    """M47: nothing goes out for acks=0."""
    client = listener.connect()
    connection = listener.sent(client, b"1", b"2")
    connection.respond(None)
    connection.respond([b"2"])
    assert listener.loopback.receive(client, 1) == b"2"


def test_thousands_of_waiting_requests_are_answered_in_order(listener: Listener) -> None:
    count = 5000
    client = listener.connect()
    connection = listener.sent(client, b"wait", *[b"%d" % number for number in range(count)])
    listener.answers_at_once = True
    connection.respond(None)
    listener.turn_until(lambda: len(listener.requests) == count + 1)
    expected = b"".join(framed(b"%d" % number) for number in range(count))
    assert listener.loopback.receive(client, len(expected)) == expected


def test_nothing_is_sent_that_was_not_asked_for(listener: Listener) -> None:
    """M52: the broker answers; it never pushes."""
    client = listener.connect()
    connection = listener.sent(client, b"1")
    listener.loopback.turn()
    with pytest.raises(BlockingIOError):
        client.recv(1)
    connection.respond([b"answer"])
    assert listener.loopback.receive(client, 6) == b"answer"
    listener.loopback.turn()
    with pytest.raises(BlockingIOError):
        client.recv(1)


def test_answers_on_different_connections_do_not_wait_for_each_other(listener: Listener) -> None:
    one, two = listener.connect(), listener.connect()
    listener.sent(one, b"slow")
    listener.sent(two, b"fast").respond([b"done"])
    assert listener.loopback.receive(two, 4) == b"done"


def test_more_than_the_socket_takes_at_once_follows(listener: Listener) -> None:
    client = listener.connect()
    connection = listener.sent(client, b"ask", b"again")
    large = bytes(range(256)) * 40_000
    connection.respond([b"head", large, memoryview(large), b"tail"])
    connection.respond([b"second"])
    expected = b"head" + large + large + b"tail" + b"second"
    assert listener.loopback.receive(client, len(expected)) == expected


def test_parts_of_files_go_out_between_bytes(listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(bytes(range(256)) * 40_000)
    client = listener.connect()
    connection = listener.sent(client, b"fetch")
    with path.open("rb") as file:
        ranges = [Range(file, 0, 3), Range(file, 1000, 9_000_000)]
        connection.respond([b"head", ranges[0], b"|", ranges[1], b"tail"])
        data = path.read_bytes()
        expected = b"head" + data[:3] + b"|" + data[1000:9_001_000] + b"tail"
        assert listener.loopback.receive(client, len(expected)) == expected


class SmallTransport:
    """A transport over a socket that takes a few kilobytes at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.producer: object = None
        self.streamingProducer = True
        self.writing = 0

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    def getPeer(self) -> EndPoint:
        return EndPoint("peer", 0, "", "")

    def startWriting(self) -> None:
        self.writing += 1

    def unregisterProducer(self) -> None:
        self.producer = None


def test_a_file_sent_in_a_thousand_pieces_arrives_whole(tmp_path: Path) -> None:
    size = 80 << 20
    path = tmp_path / "segment"
    with path.open("wb") as file:
        file.truncate(size)
    ours, theirs = socket.socketpair()
    with ours, theirs, path.open("rb") as file:
        ours.setblocking(False)
        transport = SmallTransport(ours)
        connection = Connection("L", lambda *_: None, 10, lambda _: None, lambda _: None)
        connection.transport = transport  # type: ignore[assignment]
        connection.connectionMade()
        connection.respond([b"head", Range(file, 0, size)])
        received = len(theirs.recv(16 << 10))
        while received < 4 + size:
            if transport.producer is connection:
                connection.resumeProducing()
            received += len(theirs.recv(64 << 10))
    assert received == 4 + size
    assert transport.producer is None
    assert transport.writing > sys.getrecursionlimit()


def test_a_file_that_is_shorter_than_promised_ends_the_connection(
    listener: Listener, tmp_path: Path
) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"short")
    client = listener.connect()
    connection = listener.sent(client, b"fetch")
    with path.open("rb") as file:
        connection.respond([Range(file, 0, 100)])
        assert listener.loopback.receive(client, 5) == b"short"
        listener.turn_until(lambda: listener.loopback.is_closed(client))


def test_a_peer_that_goes_away_while_an_answer_is_on_its_way_is_forgotten(
    listener: Listener,
) -> None:
    client = listener.connect()
    connection = listener.sent(client, b"ask")
    connection.respond([bytes(20_000_000)])
    client.close()
    listener.turn_until(lambda: not connection.is_open)
    connection.respond([b"late"])


@pytest.mark.parametrize("size", [-1, MAX_REQUEST_BYTES + 1])
def test_a_frame_of_illegal_size_ends_the_connection(listener: Listener, size: int) -> None:
    client = listener.connect()
    client.send(struct.pack(">i", size))
    listener.turn_until(lambda: listener.loopback.is_closed(client))
    assert listener.requests == []


def test_requests_before_an_illegal_frame_are_not_answered_twice(listener: Listener) -> None:
    client = listener.connect()
    client.send(framed(b"good") + struct.pack(">i", -1))
    listener.turn_until(lambda: listener.loopback.is_closed(client))
    assert listener.requests == [b"good"]
    listener.connections[0].respond([b"late"])


def test_refusing_drops_what_waits(listener: Listener) -> None:
    client = listener.connect()
    connection = listener.sent(client, b"1", b"2")
    connection.refuse("it makes no sense")
    connection.respond([b"never sent"])
    listener.turn_until(lambda: listener.loopback.is_closed(client))
    assert listener.requests == [b"1"]


def test_the_end_of_a_connection_is_told_to_all_who_asked(listener: Listener) -> None:
    client = listener.connect()
    connection = listener.sent(client, b"ask")
    told: list[tuple[int, bool]] = []
    for number in (1, 2):
        connection.when_lost(lambda number=number: told.append((number, connection.is_open)))
    assert not told
    client.close()
    listener.turn_until(lambda: len(told) == 2)
    assert told == [(1, False), (2, False)]
