"""A rate over a sliding window of samples (Kafka's `Rate` over `SampledStat`)."""

from collections import deque


class SampledRate:
    """What was recorded per second, over the last `num_samples` windows of `window_ms` each."""

    def __init__(self, num_samples: int, window_ms: int) -> None:
        self._num_samples = num_samples
        self._window_ms = window_ms
        self._samples: deque[list[float]] = deque()  # [began at, total]

    def record(self, value: float, now_ms: int) -> None:
        """Add to the current window."""
        if not self._samples or now_ms - self._samples[-1][0] >= self._window_ms:
            self._samples.append([now_ms, 0.0])
            if len(self._samples) > self._num_samples:
                self._samples.popleft()
        self._samples[-1][1] += value

    def per_second(self, now_ms: int) -> float:
        """Return the rate; windows that were never begun count as quiet ones."""
        self._forget(now_ms)
        if not self._samples:
            return 0.0
        return sum(total for _, total in self._samples) * 1000 / self.window_ms(now_ms)

    def window_ms(self, now_ms: int) -> float:
        """Return how long the samples reach back."""
        self._forget(now_ms)
        elapsed_ms = now_ms - self._samples[0][0] if self._samples else 0.0
        # A rate over a moment would be anything: assume all windows but the current one are over.
        missing = (self._num_samples - 1) - elapsed_ms // self._window_ms
        return elapsed_ms + max(0, missing) * self._window_ms

    def ms_over(self, bound: float, now_ms: int) -> int:
        """Return for how long nothing may be recorded until the rate is within a bound."""
        rate = self.per_second(now_ms)
        if rate <= bound:
            return 0
        return round((rate - bound) / bound * self.window_ms(now_ms)) if bound else _FOREVER_MS

    def _forget(self, now_ms: int) -> None:
        oldest = now_ms - self._num_samples * self._window_ms
        while self._samples and self._samples[0][0] < oldest:
            self._samples.popleft()


_FOREVER_MS = (1 << 31) - 1
