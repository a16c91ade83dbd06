"""Idempotent and transactional producers in a log: duplicates, gaps, fencing, stable offsets."""

from pathlib import Path

import pytest
from crc32c import crc32c

from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.log import Log
from kafkalike.log.log_append_info import LogAppendInfo
from kafkalike.protocol.errors import (
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    append_marker,
    committed_offsets_of,
    copy_of,
    open_log,
    values_of,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return open_log(tmp_path / "orders-0")


def send(
    log: Log, sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0
) -> LogAppendInfo:
    return append(
        log,
        a_batch(
            [b"%d" % (sequence + n) for n in range(count)],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        ),
    )


def send_in_txn(
    log: Log, sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0
) -> LogAppendInfo:
    return append(
        log,
        a_batch(
            [b"txn"] * count,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        ),
    )


# --- idempotence


def test_batch_sent_again_is_answered_with_its_first_offsets(log: Log) -> None:
    send(log, 0, 3)
    first = send(log, 3, 2)
    again = send(log, 3, 2)
    assert again.is_duplicate
    assert (again.first_offset, again.last_offset) == (first.first_offset, first.last_offset)
    assert again.log_append_time == NOW_MS
    assert log.log_end_offset == 5
    assert not first.is_duplicate


def test_the_last_five_batches_are_recognised_and_no_older_one(log: Log) -> None:
    for sequence in range(6):
        send(log, sequence)
    for sequence in range(1, 6):
        assert send(log, sequence).first_offset == sequence
    with pytest.raises(OutOfOrderSequenceError):
        send(log, 0)


def test_gap_in_the_sequence_is_refused_and_writes_nothing(log: Log) -> None:
    send(log, 0)
    with pytest.raises(OutOfOrderSequenceError, match=r"2 \(incoming seq. number\), 0 \(current"):
        send(log, 2)
    assert log.log_end_offset == 1
    assert send(log, 1).first_offset == 1


def test_unknown_producer_may_begin_with_any_sequence(log: Log) -> None:
    assert send(log, 42).first_offset == 0
    assert send(log, 43).first_offset == 1


def test_sequence_wraps_around_to_zero(log: Log) -> None:
    top = (1 << 31) - 1
    send(log, top - 1, 2)
    send(log, 0)
    assert log.log_end_offset == 3
    assert send(log, top - 1, 2).is_duplicate


def test_new_epoch_must_begin_with_sequence_zero(log: Log) -> None:
    send(log, 0)
    with pytest.raises(OutOfOrderSequenceError, match="new epoch"):
        send(log, 1, epoch=1)
    send(log, 0, epoch=1)
    assert log.log_end_offset == 2


def test_older_epoch_is_fenced(log: Log) -> None:
    send(log, 0, epoch=3)
    with pytest.raises(InvalidProducerEpochError, match="is 2, which is smaller"):
        send(log, 1, epoch=2)


def test_producers_do_not_disturb_each_other(log: Log) -> None:
    for sequence in range(3):
        send(log, sequence, producer_id=1)
        send(log, sequence, producer_id=2)
    assert log.log_end_offset == 6
    assert send(log, 2, producer_id=1).first_offset == 4


def test_missing_sequence_is_refused(log: Log) -> None:
    batch = bytearray(a_batch(producer_id=7))
    with pytest.raises(InvalidRecordError):
        append(log, memoryview(_with_sequence(batch, -1)))


def _with_sequence(batch: bytearray, sequence: int) -> bytes:
    batch[53:57] = sequence.to_bytes(4, "big", signed=True)
    batch[17:21] = int(crc32c(memoryview(batch)[21:])).to_bytes(4, "big")
    return bytes(batch)


def test_follower_takes_what_the_leader_took(log: Log) -> None:
    """Neither gaps nor old epochs are refused: the leader has decided."""
    for sequence in (0, 5, 3):
        batch = a_batch(producer_id=7, base_sequence=sequence, base_offset=log.log_end_offset)
        log.append_as_follower(batch, NOW_MS)
    assert log.log_end_offset == 3
    entry = log.producer_state.last_entry(7)
    assert entry is not None
    assert entry.last_seq == 3


def test_duplicates_are_recognised_after_a_clean_restart(log: Log) -> None:
    send(log, 0, 3)
    log.close()
    again = open_log(log.directory)
    assert send(again, 0, 3).is_duplicate
    assert send(again, 3).first_offset == 3


def test_duplicates_are_recognised_after_a_crash(log: Log, tmp_path: Path) -> None:
    send(log, 0)
    send(log, 1, 4)
    again = open_log(copy_of(log, tmp_path / "copy"), had_clean_shutdown=False)
    # Snapshots, Kafka's and ours, keep the last batch of a producer only.
    assert send(again, 1, 4).first_offset == 1
    assert send(again, 5).first_offset == 5


def test_expired_producer_may_begin_anew(log: Log) -> None:
    send(log, 0)
    week_ms = 7 * 24 * 3600 * 1000
    log.remove_expired_producers(NOW_MS + week_ms - 1)
    assert log.producer_state.last_entry(7) is not None
    log.remove_expired_producers(NOW_MS + week_ms)
    assert log.producer_state.last_entry(7) is None
    assert send(log, 9).first_offset == 1


def test_roll_takes_a_snapshot_at_the_new_segment(log: Log) -> None:
    send(log, 0, 3)
    log.roll(NOW_MS)
    assert (log.directory / "00000000000000000003.snapshot").exists()
    assert log.producer_state.latest_snapshot_offset == 3


# --- transactions


def test_open_transaction_holds_the_last_stable_offset_back(log: Log) -> None:
    append(log, a_batch())
    send_in_txn(log, 0)
    append(log, a_batch())
    assert (log.first_unstable_offset, log.last_stable_offset, log.high_watermark) == (1, 1, 3)
    assert committed_offsets_of(log) == [0]
    append_marker(log, 7, is_commit=True)
    assert (log.first_unstable_offset, log.last_stable_offset) == (None, 4)
    assert committed_offsets_of(log) == [0, 1, 2]


def test_completed_transaction_is_unstable_until_its_marker_is_replicated(log: Log) -> None:
    send_in_txn(log, 0)
    append_marker(log, 7, is_commit=True, moves_high_watermark=False)
    assert (log.high_watermark, log.last_stable_offset) == (1, 0)
    log.maybe_increment_high_watermark(2)
    assert (log.first_unstable_offset, log.last_stable_offset) == (None, 2)


def test_aborted_transaction_is_in_the_index_and_not_for_committed_readers(log: Log) -> None:
    append(log, a_batch())
    send_in_txn(log, 0, 2)
    append_marker(log, 7, is_commit=False)
    assert log.active_segment.txn_index.all_aborted_txns == [(7, 1, 3, 4)]
    assert committed_offsets_of(log) == [0]


def test_aborted_entry_tells_the_last_stable_offset_of_other_transactions(log: Log) -> None:
    send_in_txn(log, 0, producer_id=1)
    send_in_txn(log, 0, producer_id=2)
    append_marker(log, 2, is_commit=False)
    append_marker(log, 1, is_commit=False)
    assert log.active_segment.txn_index.all_aborted_txns == [(2, 1, 2, 0), (1, 0, 3, 4)]
    assert committed_offsets_of(log) == []


def test_marker_without_data_changes_nothing_but_the_epoch(log: Log) -> None:
    append_marker(log, 7, is_commit=False, producer_epoch=4)
    assert log.active_segment.txn_index.all_aborted_txns == []
    assert log.last_stable_offset == 1
    with pytest.raises(InvalidProducerEpochError):
        send(log, 0, epoch=3)


def test_plain_batch_within_a_transaction_is_refused(log: Log) -> None:
    send_in_txn(log, 0)
    with pytest.raises(InvalidTxnStateError, match="orders-0"):
        send(log, 1)


def test_marker_of_an_older_coordinator_is_fenced(log: Log) -> None:
    send_in_txn(log, 0)
    append_marker(log, 7, is_commit=True, coordinator_epoch=5)
    with pytest.raises(TransactionCoordinatorFencedError, match=r"4 \(zombie\), 5 \(current\)"):
        append_marker(log, 7, is_commit=True, coordinator_epoch=4)


def test_client_may_write_no_marker(log: Log) -> None:
    marker = a_batch(producer_id=7, is_transactional=True, is_control=True)
    with pytest.raises(InvalidRecordError, match="control records"):
        log.append_as_leader(marker, leader_epoch=0, now_ms=NOW_MS, origin=AppendOrigin.CLIENT)


def test_coordinator_appends_without_sequences(log: Log) -> None:
    for _ in range(2):
        batch = a_batch(producer_id=7, base_sequence=0)
        log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
    assert log.log_end_offset == 2


@pytest.mark.parametrize("had_clean_shutdown", [True, False])
def test_open_transaction_is_still_open_after_a_restart(
    log: Log, tmp_path: Path, had_clean_shutdown: bool
) -> None:
    append(log, a_batch())
    send_in_txn(log, 0)
    append_marker(log, 7, is_commit=False)
    send_in_txn(log, 1)
    if had_clean_shutdown:
        log.close()
    again = open_log(copy_of(log, tmp_path / "copy"), had_clean_shutdown=had_clean_shutdown)
    again.update_high_watermark(again.log_end_offset)
    assert again.last_stable_offset == 3
    assert again.active_segment.txn_index.all_aborted_txns == [(7, 1, 2, 3)]
    append_marker(again, 7, is_commit=True)
    assert committed_offsets_of(again) == [0, 3]


def test_transaction_over_several_segments_is_aborted_in_the_last(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", segment_bytes=100)
    for sequence in range(5):
        send_in_txn(log, sequence)
    append_marker(log, 7, is_commit=False)
    append(log, a_batch([b"after"]))
    assert len(log.segments) == 7
    assert committed_offsets_of(log) == [6]
    assert values_of(log)[-1] == b"after"


def test_log_start_within_a_transaction_becomes_its_first_unstable_offset(log: Log) -> None:
    send_in_txn(log, 0, 3)
    log.maybe_increment_log_start_offset(2)
    assert log.first_unstable_offset == 2
    assert log.last_stable_offset == 2


def test_producers_survive_a_segment_that_is_rolled_twice(tmp_path: Path) -> None:
    """The second roll replaces an empty segment, and must not take its snapshot along."""
    log = open_log(tmp_path / "orders-0")
    append(log, a_batch(producer_id=3, is_transactional=True))
    log.roll(NOW_MS)
    log.roll(NOW_MS)
    log.close()
    again = open_log(log.directory)
    assert again.producer_state.last_entry(3) is not None
    assert again.first_unstable_offset == 0
