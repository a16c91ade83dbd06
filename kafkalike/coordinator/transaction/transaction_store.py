"""The transactional ids of this broker, and their log `__transaction_state`.

Kafka's TransactionStateManager without its clean-up (`transactional_id_expiry`). An id lives in one
partition; who leads that partition coordinates the id. Nothing changes here before the log has
acknowledged it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.partition_reading import read_partition
from kafkalike.coordinator.partitioning import partition_for
from kafkalike.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafkalike.coordinator.transaction.transaction_records import read_record, transaction_batch
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.log import Log
from kafkalike.model.topic import TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    ErrorCode,
    KafkaError,
    NotCoordinatorError,
    ProtocolError,
    UnknownServerError,
)
from kafkalike.protocol.records.record_batch import BatchHeader, Buffer
from kafkalike.protocol.records.record_reader import iter_records
from kafkalike.replication.delayed_produce import ProduceStatus
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

log = Logger()

ACKS_ALL: Final = -1
_APPEND_ERRORS: Final[dict[ErrorCode, type[KafkaError]]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: CoordinatorNotAvailableError,
    ErrorCode.NOT_ENOUGH_REPLICAS: CoordinatorNotAvailableError,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: CoordinatorNotAvailableError,
    ErrorCode.REQUEST_TIMED_OUT: CoordinatorNotAvailableError,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: NotCoordinatorError,
    ErrorCode.KAFKA_STORAGE_ERROR: NotCoordinatorError,
    ErrorCode.MESSAGE_TOO_LARGE: UnknownServerError,
    ErrorCode.RECORD_LIST_TOO_LARGE: UnknownServerError,
}
"""What a producer is told when the log refuses a record."""


class Replicas(Protocol):
    """What of the replica manager is needed here."""

    def get_log(self, tp: TopicPartition) -> Log | None:
        """Return the log of a partition that is on this broker."""

    async def append_records(
        self,
        entries: Iterable[tuple[TopicPartition, memoryview]],
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> list[ProduceStatus]:
        """Append to partitions that this broker leads."""


class Coordinated(NamedTuple):
    """A transactional id, and in which epoch this broker coordinates it."""

    coordinator_epoch: int
    metadata: TransactionMetadata


class LoadedPartition(NamedTuple):
    """The transactional ids of one partition."""

    coordinator_epoch: int
    transactions: dict[str, TransactionMetadata]


class TransactionStore:
    """Holds the transactional ids of the partitions that this broker leads and has loaded."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        replicas: Replicas,
        time: Time,
        run_blocking: RunBlocking,
        partition_count: Callable[[], int],
    ) -> None:
        self._config = config
        self._replicas = replicas
        self._time = time
        self._run_blocking = run_blocking
        self._partition_count = partition_count
        self.partitions: dict[int, LoadedPartition] = {}
        self._loading: dict[int, int] = {}
        """The epoch in which each partition is being loaded."""

    # --- which transactions

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of a transactional id."""
        return partition_for(transactional_id, self._partition_count())

    def get(self, transactional_id: str) -> Coordinated | None:
        """Return what is known of an id; raise if this broker does not (yet) coordinate it."""
        partition = self._partition(transactional_id)
        metadata = partition.transactions.get(transactional_id)
        return None if metadata is None else Coordinated(partition.coordinator_epoch, metadata)

    def put_if_not_exists(self, metadata: TransactionMetadata) -> Coordinated:
        """Take in a new id, and return what is known of it: another may have been quicker."""
        partition = self._partition(metadata.transactional_id)
        known = partition.transactions.setdefault(metadata.transactional_id, metadata)
        return Coordinated(partition.coordinator_epoch, known)

    def is_current(self, transactional_id: str, coordinator_epoch: int) -> bool:
        """Whether this broker still coordinates an id in the same epoch."""
        number = self.partition_for(transactional_id)
        partition = self.partitions.get(number)
        return (
            number not in self._loading
            and partition is not None
            and partition.coordinator_epoch == coordinator_epoch
        )

    def all(self) -> Iterator[TransactionMetadata]:
        """Yield all ids that this broker coordinates."""
        for partition in self.partitions.values():
            yield from partition.transactions.values()

    def _partition(self, transactional_id: str) -> LoadedPartition:
        number = self.partition_for(transactional_id)
        if number in self._loading:
            raise CoordinatorLoadInProgressError(
                f"{transactional_id}: {TRANSACTION_STATE_TOPIC}-{number} is being loaded"
            )
        partition = self.partitions.get(number)
        if partition is None:
            raise NotCoordinatorError(
                f"{transactional_id}: this broker does not lead {TRANSACTION_STATE_TOPIC}-{number}"
            )
        return partition

    # --- writing

    async def append(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        transit: TxnTransitMetadata,
        *,
        is_retried: bool = False,
    ) -> None:
        """Write a prepared change to the log, and let it take effect.

        A change that cannot be written is given up and the reason raised; with `is_retried` it
        stays pending, unless this broker is no longer the coordinator, for the caller to try again.
        """
        if not self.is_current(transactional_id, coordinator_epoch):
            raise self._not_coordinator(transactional_id, coordinator_epoch)
        error = await self._append(transactional_id, transit)
        if not self.is_current(transactional_id, coordinator_epoch):
            # What was appended is up to the next coordinator.
            raise error or self._not_coordinator(transactional_id, coordinator_epoch)
        known = self.get(transactional_id)
        if known is None:
            raise error or self._not_coordinator(transactional_id, coordinator_epoch)
        if error is None:
            known.metadata.complete_transition_to(transit)
            return
        if not is_retried or error.code is ErrorCode.NOT_COORDINATOR:
            known.metadata.reset_pending_state()
        log.info(
            "{id}: {state} could not be written: {error}",
            id=transactional_id,
            state=transit.txn_state.kafka_name,
            error=error,
        )
        raise error

    def _not_coordinator(self, transactional_id: str, coordinator_epoch: int) -> KafkaError:
        try:
            self._partition(transactional_id)
        except KafkaError as error:
            return error
        return NotCoordinatorError(
            f"{transactional_id}: this broker was its coordinator in epoch {coordinator_epoch}"
        )

    async def _append(
        self, transactional_id: str, transit: TxnTransitMetadata
    ) -> KafkaError | None:
        batch = transaction_batch(transactional_id, transit, self._time.now_ms())
        return await self.append_batch(
            self.partition_for(transactional_id), batch, transit.txn_timeout_ms
        )

    async def append_batch(
        self, partition: int, batch: bytes, timeout_ms: int
    ) -> KafkaError | None:
        """Append to a partition of the transaction log; return what a producer would be told."""
        (status,) = await self._replicas.append_records(
            [(TopicPartition(TRANSACTION_STATE_TOPIC, partition), memoryview(batch))],
            ACKS_ALL,
            timeout_ms,
            AppendOrigin.COORDINATOR,
        )
        error = status.error
        if error is None:
            return None
        told = _APPEND_ERRORS.get(error.code)
        return error if told is None else told(str(error))

    # --- loading

    def has_partition(self, partition: int) -> bool:
        """Whether a partition is loaded, or about to be."""
        return partition in self.partitions or partition in self._loading

    def start_loading(self, partition: int, coordinator_epoch: int) -> None:
        """Take on a partition that this broker leads from now on; `load` it next."""
        self._loading[partition] = coordinator_epoch

    async def load(self, partition: int, coordinator_epoch: int) -> list[TransactionMetadata]:
        """Read a partition and return its ids.

        Empty if the partition went elsewhere, or came again in a later epoch, meanwhile.
        """
        tp = TopicPartition(TRANSACTION_STATE_TOPIC, partition)
        transactions: dict[str, TransactionMetadata] = {}
        try:
            await read_partition(
                lambda: self._replicas.get_log(tp),
                lambda data, position, header: _add_batch(transactions, data, position, header),
                lambda: self._loading.get(partition) == coordinator_epoch,
                buffer_bytes=self._config().transaction_state_log_load_buffer_size,
                time=self._time,
                run_blocking=self._run_blocking,
            )
        except (KafkaError, ProtocolError) as error:
            # As Kafka: what could be read is better than no coordinator at all.
            log.error("{tp} could not be loaded to its end: {error}", tp=tp, error=error)
        if self._loading.get(partition) != coordinator_epoch:
            return []
        del self._loading[partition]
        self.partitions[partition] = LoadedPartition(coordinator_epoch, transactions)
        log.info(
            "loaded {count} transactional ids from {tp} in epoch {epoch}",
            count=len(transactions),
            tp=tp,
            epoch=coordinator_epoch,
        )
        return list(transactions.values())

    def unload(self, partition: int) -> None:
        """Forget a partition: another broker leads it, or it was deleted."""
        self._loading.pop(partition, None)
        unloaded = self.partitions.pop(partition, None)
        if unloaded is not None:
            log.info(
                "unloaded {count} transactional ids of {topic}-{partition}",
                count=len(unloaded.transactions),
                topic=TRANSACTION_STATE_TOPIC,
                partition=partition,
            )


def _add_batch(
    transactions: dict[str, TransactionMetadata], data: Buffer, position: int, header: BatchHeader
) -> Iterator[None]:
    if header.is_control:
        return
    for record in iter_records(data, position, header):
        transactional_id, metadata = read_record(record)
        if metadata is None:
            transactions.pop(transactional_id, None)
        else:
            transactions[transactional_id] = metadata
        yield
