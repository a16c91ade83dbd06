"""Forgets transactional ids that nobody has used for long (part of TransactionStateManager)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.transaction.transaction_metadata import DEAD, TransactionMetadata
from kafkalike.coordinator.transaction.transaction_store import (
    LoadedPartition,
    Replicas,
    TransactionStore,
)
from kafkalike.model.topic import TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import encode_transaction_log_key
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.record_batch import RECORD_BATCH_OVERHEAD
from kafkalike.utils.time import Time

log = Logger()

_RECORD_OVERHEAD: Final = 21
"""The most that a record has beside its key: length, attributes, deltas, sizes."""


class TransactionalIdExpiry:
    """Writes tombstones for expired ids, in batches that the log takes."""

    def __init__(
        self,
        store: TransactionStore,
        replicas: Replicas,
        config: Callable[[], BrokerConfig],
        time: Time,
    ) -> None:
        self._store = store
        self._replicas = replicas
        self._config = config
        self._time = time

    async def remove_expired_transactional_ids(self) -> None:
        """Go through all ids that this broker coordinates."""
        for number, partition in list(self._store.partitions.items()):
            local_log = self._replicas.get_log(TopicPartition(TRANSACTION_STATE_TOPIC, number))
            if local_log is None:
                continue
            expired = self._expired(partition)
            for batch in _batches(expired, local_log.config.max_message_bytes):
                await self._remove(number, partition, batch)

    def _expired(self, partition: LoadedPartition) -> list[TransactionMetadata]:
        expiration_ms = self._config().transactional_id_expiration_ms
        now_ms = self._time.now_ms()
        return [m for m in partition.transactions.values() if m.is_expired(now_ms, expiration_ms)]

    async def _remove(
        self, number: int, partition: LoadedPartition, expired: list[TransactionMetadata]
    ) -> None:
        if self._store.partitions.get(number) is not partition:
            return
        now_ms = self._time.now_ms()
        # Others may have been waited for meanwhile: look again.
        dying = [
            m for m in expired if not m.is_transition_pending and m.state.is_expiration_allowed
        ]
        builder = BatchBuilder()
        for metadata in dying:
            metadata.prepare_dead()
            builder.append(now_ms, encode_transaction_log_key(metadata.transactional_id), None)
        if not dying:
            return
        error = await self._store.append_batch(
            number, builder.build(), self._config().request_timeout_ms
        )
        for metadata in dying:
            if metadata.pending_state is DEAD and error is None:
                partition.transactions.pop(metadata.transactional_id, None)
            else:
                metadata.reset_pending_state()
        log.info(
            "{count} transactional ids of {topic}-{partition} have expired: {error}",
            count=len(dying),
            topic=TRANSACTION_STATE_TOPIC,
            partition=number,
            error=error or "removed",
        )


def _batches(
    expired: Iterable[TransactionMetadata], max_bytes: int
) -> Iterator[list[TransactionMetadata]]:
    """Cut the ids so that the tombstones of each list fit into one batch."""
    batch: list[TransactionMetadata] = []
    size = RECORD_BATCH_OVERHEAD
    for metadata in expired:
        needed = len(encode_transaction_log_key(metadata.transactional_id)) + _RECORD_OVERHEAD
        if batch and size + needed > max_bytes:
            yield batch
            batch, size = [], RECORD_BATCH_OVERHEAD
        batch.append(metadata)
        size += needed
    if batch:
        yield batch
