"""The controller moves to another broker; one that does not know it yet is fenced."""

from typing import Any

import pytest

from kafkalike.controller.events import ElectionType
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ControllerMovedError, ErrorCode, NotControllerError
from kafkalike.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrRequestTopicData,
)
from tests.support.controller_cluster import ControllerCluster
from tests.support.log_observer import FailureObserver
from tests.support.run import result_of, run, start

T0 = TopicPartition("t", 0)


def a_cluster() -> ControllerCluster:
    """Broker 1 is the controller and leads `t-0`."""
    cluster = ControllerCluster()
    cluster.start_brokers(1, 2, 3)
    cluster.create_topic("t", {0: (1, 2, 3)})
    return cluster


def test_another_broker_takes_office_when_the_controller_dies() -> None:
    """M39, M40, M68: elected by ZooKeeper, epoch +1; leaders of the dead broker move."""
    cluster = a_cluster()
    cluster.kill_broker(1)
    assert cluster.controller is cluster.members[2].controller
    assert cluster.controller.epoch == 2
    assert cluster.state("t", 0).leader == 2
    assert cluster.state("t", 0).isr == (2, 3)
    assert cluster.brokers[3].controller_epoch == 2
    assert cluster.brokers[3].partitions[T0].leader == 2


def test_brokers_that_are_not_elected_know_who_is() -> None:
    cluster = a_cluster()
    assert [m.controller.is_active for m in cluster.members.values()] == [True, False, False]
    assert [m.controller.active_controller_id for m in cluster.members.values()] == [1, 1, 1]
    cluster.kill_broker(1)
    assert [m.controller.active_controller_id for m in cluster.members.values()] == [2, 2]


def test_returning_broker_is_an_ordinary_one() -> None:
    cluster = a_cluster()
    cluster.kill_broker(1)
    cluster.start_broker(1)
    assert not cluster.members[1].controller.is_active
    assert cluster.controller is cluster.members[2].controller
    assert cluster.brokers[1].partitions[T0].leader == 2


def test_new_controller_sees_what_happened_while_there_was_none() -> None:
    cluster = a_cluster()
    for member in cluster.members.values():
        member.controller.shutdown()
    admin = cluster.members[3].zk
    cluster.create_topic("new", {0: (3, 2)})
    run(admin.create_delete_topic_path("t"))
    cluster.kill_broker(1)
    cluster.kill_broker(2)
    member = cluster.start_broker(4)
    assert member.controller.is_active
    assert cluster.state("new", 0).leader == 3
    assert member.controller.context.topics_ineligible_for_deletion == {"t"}
    cluster.start_brokers(1, 2)
    assert not cluster.has_path("/brokers/topics/t")


def test_expired_session_ends_the_office_at_once_and_the_broker_registers_anew() -> None:
    """It registers again in a later epoch, and obeys."""
    cluster = a_cluster()
    member = cluster.members[1]
    before = member.broker.epoch
    member.session.expire(is_followed=False)
    assert not member.controller.is_active
    assert member.controller.epoch == 0
    assert cluster.controller is cluster.members[2].controller
    assert cluster.state("t", 0).leader == 2
    member.session.resume()
    assert member.broker.epoch > before
    assert not member.controller.is_active
    assert set(cluster.controller.context.live_broker_ids) == {1, 2, 3}
    assert cluster.brokers[1].partitions[T0].leader == 2


def test_stale_controller_is_fenced_by_the_epoch() -> None:
    """M68: one that missed its successor's election writes nothing, and steps down."""
    cluster = a_cluster()
    stale = cluster.members[1].controller
    # Another broker takes the office while the first one hears of nothing.
    for path in ("/controller", "/brokers/topics", "/brokers/ids"):
        cluster.members[1].session.unregister_znode_change_handler(path)
        cluster.members[1].session.unregister_znode_child_change_handler(path)
    run(cluster.members[3].zk.delete_path("/controller", recursive=False))
    assert cluster.members[2].controller.is_active
    assert stale.is_active
    before = cluster.state("t", 0)
    answer = run(
        stale.alter_isr(
            _alter_isr(1, cluster.brokers[1].epoch, before.leader_epoch, [1], before.zk_version)
        )
    )
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    assert cluster.state("t", 0) == before
    assert not stale.is_active
    assert stale.epoch == 0


def test_requests_of_a_stale_controller_are_refused_by_brokers() -> None:
    cluster = a_cluster()
    cluster.kill_broker(1)
    told = cluster.brokers[3].partitions[T0]
    cluster.brokers[3].controller_epoch = 99
    cluster.create_topic("refused", {0: (3,)})
    assert TopicPartition("refused", 0) not in cluster.brokers[3].partitions
    assert cluster.brokers[3].partitions[T0] == told


def test_office_is_given_back_when_taking_it_fails(logged_failures: FailureObserver) -> None:
    cluster = ControllerCluster()
    cluster.start_broker(1)
    run(cluster.zookeeper.connected_client().create("/brokers/topics/broken", b"no json"))
    logged_failures.assert_none()
    cluster.start_broker(2)
    cluster.kill_broker(1)
    assert not cluster.members[2].controller.is_active
    assert not cluster.has_path("/controller")
    (text,) = logged_failures.expect()
    assert "/brokers/topics/broken" in text
    run(cluster.zk.delete_path("/brokers/topics/broken"))
    cluster.clock.advance(1)
    assert cluster.members[2].controller.is_active


def _alter_isr(
    broker_id: int, broker_epoch: int, leader_epoch: int, isr: list[int], version: int
) -> AlterIsrRequest:
    partition = AlterIsrRequestPartitionData(
        partition_index=0, leader_epoch=leader_epoch, new_isr=isr, current_isr_version=version
    )
    topic = AlterIsrRequestTopicData(name="t", partitions=[partition])
    return AlterIsrRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=[topic])


def test_whoever_asks_a_broker_that_is_no_controller_is_told_so() -> None:
    cluster = a_cluster()
    other = cluster.members[2].controller
    assert isinstance(
        run(other.elect_leaders([T0], ElectionType.PREFERRED))[T0], NotControllerError
    )
    with pytest.raises(NotControllerError):
        run(other.list_partition_reassignments())
    with pytest.raises(NotControllerError):
        run(other.alter_partition_reassignments({T0: (1,)}))
    with pytest.raises(ControllerMovedError):
        run(other.controlled_shutdown(2, cluster.brokers[2].epoch))
    answer = run(other.alter_isr(AlterIsrRequest(broker_id=2)))
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("how", ["expire", "shutdown"])
def test_whoever_waits_is_answered_when_the_office_ends(how: str) -> None:
    cluster = a_cluster()
    member = cluster.members[1]
    cluster.zookeeper.is_delayed = True
    first = start(member.controller.elect_leaders([T0], ElectionType.UNCLEAN))
    running = start(member.controller.controlled_shutdown(2, cluster.brokers[2].epoch))
    waiting = start(member.controller.list_partition_reassignments())
    assert first.called
    assert not running.called
    assert not waiting.called
    if how == "expire":
        member.session.expire(is_followed=False)
        assert waiting.called
        member.session.resume()
    else:
        member.controller.shutdown()
    cluster.zookeeper.pump()
    with pytest.raises(NotControllerError):
        result_of(waiting)
    outcome: list[Any] = []
    running.addBoth(outcome.append)
    assert outcome, "the one in hand is answered too"


def test_caller_that_gives_up_disturbs_nobody() -> None:
    cluster = a_cluster()
    cluster.zookeeper.is_delayed = True
    asked = start(cluster.controller.controlled_shutdown(2, cluster.brokers[2].epoch))
    asked.addErrback(lambda _: None)
    asked.cancel()
    cluster.zookeeper.pump()
    assert cluster.state("t", 0).isr == (1, 3)


def test_controller_that_is_shut_down_reacts_to_nothing() -> None:
    cluster = ControllerCluster()
    member = cluster.start_broker(1)
    member.controller.shutdown()
    writes = len(cluster.zookeeper.writes)
    run(member.zk.create_topic_assignment("t", None, {T0: (1,)}))
    cluster.clock.advance(1000)
    assert len(cluster.zookeeper.writes) == writes + 1
    with pytest.raises(NotControllerError):
        run(member.controller.list_partition_reassignments())


def test_controller_that_lost_its_epoch_only_gives_the_office_back() -> None:
    """`/controller` still names it, but its writes are fenced."""
    cluster = a_cluster()
    run(cluster.zookeeper.connected_client().set("/controller_epoch", b"7"))
    cluster.create_topic("new", {0: (2,)})
    assert cluster.controller.epoch == 8
    assert cluster.state("new", 0).leader == 2


@pytest.mark.parametrize("hops", range(40))
@pytest.mark.parametrize("is_answer_lost", [True, False])
def test_session_lost_at_any_moment_of_taking_office_leaves_no_sleeping_controller(
    hops: int, is_answer_lost: bool
) -> None:
    """A request may be sent again in the session that follows the one it was meant for."""
    cluster = ControllerCluster()
    member = cluster.start_broker(1)
    cluster.create_topic("t", {0: (1,)})
    cluster.zookeeper.is_delayed = True
    member.session.expire()
    cluster.zookeeper.pump(hops)
    if is_answer_lost:
        member.session.lose_next_answer()
    cluster.zookeeper.pump(1)
    member.session.expire()
    cluster.zookeeper.pump(200)
    member.session.resume()
    cluster.zookeeper.pump(1500)
    assert member.controller.is_active
    assert member.controller.epoch == int(cluster.zookeeper.data("/controller_epoch") or b"")
    assert member.controller.context.broker_epochs == {1: member.broker.epoch}
    assert cluster.state("t", 0).leader == 1
