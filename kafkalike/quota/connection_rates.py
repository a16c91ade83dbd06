"""How fast connections may be made: by an address, by a listener, by all (KIP-612).

Part of Kafka's `ConnectionQuotas`: the rates. An address that is too fast has its connection closed
after a while; where a listener or the broker gets too many, new connections wait their turn.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafkalike.quota.sampled_rate import SampledRate

_MAX_ADDRESSES: Final = 10_000
"""Beyond this many the rates of addresses are forgotten, the oldest first."""
_MAX_WAIT_MS: Final = 1000
"""How long a listener waits at most before it looks again, as in Kafka: one window."""


class Admission(NamedTuple):
    """What becomes of a new connection: it is served after a time, or closed after a time."""

    is_served: bool
    delay_ms: int


ADMITTED: Final = Admission(True, 0)


class ConnectionRates:
    """Counts connections; off until some rate has a limit."""

    def __init__(self, num_samples: int, window_s: int) -> None:
        self.is_active = False
        self._num_samples = num_samples
        self._window_ms = window_s * 1000
        self._ip_limits: dict[str | None, float] = {}  # None is the default
        self._broker_limit: float | None = None
        self._listener_limits: Mapping[str, float] = {}
        self._ips: dict[str, SampledRate] = {}
        self._listeners: dict[str, SampledRate] = {}
        self._broker = self._rate()

    def update_ip(self, ip: str | None, limit: float | None) -> None:
        """Take over the limit of an address, or of those without one of their own."""
        if limit is None:
            self._ip_limits.pop(ip, None)
        else:
            self._ip_limits[ip] = limit
        self._refresh()

    def update_limits(self, broker: float | None, listeners: Mapping[str, float]) -> None:
        """Take over the limits of the broker and its listeners."""
        self._broker_limit = broker
        self._listener_limits = dict(listeners)
        self._refresh()

    def admit(self, listener: str, ip: str, now_ms: int) -> Admission:
        """Count a new connection, and say what becomes of it."""
        if not self.is_active:
            return ADMITTED
        limit = self._ip_limits.get(ip, self._ip_limits.get(None))
        if limit is not None:
            refused_ms = self._count(self._of_ip(ip), limit, now_ms)
            if refused_ms:
                self._of_ip(ip).record(-1, now_ms)  # it is not served, so it does not count
                return Admission(False, refused_ms)
        wait_ms = 0
        if self._broker_limit is not None:
            wait_ms = self._count(self._broker, self._broker_limit, now_ms)
        if listener in self._listener_limits:
            rate = self._listeners.setdefault(listener, self._rate())
            wait_ms = max(wait_ms, self._count(rate, self._listener_limits[listener], now_ms))
        return Admission(True, wait_ms)

    def _count(self, rate: SampledRate, limit: float, now_ms: int) -> int:
        rate.record(1, now_ms)
        return min(rate.ms_over(limit, now_ms), _MAX_WAIT_MS)

    def _of_ip(self, ip: str) -> SampledRate:
        rate = self._ips.get(ip)
        if rate is None:
            if len(self._ips) >= _MAX_ADDRESSES:
                del self._ips[next(iter(self._ips))]
            rate = self._ips[ip] = self._rate()
        return rate

    def _rate(self) -> SampledRate:
        return SampledRate(self._num_samples, self._window_ms)

    def _refresh(self) -> None:
        self.is_active = bool(
            self._ip_limits or self._listener_limits or self._broker_limit is not None
        )
