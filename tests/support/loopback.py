"""A Twisted reactor of the test's own, turned by hand: real sockets without a running loop."""

import contextlib
import socket
from collections.abc import Callable
from typing import Any

from twisted.internet.selectreactor import SelectReactor

_TURNS = 20_000
_TURN_S = 0.001


class Loopback:
    """A private reactor (never `run()`), and what must be closed when the test is over."""

    def __init__(self) -> None:
        self.reactor: Any = SelectReactor()
        self._sockets: list[socket.socket] = []
        self._has_threads = False

    def start_threads(self) -> None:
        """Start the thread pool, which resolves host names."""
        self.reactor.getThreadPool().start()
        self._has_threads = True

    def connect(self, port: int) -> socket.socket:
        """Open a client's socket; it does not block."""
        client = socket.create_connection(("127.0.0.1", port))
        client.setblocking(False)
        self._sockets.append(client)
        return client

    def turn_until(self, condition: Callable[[], object]) -> None:
        """Turn the reactor until the condition holds."""
        for _ in range(_TURNS):
            if condition():
                return
            self.reactor.iterate(_TURN_S)
        raise AssertionError(f"still not true after {_TURNS} turns of the reactor")

    def turn(self, times: int = 5) -> None:
        """Turn the reactor a few times without waiting, to see that nothing happens."""
        for _ in range(times):
            self.reactor.iterate(0)

    def receive(self, client: socket.socket, size: int) -> bytes:
        """Read that many bytes, turning the reactor as long as they are not there."""
        data = bytearray()

        def is_complete() -> bool:
            with contextlib.suppress(BlockingIOError):
                data.extend(client.recv(size - len(data)))
            return len(data) == size

        self.turn_until(is_complete)
        return bytes(data)

    def is_closed(self, client: socket.socket) -> bool:
        """Whether the other side has closed the connection, with nothing left to read."""
        try:
            return not client.recv(1)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True

    def close(self) -> None:
        """Close everything that the test opened."""
        if self._has_threads:
            self.reactor.getThreadPool().stop()
        for client in self._sockets:
            client.close()
        for descriptor in self.reactor.removeAll():
            if hasattr(descriptor, "connectionLost") and hasattr(descriptor, "socket"):
                descriptor.socket.close()
        for call in self.reactor.getDelayedCalls():
            call.cancel()
        for waker in list(self.reactor._internalReaders):
            waker.connectionLost(None)
