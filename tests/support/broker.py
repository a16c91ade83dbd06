"""A kafkalike broker as a real process, for integration tests and the benchmark."""

import socket
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.ports import free_port
from tests.support.process import Process

# ApiVersions v0, correlation id 1, no client id.
_API_VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, 1, -1)


class Broker(Process):
    """`kafkalike broker server.properties` on a free port of 127.0.0.1.

    `properties` win over the defaults written here. `start` returns when the broker answers
    ApiVersions; `seconds_to_first_answer` then says how long that took. Data and properties stay
    in `directory`, so `kill()` or `terminate()` and another `start()` are a restart. The process is
    the broker itself, unless it is supervised: then it is the supervisor, `broker_pid` the broker.
    """

    def __init__(
        self,
        directory: Path,
        zookeeper_connect: str,
        *,
        broker_id: int = 1,
        properties: Mapping[str, str] | None = None,
        is_supervised: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.broker_id = broker_id
        self.port = free_port()
        self.directory = directory
        self.log_dir = directory / "data"
        self.properties = {
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.log_dir),
            "zookeeper.connect": zookeeper_connect,
        } | dict(properties or {})
        self.properties_file = directory / "server.properties"
        self.seconds_to_first_answer = 0.0
        self._pid_file = directory / "broker.pid"
        command = [sys.executable, "-m", "kafkalike.cli.main", "broker", str(self.properties_file)]
        command += ["--pid-file", str(self._pid_file)]
        if not is_supervised:
            command.append("--no-supervisor")
        super().__init__(f"broker {broker_id}", command, directory / "broker.log", env=env)

    @property
    def bootstrap_servers(self) -> str:
        """The broker's address, as clients want it."""
        return f"127.0.0.1:{self.port}"

    @property
    def broker_pid(self) -> int:
        """The process id of the broker itself."""
        return int(self._pid_file.read_text())

    def start(self, timeout_s: float = 30.0) -> None:
        """Start the broker and wait until it answers."""
        started = time.perf_counter()
        self.start_without_waiting()
        self.wait_until(self.answers, timeout_s, "answer to ApiVersions")
        self.seconds_to_first_answer = time.perf_counter() - started

    def start_without_waiting(self) -> None:
        """Start the process only: for brokers that are expected to wait or to refuse."""
        lines = (f"{key}={value}\n" for key, value in self.properties.items())
        self.properties_file.write_text("".join(lines))
        super().start()

    def restart(self) -> None:
        """Stop with SIGTERM and start again on the same data."""
        self.terminate()
        self.start()

    def answers(self) -> bool:
        """Whether the broker answers an ApiVersions request now."""
        return answers_api_versions(self.port)


def answers_api_versions(port: int) -> bool:
    """Whether something on 127.0.0.1:`port` answers ApiVersions v0 without an error."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(_API_VERSIONS_REQUEST)
            answer = b""
            while len(answer) < 10:
                chunk = connection.recv(4096)
                if not chunk:
                    return False
                answer += chunk
    except OSError:
        return False
    _, correlation_id, error_code = struct.unpack_from(">iih", answer)
    return (correlation_id, error_code) == (1, 0)
