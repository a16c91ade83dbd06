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


class _OnTheirWay:
    """Commits that are not in the log yet; there may be several of one partition."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[TopicPartition, list[OffsetAndMetadata]] = {}

    def __bool__(self) -> bool:
        return bool(self._values)

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._values

    def add(self, offsets: Offsets) -> None:
        for tp, value in offsets.items():
            self._values.setdefault(tp, []).append(value)

    def take(self, tp: TopicPartition, value: OffsetAndMetadata) -> bool:
        """Take out just this commit; False if it was removed, for its topic is deleted."""
        values = self._values.get(tp, [])
        left = [other for other in values if other is not value]
        if left:
            self._values[tp] = left
        else:
            self._values.pop(tp, None)
        return len(left) < len(values)

    def remove(self, tp: TopicPartition) -> None:
        self._values.pop(tp, None)


class _OpenTransaction:
    """The commits of a producer whose transaction has not ended.

    Those on their way are kept apart: one that the log refuses may be that of a zombie, which has
    the same producer id, and must not take away what its successor has committed.
    """

    __slots__ = ("in_log", "on_their_way")

    def __init__(self, in_log: Mapping[TopicPartition, CommitRecord]) -> None:
        self.in_log = dict(in_log)
        self.on_their_way = _OnTheirWay()

    def __bool__(self) -> bool:
        return bool(self.in_log) or bool(self.on_their_way)

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self.in_log or tp in self.on_their_way

    def remove(self, tp: TopicPartition) -> None:
        self.in_log.pop(tp, None)
        self.on_their_way.remove(tp)


class GroupOffsets:
    """Committed and pending offsets of one group; owned by the group."""

    __slots__ = ("_committed", "_has_plain", "_has_transactional", "_on_their_way", "_open_txns")

    def __init__(self) -> None:
        self._committed: dict[TopicPartition, CommitRecord] = {}
        self._on_their_way = _OnTheirWay()
        self._open_txns: dict[int, _OpenTransaction] = {}
        """By producer id."""
        self._has_plain = False
        self._has_transactional = False

    def __len__(self) -> int:
        return len(self._committed)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is committed, nor about to be."""
        return not (self._committed or self._on_their_way or self._open_txns)

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
            self._open_txns[producer_id] = _OpenTransaction(records)

    # --- plain commits

    def prepare(self, offsets: Offsets) -> None:
        """Note that a commit is on its way."""
        self._has_plain = True
        self._on_their_way.add(offsets)

    def appended(self, offsets: Offsets, batch_offset: int) -> None:
        """Let a prepared commit take effect: it is in the log."""
        for tp, value in offsets.items():
            if self._on_their_way.take(tp, value):
                _put(self._committed, tp, CommitRecord(batch_offset, value))

    def failed(self, offsets: Offsets) -> None:
        """Forget a prepared commit: it did not get into the log."""
        for tp, value in offsets.items():
            self._on_their_way.take(tp, value)

    # --- commits in transactions

    @property
    def producers(self) -> list[int]:
        """The producers with a transaction that has not ended."""
        return list(self._open_txns)

    def has_pending_from(self, producer_id: int) -> bool:
        """Whether a producer has commits in a transaction that has not ended."""
        return producer_id in self._open_txns

    def prepare_txn(self, producer_id: int, offsets: Offsets) -> None:
        """Note that a commit in a transaction is on its way."""
        self._has_transactional = True
        self._open_txns.setdefault(producer_id, _OpenTransaction({})).on_their_way.add(offsets)

    def appended_txn(self, producer_id: int, offsets: Offsets, batch_offset: int) -> None:
        """Note that a commit is in the log; it takes effect when the transaction is committed."""
        txn = self._open_txns.get(producer_id)
        if txn is not None:
            for tp, value in offsets.items():
                if txn.on_their_way.take(tp, value):
                    _put(txn.in_log, tp, CommitRecord(batch_offset, value))

    def failed_txn(self, producer_id: int, offsets: Offsets) -> None:
        """Forget a commit in a transaction: it did not get into the log."""
        txn = self._open_txns.get(producer_id)
        if txn is not None:
            for tp, value in offsets.items():
                txn.on_their_way.take(tp, value)
            self._forget_if_empty(producer_id, txn)

    def complete_txn(self, producer_id: int, *, is_commit: bool) -> None:
        """End a producer's transaction; its marker is in the log.

        What gets into the log behind the marker belongs to the next transaction.
        """
        txn = self._open_txns.get(producer_id)
        if txn is not None:
            ended, txn.in_log = txn.in_log, {}
            self._forget_if_empty(producer_id, txn)
            if is_commit:
                for tp, record in ended.items():
                    _put(self._committed, tp, record)

    def _forget_if_empty(self, producer_id: int, txn: _OpenTransaction) -> None:
        if not txn:
            del self._open_txns[producer_id]

    def is_pending(self, tp: TopicPartition) -> bool:
        """Whether a commit for a partition is on its way, in a transaction or not."""
        return tp in self._on_their_way or any(tp in txn for txn in self._open_txns.values())

    # --- removal

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Forget partitions, pending commits included; return those that had an offset."""
        removed = []
        for tp in partitions:
            self._on_their_way.remove(tp)
            for txn in self._open_txns.values():
                txn.remove(tp)
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
            if tp.topic not in subscribed
            and tp not in self._on_their_way
            and is_expired(record.value)
        ]
        for tp in expired:
            del self._committed[tp]
        return expired


def _put(
    known: dict[TopicPartition, CommitRecord], tp: TopicPartition, record: CommitRecord
) -> None:
    """Let the record win that is later in the log."""
    current = known.get(tp)
    if current is None or current.appended_batch_offset < record.appended_batch_offset:
        known[tp] = record
