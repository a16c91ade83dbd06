"""A token bucket (Kafka's `TokenBucket`): a steady rate with room for a burst."""


class TokenBucket:
    """Filled at `rate` tokens a second, up to what comes in `burst_s` seconds; full at first."""

    def __init__(self, burst_s: float) -> None:
        self._burst_s = burst_s
        self._tokens: float | None = None
        self._filled_ms = 0

    def tokens(self, rate: float, now_ms: int) -> float:
        """Return what is in the bucket; less than nothing if more was taken."""
        burst = rate * self._burst_s
        if self._tokens is None:
            self._tokens = burst
        else:
            self._tokens = min(burst, self._tokens + rate * (now_ms - self._filled_ms) / 1000)
        self._filled_ms = now_ms
        return self._tokens

    def take(self, tokens: float, rate: float, now_ms: int) -> None:
        """Take tokens out, also if there are not as many."""
        self._tokens = self.tokens(rate, now_ms) - tokens

    def wait_ms(self, rate: float, now_ms: int) -> int:
        """Return how long it takes until the bucket is not below empty."""
        missing = -self.tokens(rate, now_ms)
        return round(missing / rate * 1000) if missing > 0 else 0
