"""A broker that goes in an orderly way hands its leaderships over first."""

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import BrokerNotAvailableError, StaleBrokerEpochError
from kafkalike.protocol.messages.stop_replica import StopReplicaRequest
from tests.support.controller_cluster import ControllerCluster, sent_to
from tests.support.run import run

T0, U0, ALONE0 = (TopicPartition(topic, 0) for topic in ("t", "u", "alone"))


def a_cluster() -> ControllerCluster:
    """Broker 2 leads `t-0`, follows `u-0`, and has `alone-0` for itself."""
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: (2, 3)})
    cluster.create_topic("u", {0: (3, 2)})
    cluster.create_topic("alone", {0: (2,)})
    return cluster


def shut_down(cluster: ControllerCluster, broker_id: int = 2) -> list[TopicPartition]:
    epoch = cluster.brokers[broker_id].epoch
    return run(cluster.controller.controlled_shutdown(broker_id, epoch))


def test_leaderships_move_before_the_broker_goes() -> None:
    """M40: on its shutdown other replicas become leaders."""
    cluster = a_cluster()
    assert shut_down(cluster) == []
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (3, (3,))
    assert (cluster.state("u", 0).leader, cluster.state("u", 0).isr) == (3, (3,))
    assert cluster.state("alone", 0).leader == 2
    assert cluster.brokers[2].partitions[T0].leader == 3


def test_followers_are_told_to_stop_fetching() -> None:
    cluster = a_cluster()
    cluster.take_sent()
    shut_down(cluster)
    stopped = {
        TopicPartition(topic.topic_name, state.partition_index): state
        for request in sent_to(cluster.take_sent(), 2, StopReplicaRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    }
    assert list(stopped) == [U0]
    assert not stopped[U0].delete_partition


def test_partition_that_nobody_else_can_lead_is_named() -> None:
    cluster = a_cluster()
    cluster.kill_broker(3)
    assert set(shut_down(cluster)) == {T0, U0}
    assert cluster.state("t", 0).leader == 2


def test_broker_that_comes_back_may_lead_again() -> None:
    cluster = a_cluster()
    shut_down(cluster)
    assert 2 not in cluster.controller.context.live_broker_ids
    cluster.kill_broker(2)
    cluster.start_broker(2)
    assert 2 in cluster.controller.context.live_broker_ids
    assert cluster.state("alone", 0).leader == 2
    assert cluster.brokers[2].partitions[T0].leader == 3


def test_controller_can_shut_itself_down() -> None:
    cluster = a_cluster()
    cluster.create_topic("mine", {0: (1, 3)})
    assert shut_down(cluster, 1) == []
    assert cluster.state("mine", 0).leader == 3
    cluster.kill_broker(1)
    assert cluster.controller.epoch == 2
    assert cluster.state("mine", 0).leader == 3


def test_request_of_a_former_run_is_refused() -> None:
    cluster = a_cluster()
    with pytest.raises(StaleBrokerEpochError, match="broker 2"):
        run(cluster.controller.controlled_shutdown(2, cluster.brokers[2].epoch - 1))
    assert cluster.state("t", 0).leader == 2
    with pytest.raises(BrokerNotAvailableError, match="9"):
        run(cluster.controller.controlled_shutdown(9, 1))


def test_brokers_before_kip_380_have_no_epoch_to_check() -> None:
    cluster = a_cluster()
    assert run(cluster.controller.controlled_shutdown(2, -1)) == []
