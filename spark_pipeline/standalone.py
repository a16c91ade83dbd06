"""A standalone Spark cluster on this machine, from the pyspark wheel: a master and workers.

The wheel has no start-master.sh; `spark-class` with the class names does the same. Everything of a
cluster is in one folder: logs, the workers' files, and `spark-cluster.json` with what runs where.
"""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyspark

from spark_pipeline.session import prepare_environment

_HOST: Final = "127.0.0.1"
_FILE: Final = "spark-cluster.json"
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_START_S: Final = 120.0
_STOP_S: Final = 20.0
_LOOK_S: Final = 0.1


class StandaloneError(Exception):
    """The cluster cannot be started, found or stopped; the text says why."""


@dataclass
class StandaloneCluster:
    """What runs; written down after every change."""

    directory: Path
    port: int
    ui_port: int
    pids: dict[str, int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address for `--master`."""
        return f"spark://{_HOST}:{self.port}"

    @classmethod
    def open(cls, directory: Path) -> "StandaloneCluster":
        """Find a cluster in its folder."""
        try:
            found = json.loads((directory / _FILE).read_text())
        except (OSError, ValueError):
            raise StandaloneError(f"there is no Spark cluster in {directory}") from None
        return cls(directory, found["port"], found["ui_port"], found["pids"])

    def up(self, workers: int, cores: int, memory: str) -> None:
        """Start master and workers and wait until all know each other."""
        self.directory.mkdir(parents=True, exist_ok=True)
        environ = dict(os.environ)
        prepare_environment(environ)
        ports = ["--host", _HOST, "--port", str(self.port), "--webui-port", str(self.ui_port)]
        self._start("master", _MASTER, ports, environ)
        self._wait(lambda: bool(self._state()), "the master to answer", "master")
        for number in range(workers):
            self.start_worker(number, cores, memory, environ)
        self._wait(
            lambda: self.alive_workers() >= workers, f"{workers} workers to register", "worker-0"
        )

    def start_worker(
        self, number: int, cores: int, memory: str, environ: Mapping[str, str] | None = None
    ) -> None:
        """Start one worker."""
        if environ is None:
            given = dict(os.environ)
            prepare_environment(given)
            environ = given
        name = f"worker-{number}"
        where = ["--host", _HOST, "--webui-port", "0", "--work-dir", str(self.directory / name)]
        size = ["--cores", str(cores), "--memory", memory, self.url]
        self._start(name, _WORKER, where + size, environ)

    def alive_workers(self) -> int:
        """Return how many workers the master knows and hears of."""
        return int((self._state() or {}).get("aliveworkers", 0))

    def is_running(self, name: str) -> bool:
        """Whether a process is there and is ours."""
        try:
            command = Path(f"/proc/{self.pids[name]}/cmdline").read_bytes()
        except (OSError, KeyError):
            return False
        return b"org.apache.spark.deploy" in command

    def down(self) -> list[str]:
        """Stop everything; returns what was running."""
        running = sorted(name for name in self.pids if self.is_running(name))
        # Workers first: they stop their executors.
        for name in sorted(running, reverse=True):
            os.kill(self.pids[name], signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        while any(self.is_running(name) for name in running):
            if time.monotonic() >= deadline:
                for name in running:
                    if self.is_running(name):
                        os.kill(self.pids[name], signal.SIGKILL)
                break
            time.sleep(_LOOK_S)
        self.pids.clear()
        self._save()
        return running

    def _start(
        self, name: str, java_class: str, arguments: list[str], environ: Mapping[str, str]
    ) -> None:
        home = Path(pyspark.__file__).parent
        more = {
            "SPARK_HOME": str(home),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_MASTER_OPTS": "-XX:+UseSerialGC",
            "SPARK_WORKER_OPTS": "-XX:+UseSerialGC",
        }
        with (self.directory / f"{name}.log").open("ab") as log:
            started = subprocess.Popen(
                [home / "bin/spark-class", java_class, *arguments],
                env={**environ, **more},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                start_new_session=True,
            )
        self.pids[name] = started.pid
        self._save()

    def _save(self) -> None:
        found = asdict(self) | {"directory": str(self.directory)}
        (self.directory / _FILE).write_text(json.dumps(found, indent=2))

    def _state(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"http://{_HOST}:{self.ui_port}/json/", timeout=2) as page:
                state: dict[str, Any] = json.load(page)
        except (OSError, ValueError):
            return None
        return state

    def _wait(self, is_so: Callable[[], bool], what: str, name: str) -> None:
        deadline = time.monotonic() + _START_S
        while not is_so():
            if time.monotonic() >= deadline:
                log = self.directory / f"{name}.log"
                self.down()
                raise StandaloneError(f"waited {_START_S:.0f} s for {what}; see {log}")
            time.sleep(_LOOK_S)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.create_server((_HOST, 0)) for _ in range(count)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports
