"""Which partition a record goes to, where the program does not say so itself.

2.8's default: the hash of the key; without a key, one partition until its batch is full and then
another ("sticky", KIP-480). A partitioner of one's own is any of: a subclass of `Partitioner`, a
callable `(key_bytes, all_partitions, available_partitions) -> partition` as kafka-python has it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from random import Random
from typing import Any, Protocol

from kafkalike.client.cluster_snapshot import TopicMetadata
from kafkalike.client.producer.murmur2 import partition_for_key


class Partitioner(Protocol):
    """Chooses partitions; one instance serves all topics of a producer, from any thread."""

    def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition for a record."""

    def on_new_batch(self, topic: TopicMetadata, key: bytes | None, previous: int) -> int:
        """Return where the record that begins a new batch goes, by choice so far to `previous`.

        Whoever derives from this class and does not care about batches keeps to the choice.
        """
        return previous


class DefaultPartitioner:
    """Keys by hash, records without key to one partition per batch."""

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()
        self._sticky: dict[str, int] = {}

    def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition for a record."""
        if key is not None:
            return partition_for_key(key, len(topic.partitions))
        found = self._sticky.get(topic.name)
        return self._next(topic, None) if found is None else found

    def on_new_batch(self, topic: TopicMetadata, key: bytes | None, previous: int) -> int:
        """Move on to another partition, if it is this one that records without key go to now."""
        if self._sticky.get(topic.name) == previous:
            self._next(topic, previous)
        return previous if key is not None else self._sticky[topic.name]

    def _next(self, topic: TopicMetadata, previous: int | None) -> int:
        choice = topic.available or list(topic.partitions)
        if len(choice) > 1 and previous in choice:
            choice = [partition for partition in choice if partition != previous]
        found = self._sticky[topic.name] = self._random.choice(choice)
        return found


class UniformStickyPartitioner(DefaultPartitioner):
    """Sticky for all records, whatever their keys."""

    def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition for a record."""
        return super().partition(topic, None, value)

    def on_new_batch(self, topic: TopicMetadata, key: bytes | None, previous: int) -> int:
        """Move on to another partition."""
        return super().on_new_batch(topic, None, previous)


class RoundRobinPartitioner:
    """All records in turn over the partitions, whatever their keys: 0, 1, 2, 0, 1, 2."""

    def __init__(self) -> None:
        self._counts: dict[str, Iterator[int]] = {}

    def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition for a record."""
        counter = self._counts.get(topic.name)
        if counter is None:
            counter = self._counts.setdefault(topic.name, count())
        choice = topic.available or list(topic.partitions)
        return choice[next(counter) % len(choice)]  # `next` is one step: threads do not collide

    def on_new_batch(self, topic: TopicMetadata, key: bytes | None, previous: int) -> int:
        """Keep to the choice: batches do not matter here (in Kafka they do, KAFKA-9965)."""
        return previous


class KeyHashElseRoundRobin(RoundRobinPartitioner):
    """Keys by hash, records without key in turn: what the default was before Kafka 2.4."""

    def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition for a record."""
        if key is not None:
            return partition_for_key(key, len(topic.partitions))
        return super().partition(topic, key, value)


class CallablePartitioner:
    """A function of the program: `(key, all_partitions, available_partitions) -> partition`."""

    def __init__(self, choose: Callable[[bytes | None, Sequence[int], Sequence[int]], int]) -> None:
        if not callable(choose):
            raise ValueError(f"partitioner {choose!r} has no `partition` and cannot be called")
        self._choose = choose

    def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition for a record."""
        return self._choose(key, list(topic.partitions), topic.available)

    def on_new_batch(self, topic: TopicMetadata, key: bytes | None, previous: int) -> int:
        """Keep to the choice: batches do not matter here (in Kafka they do, KAFKA-9965)."""
        return previous


class _WithoutBatches(Partitioner):
    """A class of the program that has `partition` only."""

    def __init__(self, choose: Callable[[TopicMetadata, bytes | None, bytes | None], int]) -> None:
        self._choose = choose

    def partition(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition for a record."""
        return self._choose(topic, key, value)


_BY_NAME: dict[str, Callable[[], Partitioner]] = {
    "default": DefaultPartitioner,
    "sticky": UniformStickyPartitioner,
    "round_robin": RoundRobinPartitioner,
    "roundrobin": RoundRobinPartitioner,
    "RoundRobinPartitioner": RoundRobinPartitioner,
    "UniformStickyPartitioner": UniformStickyPartitioner,
    "DefaultPartitioner": DefaultPartitioner,
}


def make_partitioner(given: Any) -> Partitioner:
    """Return the partitioner for a setting: a name, a class, an instance or a callable."""
    if given is None:
        return DefaultPartitioner()
    if isinstance(given, str):
        name = given.rpartition(".")[2]
        if name not in _BY_NAME:
            raise ValueError(f"partitioner {given!r} is none of {', '.join(_BY_NAME)}")
        return _BY_NAME[name]()
    if isinstance(given, type):
        given = given()
    if hasattr(given, "on_new_batch"):
        return given  # type: ignore[no-any-return]  # it has what the protocol asks for
    if hasattr(given, "partition"):
        return _WithoutBatches(given.partition)
    return CallablePartitioner(given)
