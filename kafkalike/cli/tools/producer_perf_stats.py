"""What `kafka-producer-perf-test` measures: rates and latencies, in Kafka's words."""

from typing import Any, Final

_REPORT_MS: Final = 5000
_MOST_SAMPLES: Final = 500_000
_MIB: Final = 1024 * 1024
_PERCENTILES: Final = {"50th": 0.5, "95th": 0.95, "99th": 0.99, "99.9th": 0.999}


class _Window:
    """Sums over the records of some time."""

    def __init__(self, start_ms: int) -> None:
        self.start_ms = start_ms
        self.count = 0
        self.bytes = 0
        self.total_latency_ms = 0
        self.max_latency_ms = 0

    def add(self, latency_ms: int, size: int) -> None:
        self.count += 1
        self.bytes += size
        self.total_latency_ms += latency_ms
        self.max_latency_ms = max(self.max_latency_ms, latency_ms)

    def rates(self, now_ms: int) -> tuple[float, float, float]:
        """Return records per second, MB per second and the average latency."""
        seconds = max(1, now_ms - self.start_ms) / 1000
        average = self.total_latency_ms / self.count if self.count else float("nan")
        return self.count / seconds, self.bytes / seconds / _MIB, average


class ProducerStats:
    """Latencies of all records, as a sample if there are very many; a report every five seconds."""

    def __init__(self, expected: int, start_ms: int) -> None:
        self._every = max(1, expected // _MOST_SAMPLES)
        self._sample: list[int] = []
        self._total = _Window(start_ms)
        self._window = _Window(start_ms)

    @property
    def count(self) -> int:
        """How many records were acknowledged."""
        return self._total.count

    def record(self, number: int, latency_ms: int, size: int, now_ms: int) -> str | None:
        """Take note of a record that was acknowledged; returns a report when one is due."""
        self._total.add(latency_ms, size)
        self._window.add(latency_ms, size)
        if number % self._every == 0:
            self._sample.append(latency_ms)
        if now_ms - self._window.start_ms < _REPORT_MS:
            return None
        line = self._report(now_ms)
        self._window = _Window(now_ms)
        return line

    def _report(self, now_ms: int) -> str:
        window = self._window
        per_second, mb_per_second, average = window.rates(now_ms)
        return (
            f"{window.count} records sent, {per_second:.1f} records/sec"
            f" ({mb_per_second:.2f} MB/sec), {average:.1f} ms avg latency,"
            f" {window.max_latency_ms:.1f} ms max latency."
        )

    def summary(self, now_ms: int) -> dict[str, Any]:
        """Return everything as numbers."""
        per_second, mb_per_second, average = self._total.rates(now_ms)
        ordered = sorted(self._sample)
        percentiles = {
            name: ordered[int(share * len(ordered))] if ordered else 0
            for name, share in _PERCENTILES.items()
        }
        return {
            "records": self._total.count,
            "records_per_second": per_second,
            "mb_per_second": mb_per_second,
            "avg_latency_ms": average,
            "max_latency_ms": self._total.max_latency_ms,
            "latency_percentiles_ms": percentiles,
        }


def summary_line(found: dict[str, Any]) -> str:
    """Write a summary as Kafka's tool does."""
    shares = ", ".join(f"{ms} ms {name}" for name, ms in found["latency_percentiles_ms"].items())
    return (
        f"{found['records']} records sent, {found['records_per_second']:f} records/sec"
        f" ({found['mb_per_second']:.2f} MB/sec), {found['avg_latency_ms']:.2f} ms avg latency,"
        f" {found['max_latency_ms']:.2f} ms max latency, {shares}."
    )
