import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.quota.replication_quota import ReplicationQuota

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
BROKER = 1


@pytest.fixture
def quota() -> ReplicationQuota:
    return ReplicationQuota(11, 1, lambda: 100.0)


def test_without_throttled_replicas_nobody_waits(quota: ReplicationQuota) -> None:
    quota.record({A0: 10**9}, 0)
    assert not quota.is_in_use
    assert not quota.must_wait(A0, 0)


def test_only_the_replicas_of_this_broker_that_are_named_are_throttled(
    quota: ReplicationQuota,
) -> None:
    quota.update_topic("a", ["0:1", "1:2"], BROKER)
    assert quota.is_throttled(A0)
    assert not quota.is_throttled(A1)
    assert not quota.is_throttled(B0)


def test_a_star_means_every_replica(quota: ReplicationQuota) -> None:
    quota.update_topic("a", ["*"], BROKER)
    assert quota.is_throttled(A0)
    assert quota.is_throttled(A1)


def test_throttled_replica_waits_while_the_rate_is_exceeded(quota: ReplicationQuota) -> None:
    quota.update_topic("a", ["*"], BROKER)
    quota.record({A0: 1001, B0: 10**9}, 0)
    assert quota.must_wait(A0, 0)
    assert not quota.must_wait(B0, 0)
    assert not quota.must_wait(A0, 12_000)


def test_traffic_of_others_does_not_count(quota: ReplicationQuota) -> None:
    quota.update_topic("a", ["*"], BROKER)
    quota.record({B0: 10**9}, 0)
    assert not quota.must_wait(A0, 0)


def test_throttle_that_is_taken_away_holds_nobody_up(quota: ReplicationQuota) -> None:
    quota.update_topic("a", ["*"], BROKER)
    quota.record({A0: 10**6}, 0)
    quota.update_topic("a", [], BROKER)
    assert not quota.must_wait(A0, 0)
