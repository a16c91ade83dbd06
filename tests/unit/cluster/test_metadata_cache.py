import pytest

from kafkalike.cluster.metadata_cache import MetadataCache, MetadataSnapshot, PartitionMetadata
from kafkalike.model.broker import Broker, EndPoint, Node
from kafkalike.model.leader_and_isr import LEADER_DURING_DELETE
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import ZERO_UUID

ID_A, ID_B = b"a" * 16, b"b" * 16


def state(partition: int, leader: int = 1, epoch: int = 0) -> PartitionMetadata:
    return PartitionMetadata(
        partition=partition, leader=leader, leader_epoch=epoch, isr=(1,), replicas=(1, 2)
    )


def broker(id: int, listener: str = "PLAINTEXT") -> Broker:
    return Broker(id, (EndPoint(f"host{id}", 9092, listener, "PLAINTEXT"),))


@pytest.fixture
def cache() -> MetadataCache:
    cache = MetadataCache()
    cache.update(
        1, {1: broker(1)}, [("a", state(0)), ("a", state(1)), ("b", state(0))], {"a": ID_A}
    )
    return cache


def test_an_update_adds_to_what_is_known(cache: MetadataCache) -> None:
    cache.update(2, {1: broker(1), 2: broker(2)}, [("a", state(1, leader=2))], {"b": ID_B})
    snapshot = cache.snapshot
    assert snapshot.controller_id == 2
    assert set(snapshot.brokers) == {1, 2}
    assert snapshot.partition(TopicPartition("a", 0)) == state(0)
    assert snapshot.partition(TopicPartition("a", 1)) == state(1, leader=2)
    assert snapshot.partition(TopicPartition("a", 2)) is None
    assert snapshot.partition(TopicPartition("c", 0)) is None
    assert (snapshot.topic_id("a"), snapshot.topic_id("b")) == (ID_A, ID_B)
    assert snapshot.topic_id("c") == ZERO_UUID
    assert snapshot.topic_names == {ID_A: "a", ID_B: "b"}


def test_a_snapshot_in_hand_never_changes(cache: MetadataCache) -> None:
    before = cache.snapshot
    cache.update(2, {}, [("a", state(0, leader=2)), ("c", state(0))], {"c": b"c" * 16})
    assert cache.snapshot is not before
    assert before.partition(TopicPartition("a", 0)) == state(0)
    assert "c" not in before.topics
    assert set(before.brokers) == {1}
    assert before.topic_names == {ID_A: "a"}


def test_a_partition_that_is_being_deleted_is_forgotten(cache: MetadataCache) -> None:
    """M71: a deleted topic vanishes from what clients are told."""
    gone = [("a", state(0, leader=LEADER_DURING_DELETE))]
    assert cache.update(1, {}, gone, {}) == [TopicPartition("a", 0)]
    assert set(cache.snapshot.topics["a"]) == {1}
    gone = [("a", state(1, leader=LEADER_DURING_DELETE))]
    assert cache.update(1, {}, gone, {}) == [TopicPartition("a", 1)]
    assert "a" not in cache.snapshot.topics
    assert ID_A not in cache.snapshot.topic_names


def test_deleting_what_is_not_known_changes_nothing(cache: MetadataCache) -> None:
    gone = [("x", state(0, leader=LEADER_DURING_DELETE))]
    assert cache.update(1, {}, gone, {}) == []
    assert set(cache.snapshot.topics) == {"a", "b"}


def test_nodes_are_the_brokers_that_have_the_listener() -> None:
    snapshot = MetadataSnapshot(brokers={1: broker(1), 2: broker(2, "EXTERNAL")})
    assert snapshot.nodes("PLAINTEXT") == [Node(1, "host1", 9092, None)]
    assert snapshot.nodes("OTHER") == []
