"""The idempotent and transactional producers of one partition (Kafka's `ProducerStateManager`).

Knows the last batches, epochs and open transactions, finds duplicates and gaps, and tells the first
unstable offset. Snapshots of it lie beside the segments: with them a restart need not read the log.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from twisted.logger import Logger

from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.ongoing_txns import OngoingTxns
from kafkalike.log.producer_append_info import ProducerAppendInfo
from kafkalike.log.producer_state_entry import BatchMetadata, CompletedTxn, ProducerStateEntry
from kafkalike.log.producer_state_snapshot import (
    CorruptSnapshotError,
    list_snapshot_offsets,
    read_snapshot,
    snapshot_path,
    write_snapshot,
)
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.records.control_record import EndTransactionMarker
from kafkalike.protocol.records.record_batch import BatchHeader

logger = Logger()

_NO_MARKERS: Mapping[int, EndTransactionMarker] = {}


class ProducerStateUpdate(NamedTuple):
    """What an append would change: to be applied when the bytes are in the segment.

    With a `duplicate` nothing may be appended: its offsets and timestamp are the answer.
    """

    append_infos: Mapping[int, ProducerAppendInfo]
    completed_txns: Sequence[CompletedTxn]
    duplicate: BatchMetadata | None = None


_NOTHING = ProducerStateUpdate({}, ())


class ProducerStateManager:
    """The producers of a partition; owned by its log, which calls it before and after an append.

    `map_end_offset` is the offset up to which the log is reflected in here.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        log_dir: Path,
        max_producer_id_expiration_ms: int = 7 * 24 * 3600 * 1000,
    ) -> None:
        self.topic_partition = topic_partition
        self.max_producer_id_expiration_ms = max_producer_id_expiration_ms
        self.map_end_offset = 0
        self.producers: dict[int, ProducerStateEntry] = {}
        self._log_dir = log_dir
        self._txns = OngoingTxns()
        self._last_snapshot_offset = 0
        self._snapshots = list_snapshot_offsets(log_dir)

    # Before an append

    def analyze(
        self,
        batches: Sequence[BatchHeader],
        origin: AppendOrigin,
        markers: Mapping[int, EndTransactionMarker] = _NO_MARKERS,
    ) -> ProducerStateUpdate:
        """Check batches that have their offsets; `markers` by base offset of the control batches.

        Raises InvalidProducerEpoch, OutOfOrderSequence, InvalidTxnState or
        TransactionCoordinatorFenced; nothing has changed then.
        """
        append_infos: dict[int, ProducerAppendInfo] | None = None
        completed: list[CompletedTxn] = []
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id < 0:
                continue
            if append_infos is None:
                append_infos = {}
            if origin is AppendOrigin.CLIENT:
                entry = self.producers.get(producer_id)
                duplicate = entry.find_duplicate_batch(batch) if entry else None
                if duplicate:
                    return ProducerStateUpdate(append_infos, completed, duplicate)
            append_info = append_infos.get(producer_id)
            if append_info is None:
                append_info = append_infos[producer_id] = self.prepare_update(producer_id, origin)
            txn = append_info.append(batch, markers.get(batch.base_offset))
            if txn is not None:
                completed.append(txn)
        if append_infos is None:
            return _NOTHING
        return ProducerStateUpdate(append_infos, completed)

    def prepare_update(self, producer_id: int, origin: AppendOrigin) -> ProducerAppendInfo:
        """Return a check for the batches of one producer."""
        entry = self.producers.get(producer_id) or ProducerStateEntry(producer_id)
        return ProducerAppendInfo(self.topic_partition, producer_id, entry, origin)

    # After an append

    def update(self, append_info: ProducerAppendInfo) -> None:
        """Take over what one producer appended."""
        entry = self.producers.get(append_info.producer_id)
        if entry is None:
            self.producers[append_info.producer_id] = append_info.updated_entry
        else:
            entry.update(append_info.updated_entry)
        for first_offset in append_info.started_transactions:
            self._txns.start(append_info.producer_id, first_offset)

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """Return the last stable offset once this transaction, still open here, is completed."""
        return self._txns.last_stable_offset(completed)

    def complete_txn(self, completed: CompletedTxn) -> None:
        """Close a transaction; it stays unstable until the high watermark passes its marker."""
        self._txns.complete(completed)

    def load_batch(self, batch: BatchHeader, marker: EndTransactionMarker | None = None) -> None:
        """Take in a batch that is in the log already, when the state is rebuilt from segments."""
        if batch.producer_id < 0:
            return
        append_info = self.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
        completed = append_info.append(batch, marker)
        self.update(append_info)
        if completed is not None:
            self.complete_txn(completed)

    # Offsets

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of a transaction that is open or whose end is not yet replicated."""
        return self._txns.first_unstable_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of an open transaction."""
        return self._txns.first_undecided_offset

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Forget the completed transactions whose markers are replicated now."""
        self._txns.on_replicated(high_watermark)

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        """Follow the start of the log; producers are kept even when all of theirs is deleted."""
        self._txns.on_replicated(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self._last_snapshot_offset = self._latest_snapshot_or(log_start_offset)

    # Producers

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return not self.producers and not self._txns.has_unreplicated

    def last_entry(self, producer_id: int) -> ProducerStateEntry | None:
        """Return what is known of a producer."""
        return self.producers.get(producer_id)

    def remove_expired_producers(self, now_ms: int) -> None:
        """Forget producers that have been silent for long and have no open transaction."""
        expired = [pid for pid, entry in self.producers.items() if self._is_expired(entry, now_ms)]
        for producer_id in expired:
            del self.producers[producer_id]

    def _is_expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return (
            entry.current_txn_first_offset is None
            and now_ms - entry.last_timestamp >= self.max_producer_id_expiration_ms
        )

    # Snapshots

    @property
    def latest_snapshot_offset(self) -> int | None:
        """The offset of the newest snapshot file."""
        return self._snapshots[-1] if self._snapshots else None

    @property
    def oldest_snapshot_offset(self) -> int | None:
        """The offset of the oldest snapshot file."""
        return self._snapshots[0] if self._snapshots else None

    def _latest_snapshot_or(self, offset: int) -> int:
        return self._snapshots[-1] if self._snapshots else offset

    def take_snapshot(self, *, sync: bool = True) -> Path | None:
        """Write a snapshot at the map's end offset, unless the last one is as new.

        Returns the file. Without `sync` the caller brings it to the disk; until then a power cut
        may leave it torn, which its checksum tells.
        """
        if self.map_end_offset <= self._last_snapshot_offset:
            return None
        path = snapshot_path(self._log_dir, self.map_end_offset)
        write_snapshot(path, self.producers.values(), sync=sync)
        if self.map_end_offset not in self._snapshots:
            self._snapshots.append(self.map_end_offset)
            self._snapshots.sort()
        self._last_snapshot_offset = self.map_end_offset
        return path

    def update_parent_dir(self, log_dir: Path) -> None:
        """Follow a renamed log directory."""
        self._log_dir = log_dir

    def remove_and_delete_snapshot(self, offset: int) -> None:
        """Delete the snapshot at an offset, if there is one."""
        if offset in self._snapshots:
            self._snapshots.remove(offset)
            snapshot_path(self._log_dir, offset).unlink(missing_ok=True)

    def delete_snapshots_before(self, offset: int) -> None:
        """Delete the snapshots below an offset."""
        for snapshot in [each for each in self._snapshots if each < offset]:
            self.remove_and_delete_snapshot(snapshot)

    def remove_stray_snapshots(self, segment_base_offsets: Sequence[int]) -> None:
        """Delete snapshots that belong to no segment, but for the newest of a clean shutdown."""
        self._snapshots = list_snapshot_offsets(self._log_dir)
        base_offsets = set(segment_base_offsets)
        strays = [offset for offset in self._snapshots if offset not in base_offsets]
        last_base_offset = max(base_offsets, default=-1)
        kept = strays[-1] if strays and strays[-1] >= last_base_offset else None
        for offset in strays:
            if offset != kept:
                self.remove_and_delete_snapshot(offset)

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Go back to the newest snapshot within the log; the rest is for `load_batch`.

        Afterwards `map_end_offset` says from where the log has to be read.
        """
        for offset in list(self._snapshots):
            if offset > log_end_offset or offset <= log_start_offset:
                self.remove_and_delete_snapshot(offset)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset_incremented(log_start_offset)
            return
        self.producers.clear()
        # The end offset is not below the high watermark, so no marker is left unreplicated.
        self._txns.clear()
        self._load_from_snapshot(log_start_offset, now_ms)

    def _load_from_snapshot(self, log_start_offset: int, now_ms: int) -> None:
        while self._snapshots:
            offset = self._snapshots[-1]
            path = snapshot_path(self._log_dir, offset)
            try:
                entries = read_snapshot(path)
            except (CorruptSnapshotError, FileNotFoundError) as problem:
                logger.warn(
                    "Failed to load producer snapshot from '{path}': {problem}",
                    path=path,
                    problem=problem,
                )
                self.remove_and_delete_snapshot(offset)
                continue
            for entry in entries:
                if not self._is_expired(entry, now_ms):
                    self.load_producer_entry(entry)
            break
        self._last_snapshot_offset = self._latest_snapshot_or(log_start_offset)
        self.map_end_offset = self._last_snapshot_offset

    def load_producer_entry(self, entry: ProducerStateEntry) -> None:
        """Take over an entry as it is, with its open transaction."""
        self.producers[entry.producer_id] = entry
        if entry.current_txn_first_offset is not None:
            self._txns.start(entry.producer_id, entry.current_txn_first_offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything: the log starts anew."""
        self.producers.clear()
        self._txns.clear()
        for snapshot in list(self._snapshots):
            self.remove_and_delete_snapshot(snapshot)
        self._last_snapshot_offset = 0
        self.map_end_offset = offset
