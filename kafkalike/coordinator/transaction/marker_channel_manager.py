"""Ends decided transactions: markers to all partitions, then the last word in the log.

Kafka's TransactionMarkerChannelManager with a coroutine per transaction. It does not give up before
every partition has its marker, for a partition without one is stuck for all who read committed
records; only a broker that is no longer the coordinator leaves the rest to the next one.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from twisted.logger import Logger

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.coordinator.transaction.marker_channel import (
    BrokerSender,
    Errors,
    MarkerChannel,
    TxnMarker,
)
from kafkalike.coordinator.transaction.transaction_metadata import (
    COMPLETE_COMMIT,
    TxnTransitMetadata,
)
from kafkalike.coordinator.transaction.transaction_store import TransactionStore
from kafkalike.model.broker import Broker
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.utils.background import Background
from kafkalike.utils.gather import gather
from kafkalike.utils.time import Time

log = Logger()

RETRY_BACKOFF_MS: Final = 50
"""Kafka's, fixed: the leader of a partition is usually back in no time."""
MAX_RETRY_BACKOFF_MS: Final = 1000
_WRITTEN: Final = (
    ErrorCode.NONE,
    # The producer could not write there either.
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode.UNSUPPORTED_VERSION,
)
_FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
_EXPECTED: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NETWORK_EXCEPTION,
)


class _Ending(NamedTuple):
    """A transaction that is decided: `transit` is what it becomes when all markers are written."""

    transactional_id: str
    coordinator_epoch: int
    transit: TxnTransitMetadata


class _GivenUpError(Exception):
    """Somebody else ends this transaction, or has ended it."""


class MarkerChannelManager:
    """Runs the ends of transactions; owned by the transaction coordinator.

    `is_deleted` asks ZooKeeper: a partition that is missing in the metadata may be a deleted one,
    or one that a controller just elected has not told of yet. (Kafka takes all for deleted, and a
    restart of the whole cluster may leave a transaction without its end.)
    """

    def __init__(
        self,
        store: TransactionStore,
        metadata_cache: MetadataCache,
        is_deleted: Callable[[TopicPartition], Awaitable[bool]],
        connect: Callable[[Broker], BrokerSender],
        request_version: Callable[[], int],
        time: Time,
    ) -> None:
        self._store = store
        self._metadata_cache = metadata_cache
        self._is_deleted = is_deleted
        self._connect = connect
        self._request_version = request_version
        self._time = time
        self._background = Background()
        self._channels: dict[int, tuple[Broker, MarkerChannel]] = {}

    def add_txn_markers_to_send(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        partitions: Iterable[TopicPartition],
        transit: TxnTransitMetadata,
    ) -> None:
        """Have the markers written, and then the transaction completed in the log."""
        ending = _Ending(transactional_id, coordinator_epoch, transit)
        self._background.start(
            self._end(ending, frozenset(partitions)), f"the end of transaction {transactional_id}"
        )

    def shutdown(self) -> None:
        """Leave everything to the next coordinator."""
        self._background.stop()
        for _, channel in self._channels.values():
            channel.close()
        self._channels.clear()

    async def _end(self, ending: _Ending, partitions: frozenset[TopicPartition]) -> None:
        try:
            await self._write(ending, partitions)
            await self._complete(ending)
        except _GivenUpError as reason:
            log.info("{id}: {reason}", id=ending.transactional_id, reason=reason)

    # --- markers

    async def _write(self, ending: _Ending, partitions: frozenset[TopicPartition]) -> None:
        """Have the marker written to all partitions; each leader has its own pace."""
        backoff_ms = RETRY_BACKOFF_MS
        while by_leader := self._by_leader(partitions):
            if len(by_leader) > 1:
                await gather(self._write(ending, frozenset(led)) for led in by_leader.values())
                return
            ((leader, led),) = by_leader.items()
            if leader is None:
                partitions = await self._not_deleted(ending, led)
            else:
                partitions = await self._write_once(ending, leader, frozenset(led))
            if partitions:
                backoff_ms = await self._back_off(ending, backoff_ms)

    def _by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[int | None, list[TopicPartition]]:
        """Group partitions by their leaders; None is that of those that the metadata lack."""
        snapshot = self._metadata_cache.snapshot
        found: dict[int | None, list[TopicPartition]] = defaultdict(list)
        for tp in partitions:
            metadata = snapshot.partition(tp)
            found[None if metadata is None else metadata.leader].append(tp)
        return found

    async def _not_deleted(
        self, ending: _Ending, partitions: Iterable[TopicPartition]
    ) -> frozenset[TopicPartition]:
        """Return the partitions that exist although the metadata do not have them (yet)."""
        left = []
        for tp in partitions:
            if await self._is_deleted(tp):
                log.info(
                    "{id}: {tp} gets no marker, it was deleted", id=ending.transactional_id, tp=tp
                )
            else:
                left.append(tp)
        self._check_current(ending)
        return frozenset(left)

    async def _write_once(
        self, ending: _Ending, leader: int, partitions: frozenset[TopicPartition]
    ) -> frozenset[TopicPartition]:
        """Try to have the marker written; return the partitions that have none yet."""
        broker = self._metadata_cache.snapshot.brokers.get(leader)
        if broker is None:
            return partitions  # Nobody leads them at the moment.
        transit = ending.transit
        marker = TxnMarker(
            transit.producer_id,
            transit.producer_epoch,
            ending.coordinator_epoch,
            transit.txn_state is COMPLETE_COMMIT,
            partitions,
        )
        errors = await self._channel(broker).write(marker)
        self._check_current(ending)
        return _not_written(ending, errors)

    def _channel(self, broker: Broker) -> MarkerChannel:
        """Return the channel to a broker; one that came back elsewhere gets a new one."""
        known, channel = self._channels.get(broker.id, (None, None))
        if channel is None or known != broker:
            if channel is not None:
                channel.close()
            channel = MarkerChannel(
                f"broker {broker.id}", lambda: self._connect(broker), self._request_version()
            )
            self._channels[broker.id] = (broker, channel)
        return channel

    # --- completion

    async def _complete(self, ending: _Ending) -> None:
        backoff_ms = RETRY_BACKOFF_MS
        while True:
            self._check_current(ending)
            try:
                await self._store.append(
                    ending.transactional_id,
                    ending.coordinator_epoch,
                    ending.transit,
                    is_retried=True,
                )
            except KafkaError as error:
                if error.code is ErrorCode.NOT_COORDINATOR:
                    raise _GivenUpError(str(error)) from error
                backoff_ms = await self._back_off(ending, backoff_ms)
            else:
                return

    async def _back_off(self, ending: _Ending, backoff_ms: int) -> int:
        """Wait before the next try, and return how long to wait before the one after it."""
        await self._time.sleep_ms(backoff_ms)
        self._check_current(ending)
        return min(backoff_ms * 2, MAX_RETRY_BACKOFF_MS)

    def _check_current(self, ending: _Ending) -> None:
        if not self._store.is_current(ending.transactional_id, ending.coordinator_epoch):
            raise _GivenUpError(
                f"no longer its coordinator of epoch {ending.coordinator_epoch}, "
                "the next one ends the transaction"
            )


def _not_written(ending: _Ending, errors: Errors) -> frozenset[TopicPartition]:
    left = []
    for tp, code in errors.items():
        if code in _FENCED:
            raise _GivenUpError(
                f"{tp} refuses the marker of epoch {ending.coordinator_epoch} with {code.name}: "
                "the transaction was ended by another coordinator"
            )
        if code not in _WRITTEN:
            left.append(tp)
            level = log.info if code in _EXPECTED else log.error
            level(
                "{id}: the marker for {tp} could not be written and is sent again: {code}",
                id=ending.transactional_id,
                tp=tp,
                code=code.name,
            )
    return frozenset(left)
