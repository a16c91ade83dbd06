"""Elections on demand, by the znode of the old tools, and to keep leaders balanced."""

from kafkalike.controller.events import ElectionType
from kafkalike.model.leader_and_isr import NO_LEADER
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidTopicError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
)
from tests.support.controller_cluster import ControllerCluster
from tests.support.run import run
from tests.unit.controller.test_isr_changes import alter_isr

T0 = TopicPartition("t", 0)
PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN


def a_cluster(**properties: str) -> ControllerCluster:
    """Broker 1 is the controller; `t-0` prefers 3, is led by 2, and both are in sync."""
    cluster = ControllerCluster({k.replace("_", "."): v for k, v in properties.items()})
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: (3, 2)})
    cluster.kill_broker(3)
    cluster.start_broker(3)
    back_in_sync(cluster)
    return cluster


def back_in_sync(cluster: ControllerCluster) -> None:
    state = cluster.state("t", 0)
    assert (state.leader, state.isr) == (2, (2,))
    alter_isr(cluster, 2, 3, leader_epoch=state.leader_epoch, version=state.zk_version)
    assert cluster.state("t", 0).isr == (2, 3)


def elect(cluster: ControllerCluster, kind: ElectionType, tp: TopicPartition = T0) -> object:
    return run(cluster.controller.elect_leaders([tp], kind))[tp]


def test_preferred_replica_leads_again_on_demand() -> None:
    cluster = a_cluster()
    epoch = cluster.state("t", 0).leader_epoch
    assert elect(cluster, PREFERRED) == 3
    assert cluster.state("t", 0).leader == 3
    assert cluster.state("t", 0).leader_epoch == epoch + 1
    assert isinstance(elect(cluster, PREFERRED), ElectionNotNeededError)


def test_preferred_replica_that_is_away_is_not_elected() -> None:
    cluster = a_cluster()
    cluster.kill_broker(3)
    assert isinstance(elect(cluster, PREFERRED), PreferredLeaderNotAvailableError)
    assert cluster.state("t", 0).leader == 2


def test_unclean_election_on_demand_needs_no_config() -> None:
    cluster = a_cluster()
    assert isinstance(elect(cluster, UNCLEAN), ElectionNotNeededError)
    cluster.kill_broker(3)
    cluster.kill_broker(2)
    assert isinstance(elect(cluster, UNCLEAN), EligibleLeadersNotAvailableError)
    cluster.start_broker(3)
    assert cluster.state("t", 0).leader == NO_LEADER
    assert elect(cluster, UNCLEAN) == 3


def test_partition_that_is_not_there_or_going_is_refused() -> None:
    cluster = a_cluster()
    nowhere = TopicPartition("nowhere", 0)
    assert isinstance(elect(cluster, PREFERRED, nowhere), UnknownTopicOrPartitionError)
    cluster.brokers[2].is_answering = False
    cluster.delete_topic("t")
    assert isinstance(elect(cluster, PREFERRED), InvalidTopicError)


def test_znode_of_the_old_tools_works_again_and_again() -> None:
    cluster = a_cluster()
    for _ in range(2):
        run(cluster.zk.create_preferred_replica_election([T0, TopicPartition("nowhere", 0)]))
        assert cluster.state("t", 0).leader == 3
        assert not cluster.has_path("/admin/preferred_replica_election")
        cluster.kill_broker(3)
        cluster.start_broker(3)
        back_in_sync(cluster)


def test_election_asked_for_while_there_was_no_controller_is_held() -> None:
    cluster = a_cluster()
    for member in cluster.members.values():
        member.controller.shutdown()
    run(cluster.members[2].zk.create_preferred_replica_election([T0]))
    run(cluster.members[1].session.close())
    cluster.start_broker(4)
    assert cluster.state("t", 0).leader == 3
    assert not cluster.has_path("/admin/preferred_replica_election")


def test_leaders_are_balanced_five_seconds_after_the_election_and_then_regularly() -> None:
    cluster = a_cluster(leader_imbalance_check_interval_seconds="60")
    cluster.clock.advance(5)
    assert cluster.state("t", 0).leader == 3
    cluster.kill_broker(3)
    cluster.start_broker(3)
    back_in_sync(cluster)
    cluster.clock.advance(59)
    assert cluster.state("t", 0).leader == 2
    cluster.clock.advance(1)
    assert cluster.state("t", 0).leader == 3


def test_tolerated_imbalance_is_left_alone() -> None:
    cluster = a_cluster(leader_imbalance_per_broker_percentage="50")
    cluster.create_topic("other", {0: (3, 2)})
    cluster.clock.advance(5)
    assert cluster.state("t", 0).leader == 2


def test_balance_can_be_switched_off() -> None:
    cluster = a_cluster(auto_leader_rebalance_enable="false")
    cluster.clock.advance(1000)
    assert cluster.state("t", 0).leader == 2


def test_balance_waits_for_replicas_to_be_in_sync() -> None:
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: (3, 2)})
    cluster.kill_broker(3)
    cluster.start_broker(3)
    cluster.clock.advance(5)
    assert cluster.state("t", 0).leader == 2


def test_controller_that_resigned_balances_nothing() -> None:
    cluster = a_cluster()
    former = cluster.members[1]
    former.session.expire()
    assert not former.controller.is_active
    assert not [call for call in cluster.clock.getDelayedCalls() if call.getTime() < 5]
