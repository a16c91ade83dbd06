"""Coordinates transactions: gives out producer ids and epochs, decides commits and aborts.

Kafka's TransactionCoordinator. Which changes are legal is in `transitions`, what is written in
`transaction_store`, how partitions learn of the end in `marker_channel_manager`.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.transaction import transitions
from kafkalike.coordinator.transaction.marker_channel_manager import MarkerChannelManager
from kafkalike.coordinator.transaction.producer_ids import ProducerIdManager
from kafkalike.coordinator.transaction.transaction_metadata import (
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARE_EPOCH_FENCE,
    TransactionMetadata,
    TxnTransitMetadata,
    new_transaction,
)
from kafkalike.coordinator.transaction.transaction_store import Coordinated, TransactionStore
from kafkalike.coordinator.transaction.transactional_id_expiry import TransactionalIdExpiry
from kafkalike.coordinator.transaction.transitions import ProducerIdAndEpoch
from kafkalike.model.topic import TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ConcurrentTransactionsError,
    ErrorCode,
    InvalidPidMappingError,
    InvalidRequestError,
    InvalidTxnTimeoutError,
    KafkaError,
)
from kafkalike.utils.background import Background
from kafkalike.utils.periodic import PeriodicTasks
from kafkalike.utils.time import Time

log = Logger()

_EXPECTED_OF_ROLLBACK: Final = (
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


class TransactionCoordinator:
    """One per broker; it coordinates the ids whose partitions of the log this broker leads."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        producer_ids: ProducerIdManager,
        store: TransactionStore,
        markers: MarkerChannelManager,
        expiry: TransactionalIdExpiry,
        time: Time,
    ) -> None:
        self._config = config
        self._producer_ids = producer_ids
        self._store = store
        self._markers = markers
        self._expiry = expiry
        self._time = time
        self._background = Background()
        self._tasks = PeriodicTasks(time, self._background)

    # --- life

    def startup(self) -> None:
        """Look after time-outs and expiry from now on."""
        # As Kafka: not the first producer waits for ZooKeeper, but nobody.
        self._background.start(self._producer_ids.take_first_block(), "the first producer ids")
        config = self._config()
        abort_ms = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._tasks.start(
            "transaction abort",
            self.abort_timed_out_transactions,
            delay_ms=abort_ms,
            period_ms=abort_ms,
        )
        expiry_ms = config.transaction_remove_expired_transaction_cleanup_interval_ms
        self._tasks.start(
            "transactional id expiry",
            self._expiry.remove_expired_transactional_ids,
            delay_ms=expiry_ms,
            period_ms=expiry_ms,
        )

    def shutdown(self) -> None:
        """Stop; what is not ended yet is up to the next coordinator."""
        self._tasks.stop()
        self._background.stop()
        self._markers.shutdown()

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of the transaction log that has this id."""
        return self._store.partition_for(transactional_id)

    # --- producers

    async def init_producer_id(
        self,
        transactional_id: str | None,
        txn_timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
    ) -> ProducerIdAndEpoch:
        """Tell a producer who it is; with a transactional id, all former ones are locked out."""
        if transactional_id is None:
            return ProducerIdAndEpoch(await self._producer_ids.generate_producer_id(), 0)
        _check_transactional_id(transactional_id)
        self._check_timeout(txn_timeout_ms)
        epoch, transit = await self._prepare_init(transactional_id, txn_timeout_ms, expected)
        producer = _producer_of(transit)
        if transit.txn_state is PREPARE_EPOCH_FENCE:
            await self._end(transactional_id, producer, is_commit=False, is_from_client=False)
            raise ConcurrentTransactionsError(
                f"{transactional_id}: its open transaction is being aborted, try again"
            )
        await self._store.append(transactional_id, epoch, transit)
        log.info(
            "{id} is producer {producer} of epoch {epoch}",
            id=transactional_id,
            producer=producer.producer_id,
            epoch=producer.producer_epoch,
        )
        return producer

    def _check_timeout(self, txn_timeout_ms: int) -> None:
        longest_ms = self._config().transaction_max_timeout_ms
        if not 0 < txn_timeout_ms <= longest_ms:
            raise InvalidTxnTimeoutError(
                f"the transaction timeout {txn_timeout_ms} is not between 1 and "
                f"transaction.max.timeout.ms, which is {longest_ms}"
            )

    async def _prepare_init(
        self,
        transactional_id: str,
        txn_timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
    ) -> tuple[int, TxnTransitMetadata]:
        new_producer_id: int | None = None
        known = await self._get_or_create(transactional_id, txn_timeout_ms)
        if transitions.needs_new_producer_id(known.metadata, expected):
            new_producer_id = await self._producer_ids.generate_producer_id()
            # It may have changed, or expired, meanwhile.
            known = await self._get_or_create(transactional_id, txn_timeout_ms)
        transit = transitions.init_producer_id(
            known.metadata, txn_timeout_ms, expected, new_producer_id, self._time.now_ms()
        )
        return known.coordinator_epoch, transit

    async def _get_or_create(self, transactional_id: str, txn_timeout_ms: int) -> Coordinated:
        known = self._store.get(transactional_id)
        if known is not None:
            return known
        producer_id = await self._producer_ids.generate_producer_id()
        return self._store.put_if_not_exists(
            new_transaction(transactional_id, producer_id, txn_timeout_ms, self._time.now_ms())
        )

    # --- transactions

    async def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: AbstractSet[TopicPartition],
    ) -> None:
        """Take partitions into the transaction of a producer."""
        known = self._known(transactional_id)
        transit = transitions.add_partitions(
            known.metadata, producer, partitions, self._time.now_ms()
        )
        if transit is not None:
            await self._store.append(transactional_id, known.coordinator_epoch, transit)

    async def end_transaction(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, is_commit: bool
    ) -> None:
        """Commit or abort. Returns when that is decided; partitions learn of it afterwards."""
        await self._end(transactional_id, producer, is_commit=is_commit, is_from_client=True)

    async def _end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        is_commit: bool,
        is_from_client: bool,
    ) -> None:
        known = self._known(transactional_id)
        is_fence = known.metadata.pending_state is PREPARE_EPOCH_FENCE
        transit = transitions.end_transaction(
            known.metadata,
            producer,
            self._time.now_ms(),
            is_commit=is_commit,
            is_from_client=is_from_client,
        )
        if transit is None:
            return
        try:
            await self._store.append(transactional_id, known.coordinator_epoch, transit)
        except KafkaError:
            # The producer never saw the raised epoch, so the next attempt need not raise it again.
            known.metadata.has_failed_epoch_fence |= is_fence
            raise
        completion = transitions.complete_transaction(
            known.metadata, producer, self._time.now_ms(), is_commit=is_commit
        )
        self._send_markers(known.metadata, known.coordinator_epoch, completion)

    def _known(self, transactional_id: str) -> Coordinated:
        _check_transactional_id(transactional_id)
        known = self._store.get(transactional_id)
        if known is None:
            raise InvalidPidMappingError(f"{transactional_id} is not known, or has expired")
        return known

    def _send_markers(
        self, metadata: TransactionMetadata, coordinator_epoch: int, completion: TxnTransitMetadata
    ) -> None:
        self._markers.add_txn_markers_to_send(
            metadata.transactional_id, coordinator_epoch, metadata.topic_partitions, completion
        )

    # --- time-outs

    async def abort_timed_out_transactions(self) -> None:
        """Abort the transactions whose producers have left them open for too long."""
        now_ms = self._time.now_ms()
        for metadata in [m for m in self._store.all() if m.is_timed_out(now_ms)]:
            transit = metadata.prepare_fence_producer_epoch()
            self._background.start(
                self._roll_back(metadata.transactional_id, _producer_of(transit)),
                f"the abort of {metadata.transactional_id}",
            )

    async def _roll_back(self, transactional_id: str, producer: ProducerIdAndEpoch) -> None:
        try:
            await self._end(transactional_id, producer, is_commit=False, is_from_client=False)
        except KafkaError as error:
            level = log.debug if error.code in _EXPECTED_OF_ROLLBACK else log.warn
            level("{id} timed out and was not aborted: {error}", id=transactional_id, error=error)
        else:
            log.info("{id} timed out and is aborted", id=transactional_id)

    # --- elections

    def on_election(self, partition: int, epoch: int) -> None:
        """Load a partition of the transaction log that this broker leads from now on."""
        # One that it led already goes on in its former epoch, as in Kafka.
        if not self._store.has_partition(partition):
            self._background.start(
                self._load(partition, epoch), f"loading {TRANSACTION_STATE_TOPIC}-{partition}"
            )

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        """Forget a partition of the transaction log that this broker leads no longer."""
        self._store.unload(partition)

    async def _load(self, partition: int, coordinator_epoch: int) -> None:
        self._store.start_loading(partition, coordinator_epoch)
        for metadata in await self._store.load(partition, coordinator_epoch):
            if metadata.state in (PREPARE_COMMIT, PREPARE_ABORT):
                completion = metadata.prepare_complete(self._time.now_ms())
                self._send_markers(metadata, coordinator_epoch, completion)


def _check_transactional_id(transactional_id: str) -> None:
    if not transactional_id:
        raise InvalidRequestError("the transactional id is empty")


def _producer_of(transit: TxnTransitMetadata) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(transit.producer_id, transit.producer_epoch)
