"""The records of the internal topics that a real broker wrote, against what Kafka's tool says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalike.protocol.consumer_protocol import decode_assignment
from kafkalike.protocol.coordinator_records import (
    decode_group_key,
    decode_group_metadata_value,
    decode_offset_commit_value,
    decode_transaction_log_key,
    decode_transaction_log_value,
    encode_group_metadata_key,
    encode_group_metadata_value,
    encode_offset_commit_key,
    encode_offset_commit_value,
    encode_transaction_log_key,
    encode_transaction_log_value,
)
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages.coordinator_records import (
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
)
from kafkalike.protocol.records.record_batch import iter_batches
from kafkalike.protocol.records.record_reader import iter_records
from tests.support.protocol_vectors import GOLDEN

LOGDIR = GOLDEN / "logdir"
DUMPED = re.compile(r"^\| offset: (\d+) .* key: (\S*) payload: (.*)$", re.MULTILINE)
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")


def dumped_partitions(topic: str) -> list[Path]:
    return sorted((LOGDIR / "dump").glob(f"{topic}-*.txt"))


def records_and_dump(dump: Path) -> Iterator[tuple[bytes, bytes | None, str, str]]:
    """Yield key and value as bytes, and as Kafka's tool shows them."""
    text = dump.read_text(encoding="utf-8")
    shown = {int(offset): (key, value) for offset, key, value in DUMPED.findall(text)}
    log = re.search(r"--files (\S+)", text)
    assert log is not None
    data = (LOGDIR / "clean" / log[1]).read_bytes()
    offsets = set()
    for position, header in iter_batches(data):
        if not header.is_control:
            for record in iter_records(data, position, header):
                assert record.key is not None
                offsets.add(record.offset)
                yield record.key, record.value, *shown[record.offset]
    assert offsets == set(shown)


@pytest.mark.parametrize("dump", dumped_partitions("__consumer_offsets"), ids=lambda p: p.stem)
def test_consumer_offsets_of_a_real_broker(dump: Path) -> None:
    for key_bytes, value, shown_key, shown_value in records_and_dump(dump):
        key = decode_group_key(key_bytes)
        if isinstance(key, OffsetCommitKey):
            tp = f"{key.topic}-{key.partition}"
            assert shown_key == f"offset_commit::group={key.group},partition={tp}"
            assert encode_offset_commit_key(key.group, key.topic, key.partition) == key_bytes
            check_offset_commit_value(value, shown_value)
        else:
            assert shown_key == f"group_metadata::group={key.group}"
            assert encode_group_metadata_key(key.group) == key_bytes
            check_group_metadata_value(value, shown_value)


def check_offset_commit_value(data: bytes | None, shown: str) -> None:
    if data is None:
        assert shown == "<DELETE>"
        return
    value = decode_offset_commit_value(data)
    assert shown.split(",")[0] == f"offset={value.offset}"
    assert encode_offset_commit_value(value) == data


def check_group_metadata_value(data: bytes | None, shown: str) -> None:
    if data is None:
        assert shown == "<DELETE>"
        return
    value = decode_group_metadata_value(data)
    expected = json.loads(shown)
    assert value.protocol_type == expected["protocolType"]
    assert value.generation == expected["generationId"]
    assert value.protocol == expected.get("protocol")
    for member in value.members:
        for assigned in decode_assignment(member.assignment).assigned_partitions:
            for partition in assigned.partitions:
                assert f"{assigned.topic}-{partition}" in expected["assignment"]
        assert member.member_id in expected["assignment"]
    assert encode_group_metadata_value(value) == data


@pytest.mark.parametrize("dump", dumped_partitions("__transaction_state"), ids=lambda p: p.stem)
def test_transaction_state_of_a_real_broker(dump: Path) -> None:
    for key_bytes, value_bytes, shown_key, shown_value in records_and_dump(dump):
        key = decode_transaction_log_key(key_bytes)
        assert shown_key == f"transaction_metadata::transactionalId={key.transactional_id}"
        assert encode_transaction_log_key(key.transactional_id) == key_bytes
        assert value_bytes is not None
        value = decode_transaction_log_value(value_bytes)
        partitions = {
            f"{topic.topic}-{partition}"
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        }
        shown_partitions = re.search(r"partitions=\[(.*?)\]", shown_value)
        assert shown_partitions is not None
        assert partitions == set(filter(None, shown_partitions[1].split(",")))
        start = (
            f"producerId:{value.producer_id},producerEpoch:{value.producer_epoch},"
            f"state={STATES[value.transaction_status]},"
        )
        end = (
            f",txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms},"
            f"txnTimeoutMs={value.transaction_timeout_ms}"
        )
        assert shown_value.startswith(start)
        assert shown_value.endswith(end)
        assert encode_transaction_log_value(value) == value_bytes


def test_members_of_a_group_written_long_ago_have_one_timeout_for_everything() -> None:
    member = MemberMetadata(member_id="m", session_timeout=5000, rebalance_timeout=9000)
    value = GroupMetadataValue(protocol_type="consumer", members=[member])
    [old] = decode_group_metadata_value(encode_group_metadata_value(value, 0)).members
    assert old.rebalance_timeout == old.session_timeout == 5000
    [new] = decode_group_metadata_value(encode_group_metadata_value(value, 1)).members
    assert new.rebalance_timeout == 9000


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x03", b"\xff\xff", b"\x00\x01\x00\x09g"])
def test_unknown_versions_and_cut_off_keys_are_protocol_errors(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_group_key(data)
    with pytest.raises(ProtocolError):
        decode_transaction_log_key(data)
