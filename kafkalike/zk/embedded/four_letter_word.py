"""ZooKeeper's four-letter words: one question on a connection of its own, one answer as text."""

import re
import socket
from enum import StrEnum
from typing import Final

from kafkalike.zk.embedded.server_config import HOST

_TIMEOUT_S: Final = 2.0
_MODE: Final = re.compile(r"^Mode: (\S+)$", re.MULTILINE)


class ServerMode(StrEnum):
    """What a server that serves clients is."""

    LEADER = "leader"
    FOLLOWER = "follower"
    STANDALONE = "standalone"


def ask(port: int, word: str, timeout_s: float = _TIMEOUT_S) -> str:
    """Send one word and return the whole answer; OSError if nobody answers."""
    answer = bytearray()
    with socket.create_connection((HOST, port), timeout_s) as connection:
        connection.sendall(word.encode())
        while chunk := connection.recv(65_536):
            answer += chunk
    return answer.decode(errors="replace")


def server_mode(port: int) -> ServerMode | None:
    """Say what the server is; None while it serves nobody (off, starting, without a quorum)."""
    try:
        return parse_mode(ask(port, "srvr"))
    except OSError:
        return None


def parse_mode(srvr: str) -> ServerMode | None:
    """Read the mode out of the answer to `srvr`."""
    match = _MODE.search(srvr)
    return ServerMode(match[1]) if match else None
