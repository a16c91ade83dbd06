"""Kafka's names of replica selectors choose ours, which choose as Kafka's do (KIP-392)."""

from kafkalike.cluster.replica_selector import SELECTORS, ReplicaView

LEADER = ReplicaView(1, "a", 10, 0)
NEAR = ReplicaView(2, "b", 8, 100)
FAR = ReplicaView(3, "c", 10, 0)


def choose(selector: str, rack: str, *replicas: ReplicaView) -> int:
    select = SELECTORS[f"org.apache.kafka.common.replica.{selector}"]
    return select(rack, LEADER, [LEADER, *replicas]).broker_id


def test_rack_aware_selector_takes_a_replica_in_the_rack_of_the_client() -> None:
    assert choose("RackAwareReplicaSelector", "b", NEAR, FAR) == 2


def test_rack_aware_selector_takes_the_leader_if_it_is_there_or_nobody_is() -> None:
    assert choose("RackAwareReplicaSelector", "a", NEAR._replace(rack="a")) == 1
    assert choose("RackAwareReplicaSelector", "z", NEAR, FAR) == 1
    assert choose("RackAwareReplicaSelector", "", NEAR, FAR._replace(rack="")) == 1


def test_rack_aware_selector_takes_the_most_caught_up_of_a_rack() -> None:
    ahead = ReplicaView(4, "b", 9, 200)
    assert choose("RackAwareReplicaSelector", "b", NEAR, ahead) == 4
    sooner = ReplicaView(5, "b", 9, 50)
    assert choose("RackAwareReplicaSelector", "b", NEAR, ahead, sooner) == 5
    assert choose("RackAwareReplicaSelector", "b", sooner, sooner._replace(broker_id=6)) == 6


def test_leader_selector_takes_the_leader() -> None:
    assert choose("LeaderSelector", "b", NEAR, FAR) == 1
