"""The launcher's side of the process that brokers are forked from (see `cli/fork_server.py`)."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kafkalike.launcher.errors import ClusterError

_READ_BYTES: Final = 65_536


class ForkServer:
    """Starts brokers and knows how those ended that did; a context manager. Brokers outlive it."""

    def __init__(self) -> None:
        self._exit_codes: dict[Path, int] = {}
        self._starts: Counter[Path] = Counter()
        self._pending = b""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kafkalike.cli.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal must not reach it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._input.close()
        if error is not None:
            self._process.terminate()  # it may still be busy getting ready
        self._process.wait()
        self._output.close()

    def start(self, home: Path, arguments: Sequence[str]) -> None:
        """Run `kafkalike broker` with these arguments in a folder, without waiting for it."""
        self._exit_codes.pop(home, None)
        self._starts[home] += 1
        wanted = {"home": str(home), "start": self._starts[home], "arguments": list(arguments)}
        line = json.dumps(wanted) + "\n"
        try:
            self._input.write(line.encode())
            self._input.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def exit_code(self, home: Path) -> int | None:
        """Return how the broker of a folder ended (negative: the signal); None if it did not."""
        self._read()
        return self._exit_codes.get(home)

    def _read(self) -> None:
        try:
            data = os.read(self._output.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise self._failure()
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            ended = json.loads(line)
            home = Path(ended["home"])
            # The end of a former run may be told after the next one was begun.
            if ended["start"] == self._starts[home]:
                self._exit_codes[home] = ended["exit_code"]

    def _failure(self) -> ClusterError:
        return ClusterError(f"the process that starts brokers ended with {self._process.wait()}")
