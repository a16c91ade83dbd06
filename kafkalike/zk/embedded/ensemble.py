"""A real ZooKeeper ensemble on this machine: create or open it, start, watch and stop it.

The folder is the ensemble: `server-1`, `server-2` and so on hold everything that is known. Blocking
code for command lines and tests; the broker has no part in it.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError
from kafkalike.zk.embedded.four_letter_word import ServerMode
from kafkalike.zk.embedded.java_command import JavaCommand
from kafkalike.zk.embedded.lock import JAAS_FILE, write_jaas_file
from kafkalike.zk.embedded.server import ZooKeeperServer
from kafkalike.zk.embedded.server_config import EnsembleConfig, read_zoo_cfgs

_START_TIMEOUT_S: Final = 60.0
_JOIN_S: Final = 5.0  # for servers that missed the election that the others held
_POLL_S: Final = 0.02
_LEADING: Final = (ServerMode.LEADER, ServerMode.STANDALONE)


class Ensemble:
    """The servers of one ensemble, running or not."""

    def __init__(
        self, directory: Path, config: EnsembleConfig, *, java: Path | None = None
    ) -> None:
        self.directory = directory.resolve()
        self.config = config
        command = JavaCommand(java)
        self.servers = tuple(
            ZooKeeperServer(number, _home(self.directory, number), ports, command)
            for number, ports in enumerate(config.ports, 1)
        )

    @classmethod
    def create(cls, directory: Path, config: EnsembleConfig, *, java: Path | None = None) -> Self:
        """Lay out an ensemble in a folder; the data of the one that is there already is kept."""
        existing = _count_servers(directory)
        if existing not in (0, len(config.ports)):
            raise EmbeddedZooKeeperError(
                f"{directory} holds an ensemble of {existing} servers, not {len(config.ports)}:"
                f" start it with --servers {existing}, or choose another folder with --dir"
            )
        ensemble = cls(directory, config, java=java)
        if existing:
            ensemble._keep_ports_of_running(cls.open(directory))
        if config.is_locked:
            write_jaas_file(ensemble.directory)
        for server in ensemble.servers:
            server.write_config(config)
        return ensemble

    @property
    def jaas_file(self) -> Path | None:
        """What clients of a locked ensemble log in with; None if it is open."""
        return self.directory / JAAS_FILE if self.config.is_locked else None

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Find the ensemble that was laid out in a folder."""
        count = _count_servers(directory)
        if not count:
            raise EmbeddedZooKeeperError(
                f"there is no ensemble in {directory}: make one with kafkalike zookeeper up"
                f" --dir {directory}"
            )
        files = [_home(directory, number) / "zoo.cfg" for number in range(1, count + 1)]
        return cls(directory, read_zoo_cfgs([file.read_text() for file in files]))

    @property
    def connect_string(self) -> str:
        """All servers, as `zookeeper.connect` wants them."""
        return self.config.connect_string

    @property
    def leader(self) -> ZooKeeperServer | None:
        """The server that leads (or is alone); None while there is none."""
        return next((server for server in self.servers if server.mode in _LEADING), None)

    @property
    def is_serving(self) -> bool:
        """Whether all servers serve clients."""
        return all(server.mode is not None for server in self.servers)

    def start(self, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Start the servers that do not run and wait until a quorum serves.

        The others get a while to join it; after a failure no server is left running.
        """
        stopped = [server for server in self.servers if not server.is_running]
        for server in stopped:
            server.check_ports()
        try:
            for server in stopped:
                server.start()
            self._wait_for_quorum(time.monotonic() + timeout_s)
        except BaseException:  # Ctrl-C too: nothing may be left behind.
            _stop(stopped)
            raise

    def stop(self) -> None:
        """Stop all servers; those that do not run are skipped."""
        _stop(self.servers)

    def wait_until_serving(self, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Wait until every running server serves clients; an error if one ends or time is up."""
        deadline = time.monotonic() + timeout_s
        running = [server for server in self.servers if server.is_running]
        while waiting := _not_serving(running):
            if time.monotonic() >= deadline:
                raise _failure(waiting[0], f"serves no clients after {timeout_s:g} s")
            time.sleep(_POLL_S)

    def _wait_for_quorum(self, deadline: float) -> None:
        quorum_since: float | None = None
        while waiting := _not_serving(self.servers):
            now = time.monotonic()
            if len(waiting) > len(self.servers) // 2:
                quorum_since = None
            elif quorum_since is None:
                quorum_since = now
            elif now >= quorum_since + _JOIN_S:
                return
            if now >= deadline:
                raise _failure(waiting[0], "serves no clients in time")
            time.sleep(_POLL_S)

    def _keep_ports_of_running(self, existing: Self) -> None:
        """Refuse to give other ports to servers that run."""
        if existing.config.ports == self.config.ports:
            return
        if any(server.is_running for server in existing.servers):
            raise EmbeddedZooKeeperError(
                f"the ensemble in {self.directory} runs already, at {existing.connect_string}:"
                f" stop it with kafkalike zookeeper down --dir {self.directory} before it can"
                " have other ports"
            )


def _home(directory: Path, server_id: int) -> Path:
    return directory / f"server-{server_id}"


def _count_servers(directory: Path) -> int:
    return sum(1 for _ in directory.glob("server-*/zoo.cfg"))


def _stop(servers: Sequence[ZooKeeperServer]) -> None:
    # All are asked before one is waited for: the last ones need not elect a leader any more.
    for server in servers:
        server.terminate()
    for server in servers:
        server.stop()


def _not_serving(servers: Sequence[ZooKeeperServer]) -> list[ZooKeeperServer]:
    """Return the servers that do not serve yet; an error if one of them has ended."""
    waiting = [server for server in servers if server.mode is None]
    for server in waiting:
        if not server.is_running:
            raise _failure(server, f"ended with exit code {server.exit_code}")
    return waiting


def _failure(server: ZooKeeperServer, what: str) -> EmbeddedZooKeeperError:
    log = f"{server.log_file}:\n{server.log_tail()}"
    return EmbeddedZooKeeperError(f"{server} {what}; the end of its log {log}")
