"""TCP ports for processes that are about to be started: whether one is free, and free ones."""

import socket
from random import Random
from typing import Final

_LOCALHOST: Final = "127.0.0.1"
# Below Linux's ephemeral range (32768 and up): an outgoing connection of a client can never sit on
# a port that a server was promised and binds a moment later.
_FIRST, _LAST = 15_000, 32_000
_TRIES: Final = 1000


def can_listen(host: str, port: int) -> bool:
    """Whether a server could listen there now; connections that just ended are no obstacle."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError:
            return False
    return True


class FreePorts:
    """Hands out ports of 127.0.0.1 that nobody listens on, none of them twice.

    In a random order, so that two programs that look for ports at a time rarely meet.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._handed_out: set[int] = set()

    def next(self) -> int:
        """Return another port."""
        for _ in range(_TRIES):
            port = self._random.randrange(_FIRST, _LAST)
            if self.take(port):
                return port
        raise OSError(f"no free port between {_FIRST} and {_LAST}")

    def take(self, port: int) -> bool:
        """Hand out this port, if it is free."""
        if port in self._handed_out or not can_listen(_LOCALHOST, port):
            return False
        self._handed_out.add(port)
        return True
