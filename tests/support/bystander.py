"""A client that minds its own business while others misbehave; it must not notice."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from kafkalike.client.simple_client import SimpleClient
from tests.support import wire
from tests.support.waiting import wait_until

_PAUSE_S = 0.02


class Bystander:
    """Writes and reads records; a context manager whose end tells what went wrong."""

    def __init__(self, connect: Callable[[], SimpleClient], topic: str) -> None:
        self._connect = connect
        self._topic = topic
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bystander")
        self.rounds = 0
        self.longest_s = 0.0
        self._problem: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.wait_rounds(3)  # what was done to the broker may show a little later
        finally:
            self._is_over.set()
            self._thread.join(60)
        assert self._problem is None, f"the bystander noticed: {self._problem!r}"

    def wait_rounds(self, count: int) -> None:
        """Let it do its work some more times: so long the others go on misbehaving."""
        until = self.rounds + count
        wait_until(
            lambda: self.rounds >= until or not self._thread.is_alive(), 90, "its work goes on"
        )

    def _run(self) -> None:
        try:
            with self._connect() as client:
                while not self._is_over.wait(_PAUSE_S):
                    began = time.monotonic()
                    offset = wire.append(client, self._topic, b"mine")
                    (record,) = wire.fetch_records(client, self._topic, offset)
                    assert record.value == b"mine"
                    self.rounds += 1
                    self.longest_s = max(self.longest_s, time.monotonic() - began)
        except Exception as error:  # noqa: BLE001 (told at the end)
            self._problem = error
