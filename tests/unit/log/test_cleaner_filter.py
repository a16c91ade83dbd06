"""Which batches and records stay, decided batch by batch."""

from collections.abc import Generator, Mapping
from typing import Any, TypeVar

import pytest

from kafkalike.log.cleaner_batches import CleanedBatch
from kafkalike.log.cleaner_filter import CleanerFilter, LastRecord
from kafkalike.log.cleaner_stats import CleanerStats
from kafkalike.log.cleaner_transactions import CleanedTransactionMetadata
from kafkalike.log.offset_map import OffsetMap
from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.control_record import ControlRecordType, build_end_txn_marker
from kafkalike.protocol.records.record_batch import check_crc, parse_batch_header
from kafkalike.protocol.records.record_reader import iter_records

T = TypeVar("T")
NOW_MS = 1_700_000_000_000


def result_of(work: Generator[int, None, T]) -> T:
    while True:
        try:
            assert next(work) == 0
        except StopIteration as end:
            return end.value


def a_filter(
    latest: Mapping[bytes, int],
    *,
    up_to: int = 1000,
    retains_deletes: bool = True,
    last_records: Mapping[int, LastRecord] | None = None,
    aborted: tuple[AbortedTxn, ...] = (),
) -> CleanerFilter:
    offset_map = OffsetMap(4096, 0.9)
    for key, offset in latest.items():
        offset_map.put(key, offset)
    offset_map.latest_offset = up_to
    transactions = CleanedTransactionMetadata()
    transactions.add_aborted_transactions(aborted)
    made = CleanerFilter(offset_map, transactions, last_records or {}, CleanerStats())
    made.retains_deletes = retains_deletes
    return made


def a_batch(
    *pairs: tuple[bytes | None, bytes | None], base_offset: int = 0, **options: Any
) -> bytes:
    if "producer_id" in options:
        options = {"producer_epoch": 0, "base_sequence": 0, **options}
    builder = BatchBuilder(base_offset=base_offset, **options)
    for key, value in pairs:
        builder.append(NOW_MS, key, value)
    return builder.build()


def a_marker(kind: ControlRecordType, *, base_offset: int, producer_id: int = 7) -> bytes:
    return build_end_txn_marker(
        kind,
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp=NOW_MS,
        base_offset=base_offset,
    )


def cleaned(record_filter: CleanerFilter, batch: bytes) -> CleanedBatch | None:
    return result_of(record_filter.filter(parse_batch_header(batch), memoryview(batch)))


def offsets_in(batch: CleanedBatch | None) -> list[int] | None:
    if batch is None:
        return None
    check_crc(batch.data, 0, batch.header)
    assert parse_batch_header(batch.data) == batch.header
    return [record.offset for record in iter_records(batch.data, 0, batch.header)]


def test_only_the_last_record_of_a_key_stays() -> None:
    batch = a_batch((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    found = cleaned(a_filter({b"a": 2, b"b": 9}), batch)
    assert offsets_in(found) == [2]
    assert found is not None
    assert (found.header.base_offset, found.header.last_offset) == (0, 2)


def test_batch_of_which_nothing_goes_is_not_touched() -> None:
    batch = a_batch((b"a", b"1"), (b"b", b"2"), compression=CompressionType.GZIP)
    found = cleaned(a_filter({b"a": 0}), batch)
    assert found is not None
    assert found.data == batch
    assert found.record_count == 2


def test_batch_of_which_nothing_stays_goes() -> None:
    assert cleaned(a_filter({b"a": 5}), a_batch((b"a", b"1"))) is None


def test_what_is_beyond_the_map_stays() -> None:
    """The map may have been full: what it has not seen cannot be judged."""
    assert offsets_in(
        cleaned(a_filter({b"a": 5}, up_to=0), a_batch((b"a", b"1"), (b"a", b"2")))
    ) == [1]
    whole = a_batch((None, b"1"), base_offset=1)
    assert offsets_in(cleaned(a_filter({}, up_to=0), whole)) == [1]


def test_record_without_key_goes_and_is_counted() -> None:
    record_filter = a_filter({})
    assert offsets_in(cleaned(record_filter, a_batch((None, b"1"), (b"k", b"2")))) == [1]
    assert record_filter.stats.invalid_messages_read == 1


@pytest.mark.parametrize(("retains_deletes", "left"), [(True, [0]), (False, None)])
def test_tombstone_goes_when_it_is_old(retains_deletes: bool, left: list[int] | None) -> None:
    record_filter = a_filter({b"a": 0}, retains_deletes=retains_deletes)
    assert offsets_in(cleaned(record_filter, a_batch((b"a", None)))) == left


def test_last_batch_of_a_producer_stays_without_its_records() -> None:
    batch = a_batch((b"a", b"1"), (b"a", b"2"), producer_id=7, base_sequence=30, leader_epoch=4)
    header = parse_batch_header(batch)
    last = {7: LastRecord(1, 0)}
    found = cleaned(a_filter({b"a": 9}, last_records=last), batch)
    assert offsets_in(found) == []
    assert found is not None
    same = {"batch_length": 49, "crc": found.header.crc, "record_count": 0, "base_timestamp": -1}
    assert found.header == header._replace(**same)
    assert found.header.last_sequence == 31
    # Cleaned again it stays as it is, and goes once the producer has written something else.
    assert cleaned(a_filter({}, last_records=last), bytes(found.data)) == found
    assert cleaned(a_filter({}, last_records={7: LastRecord(12, 0)}), bytes(found.data)) is None
    assert cleaned(a_filter({}), bytes(found.data)) is None


def test_compressed_batch_is_empty_without_compression() -> None:
    batch = a_batch((b"a", b"1"), producer_id=7, compression=CompressionType.ZSTD)
    found = cleaned(a_filter({b"a": 9}, last_records={7: LastRecord(0, 0)}), batch)
    assert found is not None
    assert not found.header.is_compressed


def test_aborted_records_go_whatever_their_keys_are() -> None:
    record_filter = a_filter({b"a": 0}, aborted=(AbortedTxn(7, 0, 5, 0),))
    batch = a_batch((b"a", b"1"), producer_id=7, is_transactional=True)
    assert cleaned(record_filter, batch) is None
    other = a_batch((b"a", b"1"), producer_id=8, is_transactional=True, base_offset=1)
    assert offsets_in(cleaned(record_filter, other)) == [1]


@pytest.mark.parametrize("retains_deletes", [True, False])
@pytest.mark.parametrize("kind", [ControlRecordType.COMMIT, ControlRecordType.ABORT])
def test_marker_stays_while_there_were_batches_of_its_transaction(
    kind: ControlRecordType, retains_deletes: bool
) -> None:
    aborted = (AbortedTxn(7, 0, 1, 0),) if kind is ControlRecordType.ABORT else ()
    record_filter = a_filter({b"a": 900}, aborted=aborted, retains_deletes=retains_deletes)
    batch = a_batch((b"a", b"1"), producer_id=7, is_transactional=True)
    assert cleaned(record_filter, batch) is None
    assert offsets_in(cleaned(record_filter, a_marker(kind, base_offset=1))) == [1]


@pytest.mark.parametrize(("retains_deletes", "left"), [(True, [1]), (False, None)])
@pytest.mark.parametrize("kind", [ControlRecordType.COMMIT, ControlRecordType.ABORT])
def test_marker_of_a_transaction_that_is_gone_goes_when_it_is_old(
    kind: ControlRecordType, retains_deletes: bool, left: list[int] | None
) -> None:
    record_filter = a_filter({}, retains_deletes=retains_deletes)
    assert offsets_in(cleaned(record_filter, a_marker(kind, base_offset=1))) == left


def test_marker_with_the_last_epoch_of_a_producer_stays_empty() -> None:
    last = {7: LastRecord(None, 0)}
    record_filter = a_filter({}, retains_deletes=False, last_records=last)
    found = cleaned(record_filter, a_marker(ControlRecordType.COMMIT, base_offset=1))
    assert offsets_in(found) == []
    assert found is not None
    assert found.header.is_control
    assert cleaned(record_filter, bytes(found.data)) == found
    older = a_filter({}, retains_deletes=False, last_records={7: LastRecord(None, 1)})
    assert cleaned(older, bytes(found.data)) is None
    busy = a_filter({}, retains_deletes=False, last_records={7: LastRecord(40, 0)})
    assert cleaned(busy, bytes(found.data)) is None


def test_marker_is_no_record_of_a_user() -> None:
    """Its key looks like anybody's; a user's later key of the same bytes does not remove it."""
    key = b"\0\0\0\1"
    record_filter = a_filter({key: 900})
    batch = a_batch((b"x", b"1"), producer_id=7, is_transactional=True)
    assert cleaned(record_filter, batch) is not None
    assert offsets_in(
        cleaned(record_filter, a_marker(ControlRecordType.COMMIT, base_offset=1))
    ) == [1]


@pytest.mark.parametrize("magic", [0, 1])
def test_plain_message_of_an_old_format_stays_or_goes(magic: int) -> None:
    batch = a_batch((b"a", b"1"), magic=magic, base_offset=4)
    found = cleaned(a_filter({b"a": 4}), batch)
    assert found is not None
    assert found.data == batch
    assert cleaned(a_filter({b"a": 5}), batch) is None


@pytest.mark.parametrize("magic", [0, 1])
def test_wrapper_is_made_anew_around_the_messages_that_stay(magic: int) -> None:
    batch = a_batch(
        (b"a", b"1"),
        (b"b", b"2"),
        (b"c", None),
        (b"a", b"4"),
        magic=magic,
        base_offset=10,
        compression=CompressionType.GZIP,
    )
    found = cleaned(a_filter({b"a": 13, b"c": 20}), batch)
    assert found is not None
    assert offsets_in(found) == [11, 13]
    assert found.header.magic == magic
    assert found.header.last_offset == 13
    whole = cleaned(a_filter({b"a": 13}, up_to=9), batch)
    assert whole is not None
    assert whole.data == batch
    assert cleaned(a_filter({b"a": 20, b"b": 20, b"c": 20}), batch) is None


def test_spoilt_batch_does_not_get_a_good_checksum() -> None:
    batch = bytearray(a_batch((b"a", b"1"), (b"b", b"2")))
    batch[-2] ^= 1
    with pytest.raises(CorruptRecordError):
        cleaned(a_filter({b"a": 9}), bytes(batch))
