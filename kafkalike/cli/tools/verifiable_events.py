"""The events that the verifiable tools write: a line of JSON each, as Jackson writes it."""

import json
import signal
import sys
from collections.abc import Callable
from typing import Any

from kafkalike.cli.tools.support.wall_clock import now_ms


def print_event(name: str, **fields: Any) -> None:
    """Write an event; one write, so that lines of two threads stay whole."""
    event = {"timestamp": now_ms(), "name": name, **fields}
    text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class StopRequest:
    """Whether somebody asked the tool to end: SIGTERM or Ctrl-C, seen between two records.

    `exit_code` is then that of a JVM which ends so.
    """

    def __init__(self, listen: Callable[..., Any] = signal.signal) -> None:
        self.exit_code = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            listen(number, self._on_signal)

    def __bool__(self) -> bool:
        return self.exit_code != 0

    def _on_signal(self, number: int, _: Any) -> None:
        self.exit_code = 128 + number
