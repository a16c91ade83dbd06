"""Ending somebody else's ZooKeeper session over a plain socket: two messages, no client library.

For the supervisor of a broker, which must stay small: it resumes the session of the broker that
died, with the session's id and password, and closes it, so that the ephemeral znodes vanish at
once. Blocking, and the standard library only.
"""

import socket
import struct
import time
from collections.abc import Iterator
from typing import Final

from kafkalike.zk.paths import ConnectString

DEFAULT_PORT: Final = 2181

_SERVER_TIMEOUT_S: Final = 2.0
_PAUSE_S: Final = 0.1
_CLOSE_SESSION: Final = -11
_XID: Final = 1

# ConnectRequest: protocol version, last zxid seen, time-out, session id, password, read only.
_CONNECT: Final = struct.Struct(">iqiqi16s?")
# ConnectResponse: protocol version, time-out, session id; the rest does not matter here.
_CONNECTED: Final = struct.Struct(">iiq")
_REQUEST: Final = struct.Struct(">ii")  # xid, type
_SIZE: Final = struct.Struct(">i")
_MAX_ANSWER_BYTES: Final = 1024


class NoServerError(Exception):
    """No server of the ensemble could be asked in time."""


def end_session(connect: str, session_id: int, password: bytes, *, timeout_s: float) -> bool:
    """Close the session at whichever server answers first.

    False if ZooKeeper does not know the session (any more), NoServerError if nobody answered in
    time: try for as long as the session lives, after that it is gone anyway.
    """
    deadline = time.monotonic() + timeout_s
    problem = "nobody was asked"
    while time.monotonic() < deadline:
        for host, port in servers(connect):
            try:
                return _end_at(host, port, session_id, password)
            except (OSError, EOFError, struct.error) as error:
                problem = f"{host}:{port}: {error or type(error).__name__}"
        time.sleep(_PAUSE_S)
    raise NoServerError(f"no ZooKeeper server of {connect} answers ({problem})")


def servers(connect: str) -> Iterator[tuple[str, int]]:
    """Yield host and port of each server that a connect string names."""
    for part in ConnectString.parse(connect).hosts.split(","):
        host, colon, port = part.strip().rpartition(":")
        if colon and port.isdigit():
            yield host.strip("[]"), int(port)
        else:
            yield part.strip().strip("[]"), DEFAULT_PORT


def _end_at(host: str, port: int, session_id: int, password: bytes) -> bool:
    with socket.create_connection((host, port), _SERVER_TIMEOUT_S) as connection:
        timeout_ms = int(_SERVER_TIMEOUT_S * 1000)
        request = _CONNECT.pack(0, 0, timeout_ms, session_id, len(password), password, False)
        _send(connection, request)
        _, granted_ms, resumed_id = _CONNECTED.unpack_from(_receive(connection))
        # ZooKeeper answers with zeros when it does not know the session.
        if granted_ms <= 0 or resumed_id != session_id:
            return False
        _send(connection, _REQUEST.pack(_XID, _CLOSE_SESSION))
        _receive(connection)
        return True


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(_SIZE.pack(len(message)) + message)


def _receive(connection: socket.socket) -> bytes:
    (size,) = _SIZE.unpack(_receive_exactly(connection, _SIZE.size))
    if not 0 < size <= _MAX_ANSWER_BYTES:
        raise EOFError(f"an answer of {size} bytes is none of ZooKeeper's")
    return _receive_exactly(connection, size)


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise EOFError("the server closed the connection")
        data += chunk
    return data
