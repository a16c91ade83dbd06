"""Child processes of tests: output goes to a file, the end comes by pid, every wait is bounded.

Every process leads a group of its own, so that ending it also ends what it started.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.waiting import wait_until

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessEnded(AssertionError):
    """The process ended while somebody waited for a sign of life."""


class Process:
    """One child process that can be started, ended and started again; it appends to `log`."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = [str(part) for part in command]
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self._popen: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.terminate()

    def start(self) -> None:
        """Start the process; it must not be running."""
        assert not self.is_alive, f"{self.name} runs already"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            self._popen = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id, also after its end."""
        assert self._popen is not None, f"{self.name} was never started"
        return self._popen.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code (negative: the signal), None while it runs."""
        return self._popen.poll() if self._popen is not None else None

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process alone."""
        os.kill(self.pid, number)

    def wait(self, timeout_s: float = 15.0) -> int:
        """Wait for the end and return the exit code."""
        assert self._popen is not None, f"{self.name} was never started"
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self.name} (pid {self.pid}) still runs after {timeout_s:g} s\n{self.tail()}"
            ) from None

    def terminate(self, timeout_s: float = 20.0) -> int | None:
        """SIGTERM, and SIGKILL for the whole group after `timeout_s`; returns the exit code."""
        if self._popen is None:
            return None
        if self.is_alive:
            with contextlib.suppress(ProcessLookupError):
                self.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(timeout_s)
        return self.kill()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int | None:
        """Send `number` to the process and all that it started, and reap it."""
        if self._popen is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, number)
        return self.wait()

    def log_text(self) -> str:
        """What the process wrote since its last start."""
        with self.log.open("rb") as output:
            output.seek(self._log_start)
            return output.read().decode(errors="replace")

    def tail(self, lines: int = 30) -> str:
        """The last lines of the log, for failure messages."""
        return "\n".join([f"--- {self.log}", *self.log_text().splitlines()[-lines:]])

    def wait_for_log(self, text: str, timeout_s: float = 30.0) -> None:
        """Wait until the process wrote `text`; at once ProcessEnded when it ended without."""
        self.wait_until(lambda: text in self.log_text(), timeout_s, f"{text!r} in the log")

    def wait_until(self, condition: Callable[[], object], timeout_s: float, what: str) -> None:
        """Wait for `condition()` while the process lives."""

        def alive_and_true() -> bool:
            ended = not self.is_alive
            try:
                if condition():
                    return True
            except (AssertionError, OSError):
                if not ended:
                    raise
            if ended:
                raise _Ended
            return False

        try:
            wait_until(alive_and_true, timeout_s, f"{self.name}: {what}")
        except _Ended:
            raise ProcessEnded(
                f"{self.name} ended with {self.exit_code}, no {what}\n{self.tail()}"
            ) from None
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail()}") from error

    def rss_bytes(self) -> int:
        """Resident memory of the process and its descendants."""
        return sum(rss_bytes(pid) for pid in process_tree(self.pid))

    def cpu_seconds(self) -> float:
        """User and system time of the process and its descendants, ended ones included."""
        return cpu_seconds(self.pid)


class _Ended(Exception):
    """Leaves the waiting loop early."""


def process_tree(pid: int) -> list[int]:
    """Return `pid` and the pids of its living descendants."""
    pids = [pid]
    for parent in pids:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                pids += map(int, task.read_text().split())
    return pids


def rss_bytes(pid: int) -> int:
    """Resident memory of one process, 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def cpu_seconds(pid: int) -> float:
    """User and system seconds of `pid` and its descendants, reaped children included."""
    ticks = 0
    for member in process_tree(pid):
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{member}/stat").read_text()
            # The name (field 2) may hold spaces: count from the closing bracket.
            ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / _TICKS_PER_SECOND
