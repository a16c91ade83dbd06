import pytest

from kafkalike.cli.tools.replica_comparison import ReplicaData, compare
from kafkalike.model.topic_partition import TopicPartition
from tests.support.log_builder import a_batch

TP = TopicPartition("t", 0)


def data(*values: bytes, high_watermark: int | None = None) -> ReplicaData:
    records = b"".join(a_batch([value], base_offset=at) for at, value in enumerate(values))
    return ReplicaData(len(values) if high_watermark is None else high_watermark, records)


def test_replicas_that_hold_the_same_agree_up_to_the_high_watermark() -> None:
    found = compare(TP, 0, {1: data(b"a", b"b"), 2: data(b"a", b"b"), 3: data(b"a", b"b")})
    assert (found.next_offset, found.differences, found.lag) == (2, [], 0)


@pytest.mark.parametrize("behind", [data(b"a"), data(b"a", b"b", high_watermark=1)])
def test_replica_that_is_behind_holds_up_and_is_no_difference(behind: ReplicaData) -> None:
    found = compare(TP, 0, {1: data(b"a", b"b"), 2: behind})
    assert (found.next_offset, found.differences, found.lag) == (1, [], 1)


def test_broker_that_is_away_is_waited_for() -> None:
    found = compare(TP, 0, {1: data(b"a"), 2: ReplicaData()})
    assert (found.next_offset, found.differences, found.lag) == (0, [], 1)


def test_other_bytes_at_the_same_offset_are_told() -> None:
    found = compare(TP, 0, {1: data(b"a", b"b"), 2: data(b"a", b"B")})
    (words,) = found.differences
    assert words.startswith(
        "partition t-0 has unmatched checksum at offset 1; replica 1's checksum"
    )
    assert not found.is_fatal
    assert found.next_offset == 2


def test_other_offsets_are_the_end() -> None:
    later = ReplicaData(5, a_batch([b"a"], base_offset=4))
    found = compare(TP, 0, {1: data(b"a"), 2: later})
    assert found.is_fatal
    assert found.differences == [
        "partition t-0: replica 1's offset 0 doesn't match replica 2's offset 4"
    ]
