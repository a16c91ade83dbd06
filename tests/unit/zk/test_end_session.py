import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from kafkalike.zk.end_session import NoServerError, end_session, servers
from tests.support.ports import free_port

PASSWORD = bytes(range(16))


class FakeServer:
    """Answers one connection as a ZooKeeper server would, and notes what it was asked."""

    def __init__(self, answer: Callable[[int], bytes]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            while size := connection.recv(4):
                self.requests.append(connection.recv(struct.unpack(">i", size)[0]))
                answer = self._answer(len(self.requests))
                if not answer:
                    return
                connection.sendall(struct.pack(">i", len(answer)) + answer)


def _as_zookeeper(session_id: int, timeout_ms: int = 18_000) -> Callable[[int], bytes]:
    connected = struct.pack(">iiqi16s?", 0, timeout_ms, session_id, 16, PASSWORD, False)
    closed = struct.pack(">iqi", 1, 77, 0)
    return lambda number: connected if number == 1 else closed


@pytest.fixture
def fake() -> Iterator[Callable[[Callable[[int], bytes]], FakeServer]]:
    started: list[FakeServer] = []

    def start(answer: Callable[[int], bytes]) -> FakeServer:
        started.append(FakeServer(answer))
        return started[-1]

    yield start
    for server in started:
        server.close()


StartFake = Callable[[Callable[[int], bytes]], FakeServer]


def test_session_is_resumed_and_closed(fake: StartFake) -> None:
    server = fake(_as_zookeeper(0x1234))
    assert end_session(f"{server.address}/chroot", 0x1234, PASSWORD, timeout_s=10)
    resume, close = server.requests
    assert struct.unpack(">iqiqi16s?", resume) == (0, 0, 2000, 0x1234, 16, PASSWORD, False)
    assert struct.unpack(">ii", close) == (1, -11)


def test_session_that_zookeeper_does_not_know_is_gone(fake: StartFake) -> None:
    server = fake(_as_zookeeper(0, timeout_ms=0))
    assert not end_session(server.address, 0x1234, PASSWORD, timeout_s=10)
    assert len(server.requests) == 1


def test_next_server_is_asked_when_one_is_down(fake: StartFake) -> None:
    server = fake(_as_zookeeper(7))
    assert end_session(f"127.0.0.1:{free_port()},{server.address}", 7, PASSWORD, timeout_s=10)


def test_next_server_is_asked_when_one_hangs_up(fake: StartFake) -> None:
    rude, server = fake(lambda _: b""), fake(_as_zookeeper(7))
    assert end_session(f"{rude.address},{server.address}", 7, PASSWORD, timeout_s=10)


def test_nonsense_is_not_taken_for_an_answer(fake: StartFake) -> None:
    odd, server = fake(lambda _: b"x"), fake(_as_zookeeper(7))
    assert end_session(f"{odd.address},{server.address}", 7, PASSWORD, timeout_s=10)


def test_nobody_there_is_told_with_the_servers() -> None:
    connect = f"127.0.0.1:{free_port()}"
    with pytest.raises(NoServerError, match=f"no ZooKeeper server of {connect} answers"):
        end_session(connect, 7, PASSWORD, timeout_s=0.01)


@pytest.mark.parametrize(
    ("connect", "expected"),
    [
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        ("a:1, b/chroot/deep", [("a", 1), ("b", 2181)]),
        ("[::1]:3,[::2]", [("::1", 3), ("::2", 2181)]),
    ],
)
def test_connect_string_is_taken_apart(connect: str, expected: list[tuple[str, int]]) -> None:
    assert list(servers(connect)) == expected
