"""Transactions while a log is cleaned (Kafka's `CleanedTransactionMetadata`). Decisions only.

Batches of aborted transactions go whatever their keys are. A marker goes only when no batch of its
transaction was there any more, and the index of the cleaned segment keeps the aborted transactions
whose marker it has.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.protocol.records.control_record import ControlRecordType, parse_control_type
from kafkalike.protocol.records.record_batch import BatchHeader
from kafkalike.protocol.records.record_reader import iter_records


class CleanedTransactionMetadata:
    """Follows the transactions of a log, whose batches and markers it is shown in order.

    `on_aborted` gets each aborted transaction that has to stay in the index. It is set anew for
    each segment that is written; a transaction may begin in one and end in the next.
    """

    def __init__(self) -> None:
        self.on_aborted: Callable[[AbortedTxn], None] | None = None
        self._ongoing_committed: set[int] = set()
        self._ongoing_aborted: dict[int, AbortedTxn] = {}
        self._with_batches: set[int] = set()
        self._upcoming: list[tuple[int, AbortedTxn]] = []

    def add_aborted_transactions(self, aborted: Iterable[AbortedTxn]) -> None:
        """Tell which transactions will turn out to be aborted; some may be told twice."""
        for txn in aborted:
            heappush(self._upcoming, (txn.first_offset, txn))

    def on_batch_read(self, header: BatchHeader) -> bool:
        """Whether a batch, which is no control batch, belongs to an aborted transaction."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._ongoing_aborted:
            self._with_batches.add(header.producer_id)
            return True
        self._ongoing_committed.add(header.producer_id)
        return False

    def on_control_batch_read(self, header: BatchHeader, batch: memoryview) -> bool:
        """Whether a control batch is of no use any more."""
        self._begin_up_to(header.last_offset)
        for record in iter_records(batch, 0, header):
            control_type = parse_control_type(record.key)
            if control_type is ControlRecordType.ABORT:
                return self._abort(header.producer_id)
            if control_type is ControlRecordType.COMMIT:
                return self._commit(header.producer_id)
            return False
        # It was emptied by an earlier cleaning.
        return True

    def _abort(self, producer_id: int) -> bool:
        txn = self._ongoing_aborted.pop(producer_id, None)
        if txn is None or producer_id not in self._with_batches:
            return True
        self._with_batches.discard(producer_id)
        if self.on_aborted is not None:
            self.on_aborted(txn)
        return False

    def _commit(self, producer_id: int) -> bool:
        if producer_id not in self._ongoing_committed:
            return True
        self._ongoing_committed.discard(producer_id)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._upcoming and self._upcoming[0][0] <= offset:
            _, txn = heappop(self._upcoming)
            self._ongoing_aborted.setdefault(txn.producer_id, txn)
