"""Keep the bytes that the cleaner reads and writes at a rate (Kafka's `Throttler`)."""

_CHECK_INTERVAL_MS = 300


class Throttler:
    """Adds up what was moved; when an interval was too fast, tells for how long to pause.

    `max_per_second` may be changed at any time.
    """

    def __init__(self, max_per_second: float, now_ms: int) -> None:
        self.max_per_second = max_per_second
        self._period_start_ms = now_ms
        self._observed = 0

    def observe(self, count: int, now_ms: int) -> int:
        """Note that so much was moved; return the milliseconds to pause now, mostly 0."""
        self._observed += count
        elapsed_ms = now_ms - self._period_start_ms
        if elapsed_ms <= _CHECK_INTERVAL_MS or not self._observed:
            return 0
        pause_ms = max(round(self._observed * 1000 / self.max_per_second - elapsed_ms), 0)
        self._period_start_ms = now_ms + pause_ms
        self._observed = 0
        return pause_ms
