"""Transactions during a cleaning: what of them can go, and which stay in the index."""

from kafkalike.log.cleaner_transactions import CleanedTransactionMetadata
from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.control_record import ControlRecordType, build_end_txn_marker
from kafkalike.protocol.records.record_batch import BatchHeader, parse_batch_header


class Transactions(CleanedTransactionMetadata):
    """With short words for what is read, and a list for an index."""

    def __init__(self, *aborted: AbortedTxn) -> None:
        super().__init__()
        self.index: list[AbortedTxn] = []
        self.on_aborted = self.index.append
        self.add_aborted_transactions(aborted)

    def batch(self, offset: int, producer_id: int, *, is_transactional: bool = True) -> bool:
        return self.on_batch_read(a_header(offset, producer_id, is_transactional=is_transactional))

    def marker(self, offset: int, producer_id: int, kind: ControlRecordType) -> bool:
        data = build_end_txn_marker(
            kind,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=0,
            base_offset=offset,
        )
        return self.on_control_batch_read(parse_batch_header(data), memoryview(data))

    def commit(self, offset: int, producer_id: int) -> bool:
        return self.marker(offset, producer_id, ControlRecordType.COMMIT)

    def abort(self, offset: int, producer_id: int) -> bool:
        return self.marker(offset, producer_id, ControlRecordType.ABORT)


def a_header(offset: int, producer_id: int, *, is_transactional: bool) -> BatchHeader:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )
    builder.append(0, b"k", b"v")
    return parse_batch_header(builder.build())


def test_transactions_of_several_producers_interleave() -> None:
    aborted = AbortedTxn(1, 0, 4, 0)
    transactions = Transactions(aborted)
    assert transactions.batch(0, 1) is True
    assert transactions.batch(1, 2) is False
    assert transactions.batch(2, 1, is_transactional=False) is False
    assert transactions.commit(3, 2) is False
    assert transactions.abort(4, 1) is False
    assert transactions.index == [aborted]
    # The next transaction of the same producer is another one.
    assert transactions.batch(5, 1) is False
    assert transactions.commit(6, 1) is False


def test_markers_without_batches_can_go() -> None:
    transactions = Transactions(AbortedTxn(1, 0, 4, 0))
    assert transactions.abort(4, 1) is True
    assert transactions.commit(5, 2) is True
    assert transactions.index == []


def test_transaction_that_is_told_twice_counts_once() -> None:
    """It is in the index of a later segment, and overlaps two that are cleaned."""
    aborted = AbortedTxn(1, 0, 9, 0)
    transactions = Transactions(aborted)
    assert transactions.batch(0, 1) is True
    transactions.add_aborted_transactions([aborted])
    assert transactions.batch(7, 1) is True
    assert transactions.abort(9, 1) is False
    assert transactions.index == [aborted]
    assert transactions.batch(10, 1) is False


def test_second_aborted_transaction_begins_where_it_begins() -> None:
    first, second = AbortedTxn(1, 0, 1, 0), AbortedTxn(1, 4, 5, 0)
    transactions = Transactions(second, first)
    assert transactions.batch(0, 1) is True
    assert transactions.abort(1, 1) is False
    assert transactions.batch(2, 1) is False
    assert transactions.commit(3, 1) is False
    assert transactions.batch(4, 1) is True
    assert transactions.abort(5, 1) is False
    assert transactions.index == [first, second]


def test_transaction_may_begin_in_one_segment_and_end_in_the_next() -> None:
    aborted = AbortedTxn(1, 0, 9, 0)
    transactions = Transactions(aborted)
    transactions.batch(0, 1)
    next_index: list[AbortedTxn] = []
    transactions.on_aborted = next_index.append
    assert transactions.abort(9, 1) is False
    assert (transactions.index, next_index) == ([], [aborted])


def test_unknown_control_record_stays() -> None:
    builder = BatchBuilder(
        producer_id=1, producer_epoch=0, is_control=True, is_transactional=True, base_offset=3
    )
    builder.append(0, b"\0\0\0\3", b"")
    data = builder.build()
    transactions = Transactions()
    assert transactions.on_control_batch_read(parse_batch_header(data), memoryview(data)) is False
