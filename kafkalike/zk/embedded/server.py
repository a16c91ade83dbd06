"""One ZooKeeper server as a process of its own, known by a pid file beside its data.

It outlives who started it: `down` in another shell finds it by the pid file, and makes sure that
the process with this pid is really this server before it ends it.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from kafkalike.utils.tcp_port import can_listen
from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError, PortInUseError
from kafkalike.zk.embedded.four_letter_word import ServerMode, server_mode
from kafkalike.zk.embedded.java_command import LOG4J2_PROPERTIES, JavaCommand
from kafkalike.zk.embedded.lock import JAAS_FILE
from kafkalike.zk.embedded.server_config import HOST, EnsembleConfig, ServerPorts, zoo_cfg

_STOP_TIMEOUT_S: Final = 10.0
_KILL_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.02


class ZooKeeperServer:
    """One server of an ensemble; its folder holds zoo.cfg, the data, the log and the pid file."""

    def __init__(self, server_id: int, home: Path, ports: ServerPorts, java: JavaCommand) -> None:
        self.server_id = server_id
        self.home = home
        self.ports = ports
        self.data_dir = home / "data"
        self.log_file = home / "zookeeper.log"
        self._java = java
        self._pid_file = home / "zookeeper.pid"
        self._child: subprocess.Popen[bytes] | None = None

    def __str__(self) -> str:
        return f"ZooKeeper server {self.server_id} (port {self.port})"

    @property
    def port(self) -> int:
        """The port for clients."""
        return self.ports.client

    @property
    def pid(self) -> int | None:
        """The server's process id; None when it does not run."""
        try:
            pid = int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None
        return pid if self._is_ours(pid) else None

    @property
    def is_running(self) -> bool:
        """Whether the process runs (it may not serve yet, see `mode`)."""
        return self.pid is not None

    @property
    def exit_code(self) -> int | None:
        """How the process ended that this object started; None if it did not."""
        return self._child.poll() if self._child is not None else None

    @property
    def mode(self) -> ServerMode | None:
        """Leader, follower or standalone; None while it serves nobody."""
        return server_mode(self.port) if self.is_running else None

    def write_config(self, config: EnsembleConfig) -> None:
        """Write what the process reads when it starts."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        (self.data_dir / "myid").write_text(f"{self.server_id}\n")
        (self.home / "zoo.cfg").write_text(zoo_cfg(config, self.server_id, self.data_dir))
        (self.home / "log4j2.properties").write_text(LOG4J2_PROPERTIES)

    def check_ports(self) -> None:
        """Raise an error that names the first port that somebody else uses."""
        for port in self.ports.all():
            if not can_listen(HOST, port):
                raise PortInUseError(
                    f"port {port} is in use by another program, but {self} needs it:"
                    " stop that program, or choose other ports"
                )

    def start(self) -> None:
        """Start the process if it does not run, without waiting until it serves."""
        if self.is_running:
            return
        jaas_file = self.home.parent / JAAS_FILE
        command = self._java.for_server(
            self.home / "zoo.cfg",
            self.home / "log4j2.properties",
            jaas_file if jaas_file.exists() else None,
        )
        with self.log_file.open("ab") as output:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                start_new_session=True,  # Ctrl-C in the terminal must not reach it
            )
        self._pid_file.write_text(f"{self._child.pid}\n")

    def terminate(self) -> None:
        """Ask the process to end, without waiting."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once, as a crash would, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        if not self._is_gone_within(_KILL_TIMEOUT_S):
            raise EmbeddedZooKeeperError(f"{self} (pid {self.pid}) does not end")

    def stop(self) -> None:
        """End the process, with force if it takes too long; nothing if it does not run."""
        self.terminate()
        if not self._is_gone_within(_STOP_TIMEOUT_S):
            self.kill()
        self._pid_file.unlink(missing_ok=True)

    def log_tail(self, lines: int = 10) -> str:
        """Return the last lines of the log."""
        try:
            text = self.log_file.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        pid = self.pid
        if pid is not None:
            # It may end between the look and the signal.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _is_gone_within(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self.is_running:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _is_ours(self, pid: int) -> bool:
        """Whether the process runs this server: the pid may have gone to a stranger since."""
        if self._child is not None and self._child.pid == pid:
            return self._child.poll() is None  # /proc does not show the command of a newborn
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        return str(self.home / "zoo.cfg").encode() in command.split(b"\0")
