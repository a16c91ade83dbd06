"""Bring the state of producers to where the log ends: from snapshots, and from the log after them.

Part of Kafka's `Log` (`rebuildProducerState`), used when a log is loaded, recovered or truncated.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalike.log.log_segment import LogSegment
from kafkalike.log.log_segments import LogSegments
from kafkalike.log.producer_state import ProducerStateManager
from kafkalike.protocol.records.control_record import EndTransactionMarker, read_end_txn_marker
from kafkalike.protocol.records.record_batch import MAGIC_V2, NO_PRODUCER_ID, BatchHeader


class ProducerStateLoading(NamedTuple):
    """How the state is to be rebuilt.

    With `is_clean_shutdown` a log without any snapshot is taken as one that never had idempotent
    producers (it comes from a broker that knew none), and is not read.
    """

    record_version: int
    now_ms: int
    is_clean_shutdown: bool = False
    is_synced: bool = True


def rebuild_producer_state(
    producer_state: ProducerStateManager,
    segments: LogSegments,
    *,
    log_start_offset: int,
    last_offset: int,
    loading: ProducerStateLoading,
) -> None:
    """Make the state reflect the log up to an offset, and write snapshots of it."""
    has_no_snapshot = producer_state.latest_snapshot_offset is None
    snapshot_offsets = _offsets_to_snapshot(segments, last_offset)
    if loading.record_version < MAGIC_V2 or (has_no_snapshot and loading.is_clean_shutdown):
        # Empty snapshots at the last two segments spare a truncation the reading of the whole log.
        for offset in snapshot_offsets:
            producer_state.map_end_offset = offset
            producer_state.take_snapshot(sync=loading.is_synced)
        return
    was_empty = producer_state.is_empty and producer_state.map_end_offset >= last_offset
    producer_state.truncate_and_reload(log_start_offset, last_offset, loading.now_ms)
    # Without producers before a truncation there are none after it.
    if last_offset > producer_state.map_end_offset and not was_empty:
        for segment in segments.between(producer_state.map_end_offset, last_offset):
            start = max(segment.base_offset, producer_state.map_end_offset, log_start_offset)
            producer_state.map_end_offset = start
            if segment.base_offset in snapshot_offsets:
                producer_state.take_snapshot(sync=loading.is_synced)
            load_producers_from_segment(producer_state, segment, start, last_offset)
    producer_state.map_end_offset = last_offset
    producer_state.take_snapshot(sync=loading.is_synced)


def _offsets_to_snapshot(segments: LogSegments, last_offset: int) -> Sequence[int]:
    if not len(segments):
        return (last_offset,)
    last = segments.active.base_offset
    previous = segments.lower(last)
    return (last, last_offset) if previous is None else (previous.base_offset, last, last_offset)


def load_producers_from_segment(
    producer_state: ProducerStateManager, segment: LogSegment, start: int, end: int
) -> None:
    """Take in the batches of a segment that lie between two offsets; bodies stay unread."""
    found = segment.translate_offset(start)
    if found is None:
        return
    for position, header in segment.log.headers(found.position):
        if header.last_offset >= end:
            return
        if header.producer_id > NO_PRODUCER_ID:
            producer_state.load_batch(header, _marker(segment, position, header))


def _marker(segment: LogSegment, position: int, header: BatchHeader) -> EndTransactionMarker | None:
    if not header.is_control:
        return None
    batch = segment.log.read(position, header.size_in_bytes)
    return read_end_txn_marker(batch, 0, header)
