"""Loading from logs as they are on a disk: those of a real broker, and ours."""

import shutil
from pathlib import Path

import pytest

from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from tests.support.golden import partition_dir
from tests.support.group_world import FakeReplicas, GroupWorld
from tests.support.log_builder import open_log


@pytest.fixture
def golden(tmp_path: Path) -> GroupWorld:
    """A coordinator that was elected for the four partitions of a real broker."""
    replicas = FakeReplicas(0)
    for partition in range(4):
        name = f"__consumer_offsets-{partition}"
        shutil.copytree(partition_dir(name), tmp_path / name)
        log = open_log(tmp_path / name)
        replicas.logs[TopicPartition("__consumer_offsets", partition)] = log  # type: ignore[assignment]
    return GroupWorld({"offsets.load.buffer.size": "1000"}, replicas=replicas)


def test_groups_of_a_real_broker_can_be_used_at_once(golden: GroupWorld) -> None:
    """M60, M61: consumers go on with what they committed to Apache Kafka."""
    groups = {one.group_id for one in golden.coordinator.list_groups([])[1]}
    assert {"eos-group", "g-live", "g-py2"} <= groups
    _, found = golden.coordinator.fetch_offsets("eos-group", None, require_stable=True)
    offsets = {str(tp): one for tp, one in found.items()}
    assert isinstance(offsets["txn-in-0"], OffsetAndMetadata)
    assert offsets["txn-in-0"].offset >= 30
    summary = golden.coordinator.describe_group("g-live")[1]
    assert summary.protocol_type == "consumer"


def test_groups_are_given_up_with_their_partition(golden: GroupWorld) -> None:
    for partition in range(4):
        golden.coordinator.on_resignation(partition, 9)
    assert golden.coordinator.list_groups([]) == (ErrorCode.NONE, [])
