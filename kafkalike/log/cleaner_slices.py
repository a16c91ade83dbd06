"""Run a cleaning slice by slice in a thread, at no more than the rate that is allowed."""

from collections.abc import Callable, Generator

from kafkalike.log.cleaner_throttler import Throttler
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.slices import advance
from kafkalike.utils.time import Time

PAUSE_MS = 2
"""Between two slices of half a millisecond: what comes in mostly finds the reactor free, so that
nobody sees at his latencies whether logs are being cleaned (measured with a producer's requests).
Without it the cleaner is three times as fast, and half of all requests wait for it."""
_CHECK_INTERVAL_MS = 100
"""How long a throttled cleaning may take to notice that it is to stop."""


class SliceRunner:
    """Runs work that yields the bytes it moves; between two slices `check` may raise to stop it."""

    def __init__(self, time: Time, run_blocking: RunBlocking, throttler: Throttler) -> None:
        self._time = time
        self._run_blocking = run_blocking
        self._throttler = throttler

    async def run(self, work: Generator[int, None, None], check: Callable[[], None]) -> None:
        """Run the work to its end."""
        is_last = False
        while not is_last:
            check()
            moved_bytes, is_last = await self._run_blocking(advance, work)
            await self._pause(moved_bytes, check)

    async def _pause(self, moved_bytes: int, check: Callable[[], None]) -> None:
        """Let the reactor do what has come up, and wait as long as the throttle says."""
        rate = self._throttler.max_per_second
        pause_ms = self._throttler.observe(moved_bytes, self._time.now_ms())
        while True:
            await self._time.sleep_ms(max(PAUSE_MS, min(pause_ms, _CHECK_INTERVAL_MS)))
            pause_ms -= _CHECK_INTERVAL_MS
            if pause_ms <= 0 or rate != self._throttler.max_per_second:
                return
            check()
