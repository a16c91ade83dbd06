"""Finds out where to begin: at the committed offset, else where `auto_offset_reset` says."""

from collections.abc import Callable

from twisted.logger import Logger

from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.offset_lookup import EARLIEST, LATEST, OffsetLookup
from kafkalike.client.consumer.offset_store import OffsetStore
from kafkalike.client.consumer.subscription_state import SubscriptionState
from kafkalike.client.kafka_client import KafkaClient
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError

log = Logger()

_TIMES = {"earliest": EARLIEST, "latest": LATEST}


class NoOffsetForPartitionError(KafkaError):
    """There is no committed offset and no reset policy that says where to begin."""


class Positions:
    """Looks positions up in the background; `wake` tells when there is news."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        subscription: SubscriptionState,
        lookup: OffsetLookup,
        store: OffsetStore | None,
        wake: Callable[[], None],
    ) -> None:
        self._client = client
        self._config = config
        self._subscription = subscription
        self._lookup = lookup
        self._store = store
        self._wake = wake
        self._is_running = False
        self.error: KafkaError | None = None

    @property
    def missing(self) -> list[TopicPartition]:
        """The partitions whose position is not known."""
        partitions = self._subscription.partitions
        return [tp for tp, state in partitions.items() if state.position is None]

    def find_in_background(self) -> None:
        """Look up what is missing, unless that is being done."""
        if not self._is_running and self.missing:
            self._is_running = True
            self._client.background.start(self._find_quietly(), "finding positions")

    async def _find_quietly(self) -> None:
        try:
            await self.find(self._config.default_api_timeout_ms)
        except KafkaError as error:
            if error.retriable:
                log.debug("finding positions: {error}", error=error)
                await self._client.time.sleep_ms(self._config.retry_backoff_ms)
            else:
                self.error = error
        finally:
            self._is_running = False
        self._wake()

    async def find(self, timeout_ms: int) -> None:
        """Look up what is missing and wait for it."""
        await self._begin_at_committed(timeout_ms)
        await self._reset(timeout_ms)

    async def _begin_at_committed(self, timeout_ms: int) -> None:
        partitions = self._subscription.partitions
        new = [tp for tp in self.missing if partitions[tp].reset is None]
        if not new:
            return
        found = {}
        if self._store is not None:
            store, is_stable = self._store, bool(self._config.isolation)
            found = await self._client.retrying(
                lambda: store.fetch(new, require_stable=is_stable), timeout_ms
            )
        without: list[TopicPartition] = []
        for tp in new:
            state = self._subscription.partitions.get(tp)
            if state is None or state.position is not None or state.reset is not None:
                continue  # The program has sought meanwhile, or the partition is gone.
            if tp in found:
                state.seek(found[tp].offset, found[tp].leader_epoch)
            elif self._config.reset_strategy == "none":
                without.append(tp)
            else:
                state.request_reset(self._config.reset_strategy)
        if without:
            raise NoOffsetForPartitionError(
                f"no committed offset for {', '.join(map(str, without))} and auto_offset_reset is "
                "none: seek to an offset"
            )

    async def _reset(self, timeout_ms: int) -> None:
        partitions = self._subscription.partitions
        wanted = {
            tp: (_TIMES[where] if isinstance(where, str) else where, partitions[tp].seeks)
            for tp in self.missing
            if (where := partitions[tp].reset) is not None
        }
        if not wanted:
            return
        times = {tp: time for tp, (time, _) in wanted.items()}
        for tp, found in (await self._lookup.find(times, timeout_ms)).items():
            state = self._subscription.partitions.get(tp)
            if state is not None and state.seeks == wanted[tp][1]:
                state.seek(max(0, found.offset), found.leader_epoch)
