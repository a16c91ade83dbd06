"""Not more than so many records a second (Kafka's `ThroughputThrottler`)."""

import time
from collections.abc import Callable
from typing import Final

_SHORTEST_PAUSE_S: Final = 0.002


class Throttler:
    """Sleeps whenever more was done than the rate allows since the beginning; -1 is no limit."""

    def __init__(
        self,
        per_second: int,
        seconds: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._per_second = per_second
        self._seconds = seconds
        self._sleep = sleep
        self._start = seconds()

    def after(self, done: int) -> None:
        """Wait until as much as is done may be done."""
        if self._per_second <= 0:
            return
        ahead_s = done / self._per_second - (self._seconds() - self._start)
        if ahead_s > _SHORTEST_PAUSE_S:  # shorter pauses cost more than they are worth
            self._sleep(ahead_s)
