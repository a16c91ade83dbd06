"""TCP ports for the processes that tests start."""

from random import Random

from kafkalike.utils.tcp_port import FreePorts, can_listen

# Each test process walks its own sequence: two runs on one machine rarely meet.
_ports = FreePorts(Random())


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on and that was not handed out before."""
    return _ports.next()


def free_ports(count: int) -> list[int]:
    """Return `count` different free ports."""
    return [free_port() for _ in range(count)]


def free_ports_in_a_row(count: int) -> int:
    """Return the first of `count` free ports that follow each other; all count as handed out."""
    while True:
        first = free_port()
        if all(_ports.take(port) for port in range(first + 1, first + count)):
            return first


def is_free(port: int) -> bool:
    """Whether nobody listens on the port of 127.0.0.1."""
    return can_listen("127.0.0.1", port)
