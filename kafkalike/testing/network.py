"""The test's side of the network process (`network_process.py`)."""

import json
import subprocess
import sys
from collections.abc import Sequence

from kafkalike.launcher.errors import ClusterError


class Network:
    """Proxies between brokers, clients and ZooKeeper; one process, which ends with this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kafkalike.testing.network_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal must not reach it
        )

    def listen(self, port: int, target: int, broker_id: int) -> None:
        """Carry connections to a port on to another one, which belongs to a broker."""
        self._command("listen", port=port, target=target, broker_id=broker_id)

    def isolate(self, broker_id: int, pid: int) -> None:
        """Cut a broker off from everybody."""
        self._command("isolate", broker_id=broker_id, pid=pid)

    def heal(self, broker_id: int) -> None:
        """Let a broker be reached again."""
        self._command("heal", broker_id=broker_id)

    def watch(self, pids: Sequence[int]) -> None:
        """Name the processes that are to be killed should this one crash."""
        self._command("watch", pids=list(pids))

    def close(self) -> None:
        """End the process; what it watched is left alone."""
        if self._process.poll() is None:
            self.watch([])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _command(self, name: str, **arguments: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps({"do": name, **arguments}) + "\n"
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ClusterError("the network process has ended") from None
        answer = self._process.stdout.readline()
        error = json.loads(answer)["error"] if answer else "the network process has ended"
        if error:
            raise ClusterError(f"{name} {arguments}: {error}")
