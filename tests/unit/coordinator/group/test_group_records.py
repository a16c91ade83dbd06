"""Groups and offsets as records: what a real broker wrote is read and written again to the byte."""

from collections.abc import Iterator

import pytest

from kafkalike.config.api_version import LATEST_VERSION, api_version
from kafkalike.coordinator.group.group_metadata import EMPTY, STABLE, GroupMetadata
from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.coordinator.group.group_records import (
    group_record,
    offset_record,
    read_group,
    read_offset,
    tombstones,
)
from kafkalike.coordinator.group.member_metadata import MemberMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import decode_group_key
from kafkalike.protocol.messages.coordinator_records import OffsetCommitKey
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import iter_batches
from kafkalike.protocol.records.record_reader import iter_records
from tests.support.golden import segment_files

TP = TopicPartition("t", 3)


def golden_records() -> Iterator[Record]:
    for partition in range(4):
        for file in segment_files(f"__consumer_offsets-{partition}"):
            data = file.read_bytes()
            for position, header in iter_batches(data):
                if not header.is_control:
                    yield from iter_records(data, position, header)


def test_records_of_a_real_broker_are_written_again_to_the_byte() -> None:
    """M60: offsets per group, topic and partition, in the records that Kafka writes."""
    kinds = set()
    for record in golden_records():
        assert record.key is not None
        key = decode_group_key(record.key)
        is_offset = isinstance(key, OffsetCommitKey)
        kinds.add((is_offset, record.value is None))
        if isinstance(key, OffsetCommitKey):
            tp = TopicPartition(key.topic, key.partition)
            if record.value is None:
                ((again, _),) = tombstones(key.group, [tp], with_group=False)
                assert again == record.key
            else:
                value = read_offset(record.value)
                again_both = offset_record(key.group, tp, value, LATEST_VERSION)
                assert again_both == (record.key, record.value)
        elif record.value is None:
            assert tombstones(key.group, [], with_group=True) == [(record.key, None)]
        else:
            group = read_group(key.group, record.value, 0)
            assignment = {one.member_id: one.assignment for one in group.members.values()}
            again_both = group_record(group, assignment, LATEST_VERSION)
            assert again_both == (record.key, record.value)
    assert {(True, False), (False, False)} <= kinds


def test_group_with_members_comes_back_stable_and_one_without_empty() -> None:
    states = {
        (bool(group.members), group.state)
        for record in golden_records()
        if record.key is not None and record.value is not None
        for key in [decode_group_key(record.key)]
        if not isinstance(key, OffsetCommitKey)
        for group in [read_group(key.group, record.value, 0)]
    }
    assert states == {(True, STABLE), (False, EMPTY)}


def a_group() -> GroupMetadata:
    group = GroupMetadata("g", 1234)
    group.load(
        generation_id=5,
        protocol_type="consumer",
        protocol_name="range",
        leader_id="m",
        state_timestamp=1234,
        members=[
            MemberMetadata(
                "m",
                group_instance_id="i",
                client_id="c",
                client_host="/h",
                rebalance_timeout_ms=300_000,
                session_timeout_ms=10_000,
                protocol_type="consumer",
                supported_protocols=[("range", b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff")],
                assignment=b"assigned",
            )
        ],
    )
    return group


@pytest.mark.parametrize(
    ("protocol", "version", "instance", "timestamp", "rebalance_ms"),
    [
        ("2.8-IV1", 3, "i", 1234, 300_000),
        ("2.3-IV0", 3, "i", 1234, 300_000),
        ("2.2-IV1", 2, None, 1234, 300_000),
        ("2.0-IV1", 1, None, None, 300_000),
        ("0.10.0-IV1", 0, None, None, 10_000),
    ],
)
def test_group_is_written_as_the_oldest_broker_of_the_cluster_can_read_it(
    protocol: str, version: int, instance: str | None, timestamp: int | None, rebalance_ms: int
) -> None:
    _, value = group_record(a_group(), {"m": b"assigned"}, api_version(protocol))
    assert value is not None
    assert value[:2] == version.to_bytes(2, "big")
    group = read_group("g", value, 99)
    member = group.members["m"]
    assert member.group_instance_id == instance
    assert group.state_timestamp == timestamp
    assert member.rebalance_timeout_ms == rebalance_ms
    assert (group.generation_id, group.leader_id, group.protocol_name) == (5, "m", "range")
    assert member.assignment == b"assigned"


@pytest.mark.parametrize(
    ("protocol", "expire_timestamp", "version", "epoch"),
    [
        ("2.8-IV1", None, 3, 4),
        ("2.8-IV1", 77, 1, None),
        ("2.1-IV0", None, 2, None),
        ("2.0-IV1", None, 1, None),
    ],
)
def test_offset_is_written_in_the_version_that_can_say_it(
    protocol: str, expire_timestamp: int | None, version: int, epoch: int | None
) -> None:
    committed = OffsetAndMetadata(
        offset=9,
        leader_epoch=4,
        metadata="why",
        commit_timestamp=55,
        expire_timestamp=expire_timestamp,
    )
    _, value = offset_record("g", TP, committed, api_version(protocol))
    assert value is not None
    assert value[:2] == version.to_bytes(2, "big")
    back = read_offset(value)
    assert (back.offset, back.metadata, back.commit_timestamp) == (9, "why", 55)
    assert (back.leader_epoch, back.expire_timestamp) == (epoch, expire_timestamp)
