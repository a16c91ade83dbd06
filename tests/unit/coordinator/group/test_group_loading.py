"""What the records of a partition amount to, for partitions of a real broker and made up ones."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.config.api_version import LATEST_VERSION
from kafkalike.coordinator.group.group_loading import GroupLoading
from kafkalike.coordinator.group.group_metadata import EMPTY, GroupMetadata
from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.coordinator.group.group_records import group_record, offset_record, tombstones
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import decode_assignment
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.control_record import ControlRecordType, build_end_txn_marker
from kafkalike.protocol.records.record_batch import iter_batches
from tests.support.golden import LOGDIR

A, B = TopicPartition("a", 0), TopicPartition("b", 1)
PID = 7

DUMPED = re.compile(
    r"^\| offset: \d+ .* key: (\w+)::group=([^, ]+)(?:,partition=(\S+))? payload: (.*)$",
    re.MULTILINE,
)
BATCH = re.compile(
    r"^baseOffset.* producerId: (-?\d+) .* isTransactional: (\w+) isControl: (\w+)", re.MULTILINE
)


class Expected:
    """What Kafka's own dump of a partition amounts to, by an independent reading of its text."""

    def __init__(self, dump: Path) -> None:
        self.text = dump.read_text()
        self.groups: dict[str, dict[str, Any]] = {}
        self.offsets: dict[tuple[str, str], int] = {}
        pending: dict[str, dict[tuple[str, str], int]] = {}
        producer, is_transactional, is_control = "", False, False
        for line in self.text.splitlines():
            batch = BATCH.match(line)
            if batch:
                producer = batch[1]
                is_transactional, is_control = batch[2] == "true", batch[3] == "true"
                continue
            if is_control and "endTxnMarker: COMMIT" in line:
                self.offsets.update(pending.pop(producer, {}))
            elif is_control and "endTxnMarker: ABORT" in line:
                pending.pop(producer, None)
            found = DUMPED.match(line)
            if found:
                target = pending.setdefault(producer, {}) if is_transactional else self.offsets
                self._take(*found.groups(), target)
        assert not any(pending.values())

    def _take(
        self, kind: str, group: str, tp: str, payload: str, offsets: dict[tuple[str, str], int]
    ) -> None:
        if kind == "offset_commit":
            if payload == "<DELETE>":
                offsets.pop((group, tp), None)
            else:
                offsets[group, tp] = int(payload.split(",")[0].removeprefix("offset="))
        elif payload == "<DELETE>":
            self.groups.pop(group, None)
        else:
            self.groups[group] = json.loads(payload)


def load(data: bytes) -> dict[str, GroupMetadata]:
    loading = GroupLoading(0)
    for position, header in iter_batches(data):
        for _ in loading.add_batch(data, position, header):
            pass
    return {group.group_id: group for group in loading.groups()}


def golden_dumps() -> list[Path]:
    return sorted((LOGDIR / "dump").glob("__consumer_offsets-*.txt"))


@pytest.mark.parametrize("dump", golden_dumps(), ids=lambda path: path.stem)
def test_partition_of_a_real_broker_loads_to_what_kafkas_tool_shows(dump: Path) -> None:
    """M60: we load what Kafka stored."""
    expected = Expected(dump)
    file = re.search(r"--files (\S+)", expected.text)
    assert file is not None
    groups = load((LOGDIR / "clean" / file[1]).read_bytes())
    assert groups.keys() == expected.groups.keys() | {group for group, _ in expected.offsets}
    found = {
        (group.group_id, str(tp)): value.offset
        for group in groups.values()
        for tp in group.offsets.partitions
        if (value := group.offsets.get(tp))
    }
    assert found == expected.offsets
    for group_id, shown in expected.groups.items():
        group = groups[group_id]
        assert group.protocol_type == shown["protocolType"]
        assert group.protocol_name == shown["protocol"]
        assert group.generation_id == shown["generationId"]
        assert "{" + ",".join(_shown_members(group)) + "}" == shown["assignment"]


def _shown_members(group: GroupMetadata) -> Iterator[str]:
    for member in group.members.values():
        topics = decode_assignment(member.assignment).assigned_partitions
        partitions = [f"{one.topic}-{index}" for one in topics for index in one.partitions]
        yield f"{member.member_id}=[{', '.join(partitions)}]"


# --- made up


class Log:
    """Batches one after the other."""

    def __init__(self) -> None:
        self.data = b""
        self._next = 0

    def append(self, *records: tuple[bytes | None, bytes | None], **options: Any) -> "Log":
        builder = BatchBuilder(base_offset=self._next, **options)
        for key, value in records:
            builder.append(0, key, value)
        self.data += builder.build()
        self._next += len(records)
        return self

    def commit(self, tp: TopicPartition, offset: int, *, in_txn: bool = False) -> "Log":
        value = OffsetAndMetadata(offset=offset, commit_timestamp=0)
        record = offset_record("g", tp, value, LATEST_VERSION)
        return self.append(record, **(_txn() if in_txn else {}))

    def end_txn(self, kind: ControlRecordType) -> "Log":
        self.data += build_end_txn_marker(
            kind,
            producer_id=PID,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=0,
            base_offset=self._next,
        )
        self._next += 1
        return self

    def offset(self, tp: TopicPartition = A) -> int | None:
        group = load(self.data).get("g")
        found = group.offsets.get(tp) if group is not None else None
        return None if found is None else found.offset


def _txn() -> dict[str, Any]:
    return {
        "producer_id": PID,
        "producer_epoch": 0,
        "base_sequence": 0,
        "is_transactional": True,
    }


def test_last_commit_counts() -> None:
    assert Log().commit(A, 1).commit(A, 2).offset() == 2


def test_tombstone_removes_an_offset() -> None:
    log = Log().commit(A, 1).commit(B, 2).append(*tombstones("g", [A], with_group=False))
    assert (log.offset(A), log.offset(B)) == (None, 2)


def test_transaction_that_was_committed_counts() -> None:
    log = Log().commit(A, 1).commit(A, 5, in_txn=True)
    assert log.offset() == 1
    assert log.end_txn(ControlRecordType.COMMIT).offset() == 5


def test_transaction_that_was_aborted_does_not_count() -> None:
    log = Log().commit(A, 1).commit(A, 5, in_txn=True).end_txn(ControlRecordType.ABORT)
    assert log.offset() == 1


def test_plain_commit_after_a_transaction_wins_though_the_transaction_ends_later() -> None:
    log = Log().commit(A, 5, in_txn=True).commit(A, 6).end_txn(ControlRecordType.COMMIT)
    assert log.offset() == 6


def test_transaction_that_has_not_ended_is_pending() -> None:
    group = load(Log().commit(A, 5, in_txn=True).data)["g"]
    assert group.state is EMPTY
    assert group.offsets.is_pending(A)
    assert group.offsets.producers == [PID]
    group.offsets.complete_txn(PID, is_commit=True)
    assert group.offsets.partitions == [A]


def test_tombstone_in_a_transaction_takes_its_own_commit_back() -> None:
    log = Log().commit(A, 1).commit(A, 5, in_txn=True)
    log.append(*tombstones("g", [A], with_group=False), **_txn())
    assert log.end_txn(ControlRecordType.COMMIT).offset() == 1


def test_group_that_was_removed_is_gone_and_its_offsets_are_not() -> None:
    group = GroupMetadata("g", 0)
    group.generation_id = 3
    log = Log().append(group_record(group, {}, LATEST_VERSION)).commit(A, 1)
    assert load(log.data)["g"].generation_id == 3
    log.append(*tombstones("g", [], with_group=True))
    assert load(log.data)["g"].generation_id == 0
    log.append(*tombstones("g", [A], with_group=False))
    assert load(log.data) == {}


@pytest.mark.parametrize(
    "record",
    [
        (None, b"no key"),
        (b"", b"no version"),
        (b"\x00\x09unknown", b"version"),
        (b"\x00\x02\x00\x05cut", b"off"),
        (tombstones("g", [A], with_group=False)[0][0], b"\x00\x63no such value"),
    ],
)
def test_record_that_cannot_be_read_is_skipped_and_the_others_are_not(
    record: tuple[bytes | None, bytes],
) -> None:
    log = Log().commit(B, 1).append(record).commit(B, 2)
    assert log.offset(B) == 2


def test_batch_that_compaction_has_emptied_is_passed_over() -> None:
    log = Log().commit(A, 1)
    log.data += _without_records(
        build_end_txn_marker(
            ControlRecordType.COMMIT,
            producer_id=PID,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=0,
            base_offset=1,
        )
    )
    assert log.offset() == 1


def _without_records(batch: bytes) -> bytes:
    header = bytearray(batch[:61])
    header[8:12] = (61 - 12).to_bytes(4, "big")
    header[57:61] = (0).to_bytes(4, "big")
    return bytes(header)
