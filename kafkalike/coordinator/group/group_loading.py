"""What the records of a partition of `__consumer_offsets` amount to, read from first to last.

Part of Kafka's GroupMetadataManager: the decisions of loading, without the log.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from twisted.logger import Logger

from kafkalike.coordinator.group.group_metadata import GroupMetadata
from kafkalike.coordinator.group.group_offsets import CommitRecord
from kafkalike.coordinator.group.group_records import read_group, read_offset
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import decode_group_key
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages.coordinator_records import OffsetCommitKey
from kafkalike.protocol.records.control_record import ControlRecordType, read_end_txn_marker
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import BatchHeader, Buffer
from kafkalike.protocol.records.record_reader import iter_records

log = Logger()


class _GroupPartition(NamedTuple):
    group_id: str
    tp: TopicPartition


_Commits = dict[_GroupPartition, CommitRecord]


class GroupLoading:
    """Takes the batches of a partition in order and makes groups of them."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._groups: dict[str, GroupMetadata] = {}
        self._offsets: _Commits = {}
        self._pending: dict[int, _Commits] = {}
        self.record_count = 0

    def add_batch(self, data: Buffer, position: int, header: BatchHeader) -> Iterator[None]:
        """Take note of one batch; yields after each record, so that the caller can pause."""
        if header.is_control:
            self._end_transaction(data, position, header)
            return
        commits = self._offsets
        if header.is_transactional:
            commits = self._pending.setdefault(header.producer_id, {})
        batch_offset: int | None = None
        for record in iter_records(data, position, header):
            if batch_offset is None:
                batch_offset = record.offset
            self.record_count += 1
            try:
                self._add_record(record, batch_offset, commits)
            except ProtocolError as error:
                log.warn("record {offset} is skipped: {error}", offset=record.offset, error=error)
            yield

    def _end_transaction(self, data: Buffer, position: int, header: BatchHeader) -> None:
        marker = read_end_txn_marker(data, position, header)
        if marker is None:
            return
        pending = self._pending.pop(header.producer_id, {})
        if marker.control_type is ControlRecordType.COMMIT:
            for key, commit in pending.items():
                known = self._offsets.get(key)
                if known is None or known.appended_batch_offset < commit.appended_batch_offset:
                    self._offsets[key] = commit

    def _add_record(self, record: Record, batch_offset: int, commits: _Commits) -> None:
        if record.key is None:
            raise ProtocolError("it has no key")
        key = decode_group_key(record.key)
        if isinstance(key, OffsetCommitKey):
            partition = _GroupPartition(key.group, TopicPartition(key.topic, key.partition))
            if record.value is None:
                commits.pop(partition, None)
            else:
                commits[partition] = CommitRecord(batch_offset, read_offset(record.value))
        elif record.value is None:
            self._groups.pop(key.group, None)
        else:
            self._groups[key.group] = read_group(key.group, record.value, self._now_ms)

    def groups(self) -> Iterator[GroupMetadata]:
        """Yield all groups with their offsets; those that only store offsets are empty."""
        offsets: dict[str, dict[TopicPartition, CommitRecord]] = defaultdict(dict)
        for (group_id, tp), commit in self._offsets.items():
            offsets[group_id][tp] = commit
        pending = self._pending_by_group()
        for group_id in dict.fromkeys((*self._groups, *offsets, *pending)):
            group = self._groups.get(group_id) or GroupMetadata(group_id, self._now_ms)
            group.offsets.load(offsets.get(group_id, {}), pending.get(group_id, {}))
            yield group

    def _pending_by_group(
        self,
    ) -> Mapping[str, Mapping[int, Mapping[TopicPartition, CommitRecord]]]:
        found: dict[str, dict[int, dict[TopicPartition, CommitRecord]]] = defaultdict(dict)
        for producer_id, commits in self._pending.items():
            for (group_id, tp), commit in commits.items():
                found[group_id].setdefault(producer_id, {})[tp] = commit
        return found
