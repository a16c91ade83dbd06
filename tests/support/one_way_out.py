"""Run a command in a network of its own, from which one port of 127.0.0.1 can be reached.

The new network namespace has an empty loopback. What connects to the port there is carried through
a Unix socket (files are not part of the namespace) to the same port here; every other port refuses.
Needs `unshare --user --net`, and skips the test where that is not allowed.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

_HOST = "127.0.0.1"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net")
_SIOCSIFFLAGS, _IFF_UP_AND_RUNNING = 0x8914, 0x41
_CHUNK_BYTES = 1 << 16
_ROOT = Path(__file__).parents[2]


class Outcome(NamedTuple):
    """What the command wrote, and how many connections it made to the port."""

    output: str
    connections: int


def run_python(arguments: Sequence[str], port: int, timeout_s: float = 120.0) -> Outcome:
    """Run Python with arguments in such a network; it must succeed."""
    if subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("network namespaces are not allowed here")
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/way"
        with _Relay(path, port) as relay:
            done = subprocess.run(
                [*_UNSHARE, sys.executable, "-m", __name__, path, str(port), *arguments],
                capture_output=True,
                text=True,
                timeout=timeout_s,
                cwd=_ROOT,
                check=False,
            )
    assert done.returncode == 0, done.stdout + done.stderr
    return Outcome(done.stdout, relay.connections)


class _Relay:
    """Carries connections from a listening socket to another address, a thread per direction."""

    def __init__(self, path: str, port: int, *, is_inside: bool = False) -> None:
        self.connections = 0
        self._path, self._port, self._is_inside = path, port, is_inside
        if is_inside:
            self._listening = socket.create_server((_HOST, port))
        else:
            self._listening = socket.socket(socket.AF_UNIX)
            self._listening.bind(path)
            self._listening.listen(100)

    def __enter__(self) -> "_Relay":
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
                other = self._connect()
            except OSError:
                return
            self.connections += 1
            for source, target in ((accepted, other), (other, accepted)):
                threading.Thread(target=_carry, args=(source, target), daemon=True).start()

    def _connect(self) -> socket.socket:
        if not self._is_inside:
            return socket.create_connection((_HOST, self._port))
        way = socket.socket(socket.AF_UNIX)
        way.connect(self._path)
        return way


def _carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK_BYTES):
            target.sendall(data)
    except OSError:
        pass
    for one in (source, target):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", _IFF_UP_AND_RUNNING)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)


def _inside(path: str, port: str, *arguments: str) -> int:
    """Stand at the other end of the way, in the new network, and run the command there."""
    _bring_loopback_up()
    with _Relay(path, int(port), is_inside=True):
        command = [sys.executable, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(_inside(*sys.argv[1:]))
