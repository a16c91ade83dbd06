"""Brokers die, return, bounce and lose directories: leaders move, ISRs and epochs follow."""

from kafkalike.controller.states import PartitionState
from kafkalike.model.leader_and_isr import NO_LEADER
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkalike.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.support.controller_cluster import ControllerCluster, sent_to
from tests.support.run import run

T0 = TopicPartition("t", 0)


def a_cluster(*replicas: int, brokers: tuple[int, ...] = (1, 2, 3)) -> ControllerCluster:
    """Broker 1 is the controller; `t-0` has these replicas."""
    cluster = ControllerCluster()
    cluster.start_brokers(*brokers)
    cluster.create_topic("t", {0: replicas})
    return cluster


def test_leader_moves_to_a_replica_in_sync_when_its_broker_dies() -> None:
    """M39, M40, M69, M71: another leads, in a new epoch; the others are told who is gone."""
    cluster = a_cluster(2, 3, 1)
    cluster.kill_broker(2)
    state = cluster.state("t", 0)
    assert (state.leader, state.isr) == (3, (3, 1))
    assert state.leader_epoch == 1
    assert cluster.brokers[1].partitions[T0].leader == 3
    assert cluster.brokers[1].metadata[T0].leader == 3
    assert list(cluster.brokers[1].metadata[T0].offline_replicas) == [2]
    assert cluster.brokers[1].live_brokers == {1, 3}


def test_dead_follower_leaves_the_isr_and_the_leader_hears_of_it() -> None:
    cluster = a_cluster(1, 2, 3)
    cluster.take_sent()
    cluster.kill_broker(3)
    assert cluster.state("t", 0).isr == (1, 2)
    told = sent_to(cluster.take_sent(), 1, LeaderAndIsrRequest)
    assert list(told[-1].topic_states[0].partition_states[0].isr) == [1, 2]


def test_broker_that_returns_is_told_of_everything() -> None:
    """It follows again; it is no leader by itself."""
    cluster = a_cluster(2, 3)
    cluster.kill_broker(2)
    epoch_before = cluster.brokers[2].epoch
    cluster.brokers[2].partitions.clear()
    cluster.brokers[2].metadata.clear()
    cluster.start_broker(2)
    assert cluster.brokers[2].epoch > epoch_before
    assert cluster.brokers[2].partitions[T0].leader == 3
    assert cluster.brokers[2].metadata[T0].leader == 3
    assert cluster.brokers[2].live_brokers == {1, 2, 3}
    assert cluster.brokers[1].live_brokers == {1, 2, 3}
    assert cluster.state("t", 0).isr == (3,)  # the leader takes it in once it has caught up


def test_last_replica_in_sync_stays_in_the_isr_and_leads_again() -> None:
    cluster = a_cluster(2, 3)
    cluster.kill_broker(3)
    cluster.kill_broker(2)
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (NO_LEADER, (2,))
    assert cluster.controller.context.partition_state(T0) is PartitionState.OFFLINE
    cluster.start_broker(3)
    assert cluster.state("t", 0).leader == NO_LEADER  # 3 is not in sync: it would lose records
    cluster.start_broker(2)
    assert cluster.state("t", 0).leader == 2
    assert cluster.controller.context.partition_state(T0) is PartitionState.ONLINE


def test_unclean_election_where_the_topic_allows_it() -> None:
    cluster = a_cluster(2, 3)
    cluster.kill_broker(3)
    cluster.kill_broker(2)
    cluster.start_broker(3)
    cluster.set_topic_config("t", unclean_leader_election_enable="true")
    cluster.controller.enable_topic_unclean_leader_election("other")
    assert cluster.state("t", 0).leader == NO_LEADER
    cluster.controller.enable_topic_unclean_leader_election("t")
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (3, (3,))
    assert cluster.controller.context.unclean_leader_elections == 1


def test_unclean_election_where_the_broker_allows_it_by_default() -> None:
    cluster = a_cluster(2, 3)
    cluster.kill_broker(3)
    cluster.kill_broker(2)
    cluster.start_broker(3)
    cluster.set_config({"unclean.leader.election.enable": "true"})
    cluster.controller.enable_default_unclean_leader_election()
    assert cluster.state("t", 0).leader == 3


def test_topic_that_forbids_unclean_elections_overrules_the_broker() -> None:
    cluster = a_cluster(2, 3)
    cluster.set_topic_config("t", unclean_leader_election_enable="false")
    cluster.set_config({"unclean.leader.election.enable": "true"})
    cluster.kill_broker(3)
    cluster.kill_broker(2)
    cluster.start_broker(3)
    assert cluster.state("t", 0).leader == NO_LEADER


def test_bounced_broker_is_taken_for_dead_and_new() -> None:
    """A broker that re-registers before the controller looked has another epoch."""
    cluster = a_cluster(2, 3)
    member = cluster.members[2]
    epoch_before = member.broker.epoch
    cluster.members[1].session.suspend()  # the controller sees only the outcome
    member.session.expire()
    cluster.members[1].session.resume()
    assert member.broker.epoch > epoch_before
    assert cluster.controller.context.broker_epoch(2) == member.broker.epoch
    assert cluster.state("t", 0).leader == 3
    assert member.broker.partitions[T0].leader == 3


def test_requests_carry_the_epoch_of_the_broker_they_go_to() -> None:
    cluster = a_cluster(2, 3)
    cluster.kill_broker(2)
    cluster.start_broker(2)
    requests = sent_to(cluster.sent, 2, LeaderAndIsrRequest)
    assert requests[-1].broker_epoch == cluster.brokers[2].epoch
    assert all(r.controller_epoch == 1 and r.controller_id == 1 for r in requests)


def test_replica_whose_directory_failed_goes_offline() -> None:
    """It costs its partitions their leader, not the broker its life."""
    cluster = a_cluster(2, 3)
    cluster.brokers[2].storage_errors.add(T0)
    run(cluster.members[2].zk.propagate_log_dir_event(2))
    assert cluster.state("t", 0).leader == 3
    assert cluster.state("t", 0).isr == (3,)
    assert cluster.controller.context.live_broker_ids == [1, 2, 3]
    assert list(cluster.brokers[1].metadata[T0].offline_replicas) == [2]
    assert not [p for p in cluster.zookeeper.paths() if "/log_dir_event_" in p[5:]]


def test_broker_with_repaired_directory_is_online_again_after_its_restart() -> None:
    cluster = a_cluster(2, 3)
    cluster.brokers[2].storage_errors.add(T0)
    run(cluster.members[2].zk.propagate_log_dir_event(2))
    cluster.brokers[2].storage_errors.clear()
    cluster.kill_broker(2)
    cluster.start_broker(2)
    assert cluster.controller.context.is_replica_online(2, T0)
    assert cluster.brokers[2].partitions[T0].leader == 3


def test_death_of_a_broker_without_replicas_is_told_to_the_others() -> None:
    cluster = a_cluster(1, 2)
    cluster.take_sent()
    cluster.kill_broker(3)
    sent = cluster.take_sent()
    assert sent_to(sent, 1, UpdateMetadataRequest)
    assert not sent_to(sent, 1, LeaderAndIsrRequest)
    assert cluster.brokers[2].live_brokers == {1, 2}


def test_unreachable_broker_gets_its_requests_in_order_once_it_answers() -> None:
    """M71: a request is sent again until the broker answers or its registration is gone."""
    cluster = a_cluster(1, 2)
    cluster.brokers[2].is_reachable = False
    cluster.create_topic("later", {0: (2, 1)})
    assert TopicPartition("later", 0) not in cluster.brokers[2].partitions
    cluster.brokers[2].is_reachable = True
    cluster.clock.advance(0.1)
    assert cluster.brokers[2].partitions[TopicPartition("later", 0)].leader == 2
    assert cluster.brokers[2].metadata[TopicPartition("later", 0)].leader == 2


def test_what_waits_for_a_dead_broker_is_forgotten() -> None:
    cluster = a_cluster(1, 2)
    cluster.brokers[2].is_reachable = False
    cluster.create_topic("later", {0: (2, 1)})
    cluster.kill_broker(2)
    cluster.brokers[2].is_reachable = True
    cluster.take_sent()
    cluster.clock.advance(10)
    assert not [b for b, _ in cluster.take_sent() if b == 2]
