"""The offsets that a group has committed, and those on their way (part of Kafka's GroupMetadata).

A commit is first prepared (pending), then appended to the log, then either takes effect or fails.
One in a transaction stays pending until the marker that ends the transaction is written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafkalike.model.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetAndMetadata:
    """One committed offset; `expire_timestamp` is set by old clients that chose their retention."""

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
    commit_timestamp: int
    expire_timestamp: int | None = None


class CommitRecord(NamedTuple):
    """A committed offset with the log offset of its batch.

    The latter decides between a plain commit and one in a transaction that was written before it
    but ended after it: the later record wins, as it does after compaction.
    """

    appended_batch_offset: int
    value: OffsetAndMetadata


Offsets = Mapping[TopicPartition, OffsetAndMetadata]
_Pending = dict[TopicPartition, OffsetAndMetadata | CommitRecord]


class GroupOffsets:
    """Committed and pending offsets of one group; owned by the group."""

    __slots__ = ("_committed", "_has_plain", "_has_transactional", "_pending", "_pending_txn")

    def __init__(self) -> None:
        self._committed: dict[TopicPartition, CommitRecord] = {}
        self._pending: dict[TopicPartition, OffsetAndMetadata] = {}
        # By producer id; OffsetAndMetadata until it is in the log, CommitRecord from then on.
        self._pending_txn: dict[int, _Pending] = {}
        self._has_plain = False
        self._has_transactional = False

    def __len__(self) -> int:
        return len(self._committed)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is committed, nor about to be."""
        return not (self._committed or self._pending or self._pending_txn)

    @property
    def is_consistent(self) -> bool:
        """Whether only one kind of commit came in this generation."""
        return not (self._has_plain and self._has_transactional)

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that have a committed offset."""
        return list(self._committed)

    def get(self, tp: TopicPartition) -> OffsetAndMetadata | None:
        """Return the committed offset of a partition."""
        record = self._committed.get(tp)
        return None if record is None else record.value

    def start_generation(self) -> None:
        """Forget which kinds of commits came."""
        self._has_plain = self._has_transactional = False

    def load(
        self,
        committed: Mapping[TopicPartition, CommitRecord],
        pending_txn: Mapping[int, Mapping[TopicPartition, CommitRecord]],
    ) -> None:
        """Take over what the log holds."""
        self._committed.update(committed)
        for producer_id, records in pending_txn.items():
            self._pending_txn[producer_id] = dict(records)

    # --- plain commits

    def prepare(self, offsets: Offsets) -> None:
        """Note that a commit is on its way."""
        self._has_plain = True
        self._pending.update(offsets)

    def appended(self, offsets: Offsets, batch_offset: int) -> None:
        """Let a prepared commit take effect: it is in the log.

        One that is not pending any more was removed meanwhile, for its topic is deleted.
        """
        for tp, value in offsets.items():
            if tp in self._pending:
                self._put(tp, CommitRecord(batch_offset, value))
                self._forget(tp, value)

    def failed(self, offsets: Offsets) -> None:
        """Forget a prepared commit: it did not get into the log."""
        for tp, value in offsets.items():
            self._forget(tp, value)

    def _forget(self, tp: TopicPartition, value: OffsetAndMetadata) -> None:
        # A later commit of the same partition may be on its way already.
        if self._pending.get(tp) is value:
            del self._pending[tp]

    def _put(self, tp: TopicPartition, record: CommitRecord) -> None:
        current = self._committed.get(tp)
        if current is None or current.appended_batch_offset < record.appended_batch_offset:
            self._committed[tp] = record

    # --- commits in transactions

    @property
    def producers(self) -> list[int]:
        """The producers with a transaction that has not ended."""
        return list(self._pending_txn)

    def has_pending_from(self, producer_id: int) -> bool:
        """Whether a producer has commits in a transaction that has not ended."""
        return producer_id in self._pending_txn

    def prepare_txn(self, producer_id: int, offsets: Offsets) -> None:
        """Note that a commit in a transaction is on its way."""
        self._has_transactional = True
        self._pending_txn.setdefault(producer_id, {}).update(offsets)

    def appended_txn(self, producer_id: int, offsets: Offsets, batch_offset: int) -> None:
        """Note that a commit is in the log; it takes effect when the transaction is committed."""
        pending = self._pending_txn.get(producer_id, {})
        for tp, value in offsets.items():
            if pending.get(tp) is value:
                pending[tp] = CommitRecord(batch_offset, value)

    def failed_txn(self, producer_id: int, offsets: Offsets) -> None:
        """Forget a commit in a transaction: it did not get into the log."""
        pending = self._pending_txn.get(producer_id)
        if pending is not None:
            for tp in offsets:
                pending.pop(tp, None)
            if not pending:
                del self._pending_txn[producer_id]

    def complete_txn(self, producer_id: int, *, is_commit: bool) -> None:
        """End a producer's transaction; its marker is in the log."""
        pending = self._pending_txn.pop(producer_id, {})
        if not is_commit:
            return
        for tp, record in pending.items():
            if not isinstance(record, CommitRecord):
                raise ValueError(f"{tp}: the transaction of {producer_id} ended before its commit")
            self._put(tp, record)

    def is_pending(self, tp: TopicPartition) -> bool:
        """Whether a commit for a partition is on its way, in a transaction or not."""
        return tp in self._pending or any(tp in p for p in self._pending_txn.values())

    # --- removal

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Forget partitions, pending commits included; return those that had an offset."""
        removed = []
        for tp in partitions:
            self._pending.pop(tp, None)
            for pending in self._pending_txn.values():
                pending.pop(tp, None)
            if self._committed.pop(tp, None) is not None:
                removed.append(tp)
        return removed

    def remove_expired(
        self,
        now_ms: int,
        retention_ms: int,
        base_timestamp: Callable[[OffsetAndMetadata], int],
        subscribed_topics: Iterable[str] = (),
    ) -> list[TopicPartition]:
        """Forget offsets whose time has come and return their partitions (KIP-211).

        Retention counts from `base_timestamp`; topics still read, and commits on their way, stay.
        """
        subscribed = frozenset(subscribed_topics)

        def is_expired(value: OffsetAndMetadata) -> bool:
            if value.expire_timestamp is not None:
                return now_ms >= value.expire_timestamp
            return now_ms - base_timestamp(value) >= retention_ms

        expired = [
            tp
            for tp, record in self._committed.items()
            if tp.topic not in subscribed and tp not in self._pending and is_expired(record.value)
        ]
        for tp in expired:
            del self._committed[tp]
        return expired
