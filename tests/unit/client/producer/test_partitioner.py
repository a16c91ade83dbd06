from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from kafkalike.client.cluster_snapshot import PartitionMetadata, TopicMetadata
from kafkalike.client.producer.murmur2 import partition_for_key
from kafkalike.client.producer.partitioner import (
    DefaultPartitioner,
    KeyHashElseRoundRobin,
    Partitioner,
    RoundRobinPartitioner,
    UniformStickyPartitioner,
    make_partitioner,
)


def a_topic(*leaders: int) -> TopicMetadata:
    partitions = {
        number: PartitionMetadata(number, leader, 0, (1,), (1,), (), 0)
        for number, leader in enumerate(leaders)
    }
    return TopicMetadata("t", 0, bytes(16), False, partitions)


def test_round_robin_gives_each_partition_a_hundred_of_three_hundred() -> None:
    """M43: 300 null-key messages over 3 partitions = 100 each."""
    partitioner, topic = RoundRobinPartitioner(), a_topic(1, 2, 3)
    chosen = [partitioner.partition(topic, None, b"v") for _ in range(300)]
    assert chosen[:6] == [0, 1, 2, 0, 1, 2]
    assert Counter(chosen) == {0: 100, 1: 100, 2: 100}


def test_round_robin_passes_over_partitions_without_leader() -> None:
    partitioner, topic = RoundRobinPartitioner(), a_topic(1, -1, 3)
    assert [partitioner.partition(topic, None, None) for _ in range(4)] == [0, 2, 0, 2]


def test_round_robin_is_not_disturbed_by_new_batches() -> None:
    partitioner, topic = RoundRobinPartitioner(), a_topic(1, 1)
    first = partitioner.partition(topic, None, None)
    assert partitioner.on_new_batch(topic, None, first) == first
    assert partitioner.partition(topic, None, None) != first


def test_default_keeps_to_one_partition_until_a_new_batch_begins() -> None:
    """M43: null keys, 2.8's sticky default."""
    partitioner, topic = DefaultPartitioner(Random(1)), a_topic(1, 1, 1)
    first = partitioner.partition(topic, None, b"v")
    assert {partitioner.partition(topic, None, b"v") for _ in range(20)} == {first}
    second = partitioner.on_new_batch(topic, None, first)
    assert second != first
    assert partitioner.partition(topic, None, b"v") == second


def test_default_sends_a_key_always_to_the_partition_of_its_hash() -> None:
    """M44: key given → hash → always the same partition."""
    partitioner, topic = DefaultPartitioner(Random(1)), a_topic(1, -1, 1)
    for number in range(50):
        key = b"truck-%d" % number
        expected = partition_for_key(key, 3)
        assert partitioner.partition(topic, key, b"v") == expected
        assert partitioner.on_new_batch(topic, key, expected) == expected


def test_uniform_sticky_ignores_keys() -> None:
    partitioner, topic = UniformStickyPartitioner(Random(2)), a_topic(1, 1, 1)
    first = partitioner.partition(topic, b"a", None)
    assert partitioner.partition(topic, b"b", None) == first
    assert partitioner.on_new_batch(topic, b"b", first) != first


def test_key_hash_else_round_robin_is_the_old_default() -> None:
    partitioner, topic = KeyHashElseRoundRobin(), a_topic(1, 1, 1)
    assert [partitioner.partition(topic, None, None) for _ in range(3)] == [0, 1, 2]
    assert partitioner.partition(topic, b"123", None) == 2


def test_callable_is_a_partitioner() -> None:
    """M45: custom partitioner as a callable; sends 123 to partition 0 and 234 to partition 1."""

    def choose(key: bytes | None, partitions: Sequence[int], available: Sequence[int]) -> int:
        return {b"123": 0, b"234": 1}.get(key or b"", partitions[-1])

    partitioner, topic = make_partitioner(choose), a_topic(1, 1, 1)
    chosen = [partitioner.partition(topic, key, None) for key in (b"123", b"234", None)]
    assert chosen == [0, 1, 2]


def test_class_is_a_partitioner() -> None:
    """M45: custom partitioner as a class."""

    class Last:
        def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
            return max(topic.partitions)

        def on_new_batch(self, topic: TopicMetadata, key: bytes | None, previous: int) -> int:
            return previous

    assert make_partitioner(Last).partition(a_topic(1, 1), b"k", None) == 1


def test_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="round_robin"):
        make_partitioner("randomly")
    java = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    assert isinstance(make_partitioner(java), RoundRobinPartitioner)


def test_subclass_needs_no_more_than_a_choice() -> None:
    class First(Partitioner):
        def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
            return 0

    assert make_partitioner(First).on_new_batch(a_topic(1, 2, 3), None, 0) == 0


def test_class_without_a_say_in_batches_is_a_partitioner() -> None:
    class Last:
        def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
            return max(topic.partitions)

    made = make_partitioner(Last)
    assert made.partition(a_topic(1, 2, 3), None, None) == 2
    assert made.on_new_batch(a_topic(1, 2, 3), None, 2) == 2


def test_what_cannot_choose_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be called"):
        make_partitioner(5)
