"""How much clients have used, and how long they must wait (Kafka's `ClientQuotaManager`)."""

from collections.abc import Iterable
from typing import Final

from kafkalike.quota.client_quotas import ClientQuotaCallback, QuotaEntity
from kafkalike.quota.quota_type import QuotaType
from kafkalike.quota.sampled_rate import SampledRate
from kafkalike.quota.token_bucket import TokenBucket
from kafkalike.zk.znodes.sanitizer import sanitize

_MAX_IDLE_MS: Final = 3_600_000
_MAX_SENSORS: Final = 10_000
"""Client ids are free to choose: beyond this many the least recently used are forgotten."""

Tags = tuple[tuple[str, str], ...]


class _Sensor:
    """What the clients have used that share a quota."""

    __slots__ = ("bucket", "limit", "rate", "used_ms")

    def __init__(self, limit: float | None, rate: SampledRate, bucket: TokenBucket) -> None:
        self.limit = limit
        self.rate = rate
        self.bucket = bucket
        self.used_ms = 0


class ClientQuotaManager:
    """One kind of quota for all clients. Off until somebody has a quota of this kind."""

    def __init__(
        self,
        quota_type: QuotaType,
        callback: ClientQuotaCallback,
        *,
        num_samples: int,
        window_s: int,
        is_enabled: bool = False,
        max_wait_ms: int | None = None,
    ) -> None:
        self.is_enabled = is_enabled
        self._type = quota_type
        self._callback = callback
        self._num_samples = num_samples
        self._window_s = window_s
        self._max_wait_ms = max_wait_ms
        self._sensors: dict[Tags, _Sensor] = {}
        self._clients: dict[tuple[str, str], Tags] = {}

    def update(self, entity: QuotaEntity, value: float | None) -> None:
        """Take over the quota of an entity, or its absence."""
        self._clients.clear()
        if value is None:
            self._callback.remove_quota(self._type, entity)
        else:
            self.is_enabled = True
            self._callback.update_quota(self._type, entity, value)
        self.refresh()

    def refresh(self) -> None:
        """Ask the callback again for all limits."""
        self._clients.clear()
        for tags, sensor in self._sensors.items():
            sensor.limit = self._callback.quota_limit(self._type, dict(tags))

    # --- rates

    def record(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Count what a client used; return how long it must wait, in ms."""
        sensor = self._sensor(user, client_id, now_ms)
        if sensor.limit is None:
            return 0
        sensor.rate.record(value, now_ms)
        wait_ms = sensor.rate.ms_over(sensor.limit, now_ms)
        return wait_ms if self._max_wait_ms is None else min(wait_ms, self._max_wait_ms)

    def unrecord(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """Take back what was counted, for it was not used after all."""
        self._sensor(user, client_id, now_ms).rate.record(-value, now_ms)

    def max_in_window(self, user: str, client_id: str, now_ms: int) -> float:
        """Return more than which, used at once, would be too much even after a long rest."""
        limit = self._sensor(user, client_id, now_ms).limit
        if limit is None:
            return float("inf")
        return limit * (self._num_samples - 1) * self._window_s

    # --- buckets

    def bucket(self, user: str, client_id: str, now_ms: int) -> tuple[TokenBucket, float] | None:
        """Give a client's bucket and the rate at which it fills; None if it has no limit."""
        sensor = self._sensor(user, client_id, now_ms)
        return None if sensor.limit is None else (sensor.bucket, sensor.limit)

    # --- sensors

    def _sensor(self, user: str, client_id: str, now_ms: int) -> _Sensor:
        tags = self._clients.get((user, client_id))
        if tags is None:
            tags = self._tags(user, client_id)
        sensor = self._sensors.get(tags)
        if sensor is None:
            sensor = self._new_sensor(tags, now_ms)
        sensor.used_ms = now_ms
        return sensor

    def _tags(self, user: str, client_id: str) -> Tags:
        found = self._callback.quota_metric_tags(self._type, sanitize(user), sanitize(client_id))
        if len(self._clients) >= _MAX_SENSORS:
            self._clients.clear()
        tags = self._clients[user, client_id] = tuple(found.items())
        return tags

    def _new_sensor(self, tags: Tags, now_ms: int) -> _Sensor:
        if len(self._sensors) >= _MAX_SENSORS:
            self._forget(self._idle(now_ms))
        sensor = self._sensors[tags] = _Sensor(
            self._callback.quota_limit(self._type, dict(tags)),
            SampledRate(self._num_samples, self._window_s * 1000),
            TokenBucket(self._num_samples * self._window_s),
        )
        return sensor

    def _idle(self, now_ms: int) -> list[Tags]:
        idle = [t for t, one in self._sensors.items() if now_ms - one.used_ms > _MAX_IDLE_MS]
        return idle or sorted(self._sensors, key=lambda t: self._sensors[t].used_ms)[:100]

    def _forget(self, tags: Iterable[Tags]) -> None:
        for one in tags:
            del self._sensors[one]
