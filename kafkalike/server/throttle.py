"""Client quotas at work: what requests used, and how long their clients have to wait for more.

Kafka's `QuotaManagers`. A client that used too much gets its answer, with the time that it should
wait; and its connection is muted for that time, whether it understands that or not (KIP-219).
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from time import perf_counter
from types import coroutine
from typing import Any, Final, Protocol, TypeVar

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ThrottlingQuotaExceededError
from kafkalike.quota.client_quota_manager import ClientQuotaManager
from kafkalike.quota.client_quotas import (
    ClientQuotaCallback,
    DefaultQuotaCallback,
    QuotaEntity,
)
from kafkalike.quota.quota_type import QuotaType
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.server.mutation_quota import RecordMutations, no_limit
from kafkalike.utils.time import Time

T = TypeVar("T")

_UNLIMITED: Final = (1 << 63) - 1
_EXEMPT: Final = frozenset(
    {
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.ALTER_ISR,
    }
)
"""What brokers ask of each other never waits."""
STRICT_MUTATIONS: Final[Mapping[int, int]] = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 3,
}
"""From which version on a mutation beyond the quota is refused, and not only made to wait for."""
_MAX_BYTES: Final = (1 << 31) - 1


class ThrottledRequest(Protocol):
    """What must be known of a request (`RequestContext`)."""

    api_version: int
    throttle_time_ms: int

    @property
    def principal(self) -> KafkaPrincipal:
        """Who asks."""

    @property
    def client_id(self) -> str | None:
        """As what."""


class Throttle:
    """The four kinds of client quota."""

    def __init__(
        self, config: BrokerConfig, time: Time, callback: ClientQuotaCallback | None = None
    ) -> None:
        self._time = time
        static = {
            QuotaType.PRODUCE: config.quota_producer_default,
            QuotaType.FETCH: config.quota_consumer_default,
        }
        defaults = {kind: float(v) for kind, v in static.items() if v != _UNLIMITED}
        decides = callback or DefaultQuotaCallback(defaults)
        window_s = config.quota_window_size_seconds

        def manager(kind: QuotaType, max_wait_ms: int | None = None) -> ClientQuotaManager:
            return ClientQuotaManager(
                kind,
                decides,
                num_samples=config.quota_window_num,
                window_s=window_s,
                is_enabled=callback is not None or kind in defaults,
                max_wait_ms=max_wait_ms,
            )

        self._produce = manager(QuotaType.PRODUCE)
        self._fetch = manager(QuotaType.FETCH)
        self._request = manager(QuotaType.REQUEST, window_s * 1000)
        self._mutations = ClientQuotaManager(
            QuotaType.CONTROLLER_MUTATION,
            decides,
            num_samples=config.controller_quota_window_num,
            window_s=config.controller_quota_window_size_seconds,
            is_enabled=callback is not None,
        )
        self._managers = {
            QuotaType.PRODUCE: self._produce,
            QuotaType.FETCH: self._fetch,
            QuotaType.REQUEST: self._request,
            QuotaType.CONTROLLER_MUTATION: self._mutations,
        }
        self.is_active = any(one.is_enabled for one in self._managers.values())

    def update(self, entity: QuotaEntity, quotas: Mapping[QuotaType, float]) -> None:
        """Take over all quotas of an entity."""
        for kind, manager in self._managers.items():
            manager.update(entity, quotas.get(kind))
            self.is_active = self.is_active or manager.is_enabled

    # --- what a request used

    async def timed(self, handling: Coroutine[Any, Any, T]) -> tuple[T, float]:
        """Run a handler, and return for how many seconds it kept the broker busy."""
        if not self._request.is_enabled:
            return await handling, 0.0
        spent = [0.0]
        return await _measured(handling, spent), spent[0]

    def wait_ms(
        self, api_key: ApiKey, context: ThrottledRequest, request: Any, size: int, busy_s: float
    ) -> int:
        """Count what a request used; return how long its client must wait."""
        if api_key in _EXEMPT or (api_key is ApiKey.FETCH and request.replica_id >= 0):
            return 0
        user, client_id, now_ms = self._who(context)
        wait_ms = context.throttle_time_ms
        if api_key is ApiKey.PRODUCE and self._produce.is_enabled:
            wait_ms = max(wait_ms, self._produce.record(user, client_id, size, now_ms))
        if self._request.is_enabled:
            wait_ms = max(wait_ms, self._request.record(user, client_id, busy_s * 100, now_ms))
        return wait_ms

    # --- fetch

    def max_fetch_bytes(self, context: ThrottledRequest) -> int:
        """Return how much a client may fetch at once: more would have to wait in any case."""
        if not self._fetch.is_enabled:
            return _MAX_BYTES
        return int(min(self._fetch.max_in_window(*self._who(context)), _MAX_BYTES))

    def fetch_wait_ms(self, context: ThrottledRequest, found: Iterable[tuple[Any, Any]]) -> int:
        """Count what is about to be sent; if it is too much it is not sent, and not counted."""
        if not self._fetch.is_enabled:
            return 0
        size = sum(len(answer.record_set) for _, answer in found if answer.record_set)
        user, client_id, now_ms = self._who(context)
        wait_ms = self._fetch.record(user, client_id, size, now_ms)
        if wait_ms > 0:
            self._fetch.unrecord(user, client_id, size, now_ms)
            context.throttle_time_ms = max(context.throttle_time_ms, wait_ms)
        return wait_ms

    # --- controller mutations (KIP-599)

    @property
    def limits_mutations(self) -> bool:
        """Whether somebody has a quota of controller mutations."""
        return self._mutations.is_enabled

    def mutations_of(self, api_key: ApiKey, context: ThrottledRequest) -> RecordMutations:
        """Give what counts the mutations of a request."""
        if not self.limits_mutations:
            return no_limit
        return partial(self._record_mutations, api_key, context)

    def _record_mutations(self, api_key: ApiKey, context: ThrottledRequest, permits: int) -> None:
        """Count partitions that are created or deleted; beyond the quota refuse, or have to wait.

        Newer clients are refused (strict), older ones are served and wait afterwards.
        """
        user, client_id, now_ms = self._who(context)
        found = self._mutations.bucket(user, client_id, now_ms)
        if found is None:
            return
        bucket, rate = found
        if context.api_version >= STRICT_MUTATIONS[api_key]:
            wait_ms = bucket.wait_ms(rate, now_ms)
            if wait_ms == 0:
                bucket.take(permits, rate, now_ms)
        else:
            bucket.take(permits, rate, now_ms)
            wait_ms = bucket.wait_ms(rate, now_ms)
        context.throttle_time_ms = max(context.throttle_time_ms, wait_ms)
        if wait_ms > 0 and context.api_version >= STRICT_MUTATIONS[api_key]:
            raise ThrottlingQuotaExceededError("The throttling quota has been exceeded.")

    def _who(self, context: ThrottledRequest) -> tuple[str, str, int]:
        return context.principal.name, context.client_id or "", self._time.now_ms()


@coroutine
def _measured(handling: Any, spent: list[float]) -> Any:
    """Do what `await` does, and add up how long each step took."""
    step: Callable[[], Any] = partial(handling.send, None)
    while True:
        began = perf_counter()
        try:
            waiting = step()
        except StopIteration as done:
            return done.value
        finally:
            spent[0] += perf_counter() - began
        try:
            step = partial(handling.send, (yield waiting))
        except BaseException as error:  # noqa: BLE001 (it belongs to the handler)
            step = partial(handling.throw, error)
