"""One broker of a local cluster as a process of its own, known by a pid file in its folder.

It outlives who started it: a command in another shell finds it by the pid file, and makes sure that
the process with this pid is really this broker before it sends it a signal.
"""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

from kafkalike.client.simple_client import SimpleClient
from kafkalike.launcher.broker_properties import HOST
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from kafkalike.utils.tcp_port import can_listen

_ANSWER_TIMEOUT_S: Final = 2.0
_STOP_TIMEOUT_S: Final = 60.0
_KILL_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.02
_TAIL_LINES: Final = 15


class LocalBroker:
    """A broker and its folder, which has server.properties, the log of the process, the data."""

    def __init__(self, broker_id: int, port: int, home: Path, log_dirs: tuple[str, ...]) -> None:
        self.broker_id = broker_id
        self.port = port
        self.home = home
        self.log_dirs = log_dirs
        self.log_file = home / "broker.log"
        self.properties_file = home / "server.properties"
        self._pid_file = home / "broker.pid"

    def __str__(self) -> str:
        return f"broker {self.broker_id} (port {self.port})"

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process id of the broker, not of its supervisor; None when it does not run."""
        try:
            pid = int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None
        return pid if self._is_ours(pid) else None

    @property
    def is_running(self) -> bool:
        """Whether the process runs (it may not serve yet, see `answers`)."""
        return self.pid is not None

    def check_port(self) -> None:
        """Raise an error if somebody else uses the port."""
        if not can_listen(HOST, self.port):
            raise ClusterError(
                f"port {self.port} is in use by another program, but broker {self.broker_id} needs"
                " it: stop that program, or choose other ports with --port"
            )

    def start(self, fork_server: ForkServer) -> None:
        """Start the process, without waiting until it serves; it must not run."""
        self._pid_file.unlink(missing_ok=True)
        arguments = [str(self.properties_file), "--pid-file", str(self._pid_file)]
        fork_server.start(self.home, arguments)

    def answers(self) -> bool:
        """Whether it answers a request now."""
        try:
            with SimpleClient(HOST, self.port, timeout_s=_ANSWER_TIMEOUT_S) as client:
                return bool(client.send(ApiVersionsRequest(), 0).error_code == 0)
        except (OSError, EOFError, ProtocolError):
            return False

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the broker; ClusterError if it does not run."""
        pid = self.pid
        if pid is None:
            raise ClusterError(f"{self} does not run: start it with cluster start {self.broker_id}")
        # It may end between the look and the signal.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def terminate(self) -> None:
        """Ask it to stop in order, without waiting; nothing if it does not run."""
        if self.is_running:
            self.send_signal(signal.SIGTERM)
            # One that was paused would else never hear of it.
            with contextlib.suppress(ClusterError):
                self.send_signal(signal.SIGCONT)

    def wait_until_ended(self, timeout_s: float = _STOP_TIMEOUT_S) -> bool:
        """Wait until the process is gone; False if it still runs after the time-out."""
        deadline = time.monotonic() + timeout_s
        while self.is_running:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def kill(self) -> None:
        """End it at once, as a crash would, and wait until it is gone."""
        if self.is_running:
            with contextlib.suppress(ClusterError):
                self.send_signal(signal.SIGKILL)
            if not self.wait_until_ended(_KILL_TIMEOUT_S):
                raise ClusterError(f"{self} (pid {self.pid}) does not end")

    def log_tail(self) -> str:
        """Return the last lines of its log, with the log's path before them."""
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return "\n".join([f"the end of its log {self.log_file}:", *lines[-_TAIL_LINES:]])

    def _is_ours(self, pid: int) -> bool:
        """Whether the process runs this broker: the pid may have gone to a stranger since."""
        try:
            return Path(f"/proc/{pid}/cwd").readlink() == self.home
        except OSError:
            return False
