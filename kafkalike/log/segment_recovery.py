"""Check a segment batch by batch, and rebuild its indexes, epochs and producers from what is good.

Part of Kafka's `Log` and `LogSegment` (`recoverSegment`, `recover`).
"""

from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.leader_epoch_cache import LeaderEpochCache
from kafkalike.log.local_log import LocalLog
from kafkalike.log.log_segment import LogSegment
from kafkalike.log.producer_state import ProducerStateManager
from kafkalike.log.producer_state_loader import ProducerStateLoading, rebuild_producer_state
from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.records.control_record import read_end_txn_marker
from kafkalike.protocol.records.record_batch import MAGIC_V2, NO_PRODUCER_ID, BatchHeader


def recover_segment(
    topic_partition: TopicPartition,
    local_log: LocalLog,
    segment: LogSegment,
    loading: ProducerStateLoading,
    *,
    log_start_offset: int,
    leader_epoch_cache: LeaderEpochCache | None = None,
) -> int:
    """Cut a segment before its first bad batch and return how many bytes went.

    The state of producers at the segment's beginning is needed for its transaction index; at its
    end a snapshot is taken, so that the next segment need not read this one again.
    """
    producers = ProducerStateManager(
        topic_partition, local_log.directory, local_log.environment.max_producer_id_expiration_ms
    )
    rebuild_producer_state(
        producers,
        local_log.segments,
        log_start_offset=log_start_offset,
        last_offset=segment.base_offset,
        loading=loading,
    )

    def on_batch(header: BatchHeader, batch: memoryview) -> None:
        if header.magic < MAGIC_V2:
            return
        if leader_epoch_cache is not None:
            _recover_epoch(leader_epoch_cache, header)
        _recover_producer(producers, segment, header, batch)
        producers.map_end_offset = header.next_offset

    truncated = segment.recover(on_batch)
    producers.take_snapshot(sync=loading.is_synced)
    return truncated


def _recover_epoch(cache: LeaderEpochCache, header: BatchHeader) -> None:
    latest, epoch = cache.latest_epoch, header.partition_leader_epoch
    if epoch >= 0 and (latest is None or epoch > latest):
        cache.assign(epoch, header.base_offset)


def _recover_producer(
    producers: ProducerStateManager, segment: LogSegment, header: BatchHeader, batch: memoryview
) -> None:
    if header.producer_id <= NO_PRODUCER_ID:
        return
    append_info = producers.prepare_update(header.producer_id, AppendOrigin.REPLICATION)
    marker = read_end_txn_marker(batch, 0, header) if header.is_control else None
    txn = append_info.append(header, marker)
    producers.update(append_info)
    if txn is None:
        return
    if txn.is_aborted:
        last_stable_offset = producers.last_stable_offset(txn)
        segment.txn_index.append(
            AbortedTxn(txn.producer_id, txn.first_offset, txn.last_offset, last_stable_offset)
        )
    producers.complete_txn(txn)
