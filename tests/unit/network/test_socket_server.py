import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock

from kafkalike.model.broker import EndPoint
from kafkalike.network.connection import Connection
from kafkalike.network.socket_server import ConnectionLimits, SocketServer
from kafkalike.utils.time import Time
from tests.support.loopback import Loopback
from tests.support.run import result_of, start

FRAME = struct.pack(">i", 1) + b"x"
IDLE_MS = 10_000


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    loopback = Loopback()
    yield loopback
    loopback.close()


class Server:
    """A server that answers every request with the same byte unless told to wait."""

    def __init__(self, loopback: Loopback, **limits: Any) -> None:
        self.clock = Clock()
        self.loopback = loopback
        self.waiting: list[Connection] = []
        self.waits = False
        known = {
            "max_request_bytes": 100,
            "max_idle_ms": IDLE_MS,
            "max_connections": 100,
            "max_per_ip": 100,
        }
        self.server = SocketServer(
            loopback.reactor, Time(self.clock), ConnectionLimits(**{**known, **limits}), self.handle
        )
        self.port = self.listen("PLAINTEXT")

    def listen(self, name: str) -> int:
        return self.server.listen(EndPoint("127.0.0.1", 0, name, "PLAINTEXT"))

    def handle(self, connection: Connection, buffer: bytes, start: int, end: int) -> None:
        if self.waits:
            self.waiting.append(connection)
        else:
            connection.respond([connection.listener_name[:1].encode()])

    def connect(self) -> socket.socket:
        before = self.server.connection_count
        client = self.loopback.connect(self.port)
        self.loopback.turn_until(lambda: self.server.connection_count > before)
        return client

    def ask(self, client: socket.socket) -> bytes:
        client.send(FRAME)
        return self.loopback.receive(client, 1)


ServerFactory = Callable[..., Server]


@pytest.fixture
def serve(loopback: Loopback) -> ServerFactory:
    return lambda **limits: Server(loopback, **limits)


def test_a_broker_listens_on_several_ports(serve: ServerFactory) -> None:
    """M25: each listener has its name and its port."""
    server = serve()
    other = server.loopback.connect(server.listen("EXTERNAL"))
    assert server.ask(server.connect()) == b"P"
    assert server.ask(other) == b"E"


def test_a_connection_knows_when_it_was_opened(serve: ServerFactory) -> None:
    server = serve()
    server.waits = True
    server.clock.advance(5)
    client = server.connect()
    server.clock.advance(5)
    client.send(FRAME)
    server.loopback.turn_until(lambda: server.waiting)
    assert server.waiting[0].opened_ms == 5000


def test_a_connection_above_the_limit_waits_for_its_turn(serve: ServerFactory) -> None:
    server = serve(max_connections=1)
    first = server.connect()
    second = server.loopback.connect(server.port)
    second.send(FRAME)
    server.loopback.turn(20)
    assert server.server.connection_count == 1
    assert server.ask(first) == b"P"
    first.close()
    assert server.loopback.receive(second, 1) == b"P"


def test_a_waiting_connection_that_goes_away_is_forgotten(serve: ServerFactory) -> None:
    server = serve(max_connections=1)
    first = server.connect()
    second, third = (server.loopback.connect(server.port) for _ in range(2))
    server.loopback.turn(20)
    second.close()
    server.loopback.turn(20)
    first.close()
    third.send(FRAME)
    assert server.loopback.receive(third, 1) == b"P"


def test_an_address_with_too_many_connections_is_turned_away(serve: ServerFactory) -> None:
    server = serve(max_per_ip=2)
    first, _ = server.connect(), server.connect()
    third = server.loopback.connect(server.port)
    server.loopback.turn_until(lambda: server.loopback.is_closed(third))
    assert server.server.connection_count == 2
    first.close()
    server.loopback.turn_until(lambda: server.server.connection_count == 1)
    assert server.ask(server.connect()) == b"P"


def test_an_address_may_have_a_limit_of_its_own(serve: ServerFactory) -> None:
    server = serve(max_per_ip=0, max_per_ip_overrides={"127.0.0.1": 1})
    server.connect()
    second = server.loopback.connect(server.port)
    server.loopback.turn_until(lambda: server.loopback.is_closed(second))


def test_a_connection_is_closed_when_it_was_idle_for_too_long(serve: ServerFactory) -> None:
    server = serve()
    idle, active = server.connect(), server.connect()
    for _ in range(11):
        server.clock.advance(IDLE_MS / 10 / 1000)
        assert server.ask(active) == b"P"
    server.loopback.turn_until(lambda: server.loopback.is_closed(idle))
    assert server.ask(active) == b"P"


def test_a_connection_is_not_closed_before_its_time(serve: ServerFactory) -> None:
    server = serve()
    client = server.connect()
    for _ in range(9):
        server.clock.advance(IDLE_MS / 10 / 1000)
    server.loopback.turn()
    assert server.ask(client) == b"P"


def test_a_request_in_hand_is_not_idle(serve: ServerFactory) -> None:
    server = serve()
    server.waits = True
    client = server.connect()
    client.send(FRAME)
    server.loopback.turn_until(lambda: server.waiting)
    for _ in range(30):
        server.clock.advance(IDLE_MS / 10 / 1000)
    server.waiting[0].respond([b"!"])
    assert server.loopback.receive(client, 1) == b"!"


def test_idle_connections_live_for_ever_where_there_is_no_limit(serve: ServerFactory) -> None:
    server = serve(max_idle_ms=-1)
    client = server.connect()
    assert not server.clock.getDelayedCalls()
    assert server.ask(client) == b"P"


def test_stopping_closes_listeners_and_connections(serve: ServerFactory) -> None:
    server = serve()
    client = server.connect()
    stopped = start(server.server.stop())
    server.loopback.turn_until(lambda: server.loopback.is_closed(client))
    result_of(stopped)
    assert not server.clock.getDelayedCalls()
    with pytest.raises(ConnectionRefusedError):
        server.loopback.connect(server.port)


def test_a_port_that_is_taken_is_refused(serve: ServerFactory) -> None:
    server = serve()
    with pytest.raises(Exception, match="in use"):
        server.server.listen(EndPoint("127.0.0.1", server.port, "OTHER", "PLAINTEXT"))
