"""TCP ports for the processes that tests start.

They come from below Linux's ephemeral range (32768 and up), so that an outgoing connection of a
client can never sit on a port that a server was promised and binds a moment later.
"""

import random
import socket

_FIRST, _LAST = 15_000, 32_000
_handed_out: set[int] = set()
# Each test process walks its own sequence: two runs on one machine rarely meet.
_random = random.Random()


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on and that was not handed out before."""
    for _ in range(1000):
        port = _random.randrange(_FIRST, _LAST)
        if port not in _handed_out and is_free(port):
            _handed_out.add(port)
            return port
    raise RuntimeError(f"no free port between {_FIRST} and {_LAST}")


def free_ports(count: int) -> list[int]:
    """Return `count` different free ports."""
    return [free_port() for _ in range(count)]


def free_ports_in_a_row(count: int) -> int:
    """Return the first of `count` free ports that follow each other; all count as handed out."""
    while True:
        first = free_port()
        rest = range(first + 1, first + count)
        if all(port not in _handed_out and is_free(port) for port in rest):
            _handed_out.update(rest)
            return first


def is_free(port: int) -> bool:
    """Whether nobody listens on the port of 127.0.0.1."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
