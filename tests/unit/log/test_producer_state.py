"""Producer state: sequences against a simple model, snapshots, transactions."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.ongoing_txns import OngoingTxns
from kafkalike.log.producer_state import ProducerStateManager
from kafkalike.log.producer_state_entry import BatchMetadata, CompletedTxn, ProducerStateEntry
from kafkalike.log.producer_state_snapshot import (
    CorruptSnapshotError,
    decode_snapshot,
    encode_snapshot,
)
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import InvalidProducerEpochError, OutOfOrderSequenceError
from kafkalike.protocol.records.record_batch import BatchHeader, parse_batch_header
from tests.support.log_builder import NOW_MS, a_batch

TP = TopicPartition("orders", 0)


def header(sequence: int, count: int, offset: int, *, pid: int = 1, epoch: int = 0) -> BatchHeader:
    return parse_batch_header(
        a_batch(
            [b""] * count,
            producer_id=pid,
            producer_epoch=epoch,
            base_sequence=sequence,
            base_offset=offset,
        )
    )


def take(state: ProducerStateManager, batch: BatchHeader) -> BatchMetadata | None:
    """Check and apply a client's batch; return the first one if it is a duplicate."""
    update = state.analyze([batch], AppendOrigin.CLIENT)
    if update.duplicate is None:
        for info in update.append_infos.values():
            state.update(info)
        state.map_end_offset = batch.next_offset
    return update.duplicate


class Model:
    """What a partition must know of one producer, said in the simplest way."""

    def __init__(self) -> None:
        self.epoch = -1
        self.batches: list[tuple[int, int, int]] = []

    def answer(self, sequence: int, count: int, epoch: int, offset: int) -> object:
        if epoch < self.epoch:
            return InvalidProducerEpochError
        if epoch == self.epoch:
            for known in self.batches[-5:]:
                if known[:2] == (sequence, count):
                    return known[2]
            last = self.batches[-1][0] + self.batches[-1][1] - 1
            if sequence != last + 1:
                return OutOfOrderSequenceError
        elif self.epoch >= 0 and sequence:
            return OutOfOrderSequenceError
        else:
            self.epoch, self.batches = epoch, []
        self.batches.append((sequence, count, offset))
        return None


steps = st.lists(
    st.tuples(
        st.sampled_from([1, 2]),
        st.sampled_from(["next", "next", "next", "again", "gap", "zero"]),
        st.integers(1, 4),
        st.sampled_from([0, 0, 0, 1, -1]),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(steps=steps)
def test_state_answers_as_the_model_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int, int]]
) -> None:
    state = ProducerStateManager(TP, tmp_path_factory.mktemp("state"))
    models = {1: Model(), 2: Model()}
    offset = 0
    for pid, kind, count, epoch_step in steps:
        model = models[pid]
        epoch = max(0, model.epoch + epoch_step)
        last = model.batches[-1] if model.batches else (0, 0, 0)
        sequence = {
            "next": last[0] + last[1],
            "again": last[0],
            "gap": last[0] + last[1] + 3,
            "zero": 0,
        }[kind]
        wanted = model.answer(sequence, count, epoch, offset)
        batch = header(sequence, count, offset, pid=pid, epoch=epoch)
        if isinstance(wanted, type):
            with pytest.raises(wanted):
                take(state, batch)
            continue
        found = take(state, batch)
        assert (None if found is None else found.first_offset) == wanted
        if found is None:
            offset += count


# --- snapshots

entries = st.builds(
    lambda pid, epoch, coordinator_epoch, timestamp, txn, batches: _entry(
        pid, epoch, coordinator_epoch, timestamp, txn, batches
    ),
    st.integers(0, (1 << 63) - 1),
    st.integers(0, (1 << 15) - 1),
    st.integers(-1, 1 << 30),
    st.integers(-1, 1 << 50),
    st.none() | st.integers(0, 1 << 60),
    st.lists(
        st.builds(
            BatchMetadata,
            st.integers(0, (1 << 31) - 1),
            st.integers(0, 1 << 60),
            st.integers(0, 1 << 20),
            st.integers(-1, 1 << 50),
        ),
        max_size=5,
    ),
)


def _entry(
    pid: int,
    epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    txn: int | None,
    batches: list[BatchMetadata],
) -> ProducerStateEntry:
    entry = ProducerStateEntry(
        pid,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp=timestamp,
        current_txn_first_offset=txn,
    )
    for batch in batches:
        entry.add_batch(epoch, batch)
    return entry


def facts(entry: ProducerStateEntry) -> tuple[object, ...]:
    return (
        entry.producer_id,
        entry.producer_epoch,
        entry.coordinator_epoch,
        entry.last_timestamp,
        entry.current_txn_first_offset,
        entry.batch_metadata[-1:],
    )


@given(st.lists(entries, max_size=10))
def test_snapshot_keeps_every_producer_with_its_last_batch(
    entries: list[ProducerStateEntry],
) -> None:
    again = decode_snapshot(encode_snapshot(entries))
    assert list(map(facts, again)) == list(map(facts, entries))


@given(st.lists(entries, min_size=1, max_size=3), st.data())
def test_damaged_snapshot_is_recognised(
    entries: list[ProducerStateEntry], data: st.DataObject
) -> None:
    encoded = bytearray(encode_snapshot(entries))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptSnapshotError):
        decode_snapshot(bytes(encoded))
    with pytest.raises(CorruptSnapshotError):
        decode_snapshot(bytes(encoded[: data.draw(st.integers(0, len(encoded) - 1))]))


def test_state_goes_back_to_the_newest_snapshot_within_the_log(tmp_path: Path) -> None:
    state = ProducerStateManager(TP, tmp_path)
    for number in range(6):
        take(state, header(number, 1, number))
        state.take_snapshot()
    state.truncate_and_reload(0, 4, NOW_MS)
    assert state.map_end_offset == 4
    assert state.producers[1].last_seq == 3
    assert state.latest_snapshot_offset == 4
    assert sorted(int(path.stem) for path in tmp_path.glob("*.snapshot")) == [1, 2, 3, 4]


def test_corrupt_snapshot_is_passed_over_and_deleted(tmp_path: Path) -> None:
    state = ProducerStateManager(TP, tmp_path)
    for number in range(3):
        take(state, header(number, 1, number))
        state.take_snapshot()
    (tmp_path / "00000000000000000003.snapshot").write_bytes(b"torn")
    again = ProducerStateManager(TP, tmp_path)
    again.truncate_and_reload(0, 3, NOW_MS)
    assert again.map_end_offset == 2
    assert not (tmp_path / "00000000000000000003.snapshot").exists()


def test_no_second_snapshot_is_taken_at_one_offset(tmp_path: Path) -> None:
    state = ProducerStateManager(TP, tmp_path)
    take(state, header(0, 1, 0))
    assert state.take_snapshot() is not None
    assert state.take_snapshot() is None


# --- transactions


def test_completed_transaction_stays_until_its_marker_is_replicated() -> None:
    txns = OngoingTxns()
    txns.start(1, 10)
    txns.start(2, 20)
    assert (txns.first_unstable_offset, txns.first_undecided_offset) == (10, 10)
    completed = CompletedTxn(1, 10, 30, is_aborted=True)
    assert txns.last_stable_offset(completed) == 20
    txns.complete(completed)
    assert (txns.first_unstable_offset, txns.first_undecided_offset) == (10, 20)
    txns.on_replicated(30)
    assert txns.first_unstable_offset == 10
    txns.on_replicated(31)
    assert txns.first_unstable_offset == 20


def test_only_what_was_started_can_be_completed() -> None:
    with pytest.raises(ValueError, match="not started"):
        OngoingTxns().complete(CompletedTxn(1, 10, 30, is_aborted=False))
