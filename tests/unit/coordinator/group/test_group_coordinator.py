"""What the coordinator shows, and what happens when partitions come to this broker and go."""

from typing import Any

from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.group.group_coordinator import GroupCoordinator
from kafkalike.coordinator.group.results import GroupSummary
from kafkalike.coordinator.group.syncing import SyncGroup
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaStorageError
from kafkalike.utils.time import Time
from tests.support.group_world import (
    PROPERTIES,
    SESSION_MS,
    SUBSCRIPTION,
    FakeReplicas,
    GroupWorld,
    error_of,
)
from tests.support.log_builder import run_at_once
from tests.support.log_observer import FailureObserver
from tests.support.run import result_of, run

OTHER_GROUP = "other"


# --- describe and list


def test_stable_group_is_described_with_members_and_assignments() -> None:
    world = GroupWorld()
    (member,) = world.stable_group(client_id="app")
    code, summary = world.coordinator.describe_group("g")
    assert code is ErrorCode.NONE
    assert (summary.state, summary.protocol_type, summary.protocol) == (
        "Stable",
        "consumer",
        "range",
    )
    (one,) = summary.members
    assert (one.member_id, one.client_id, one.client_host) == (
        member.member_id,
        "app",
        "/127.0.0.1",
    )
    assert (one.metadata, one.assignment) == (SUBSCRIPTION, member.member_id.encode())


def test_group_that_is_not_there_is_dead() -> None:
    assert GroupWorld().coordinator.describe_group("g") == (
        ErrorCode.NONE,
        GroupSummary(group_id="g", state="Dead"),
    )


def test_groups_are_listed_by_state() -> None:
    world = GroupWorld()
    world.stable_group("s")
    world.commit(1, group_id="e")
    all_groups = world.coordinator.list_groups([])[1]
    assert {(one.group_id, one.state, one.protocol_type) for one in all_groups} == {
        ("s", "Stable", "consumer"),
        ("e", "Empty", ""),
    }
    only_empty = world.coordinator.list_groups(["Empty", "Dead"])[1]
    assert [one.group_id for one in only_empty] == ["e"]


# --- other coordinators


def test_broker_that_does_not_lead_the_partition_sends_everybody_away() -> None:
    world = GroupWorld(is_elected=False)
    away = ErrorCode.NOT_COORDINATOR
    assert error_of(world.join()) is away
    assert error_of(world.sync("m", 1)) is away
    assert world.heartbeat("m", 1) is away
    assert world.leave("m") is away
    assert world.commit(1) is away
    assert world.committed() is away
    assert world.coordinator.describe_group("g")[0] is away
    assert run(world.coordinator.delete_groups(["g"])) == {"g": away}
    assert run(world.coordinator.delete_offsets("g", [])) == (away, {})
    assert world.coordinator.list_groups([]) == (ErrorCode.NONE, [])


def test_coordinator_that_was_shut_down_is_not_available() -> None:
    world = GroupWorld()
    world.stable_group()
    joining = world.join()
    world.coordinator.shutdown()
    gone = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.heartbeat("m", 1) is gone
    assert error_of(world.join()) is gone
    assert world.coordinator.list_groups([]) == (gone, [])
    assert not joining.called
    assert world.clock.getDelayedCalls() == []


# --- loading


def loading_world(records: int = 1000) -> GroupWorld:
    """Have a coordinator that loads a partition which takes several turns of the reactor."""
    before = GroupWorld()
    for number in range(records):
        before.commit(number)
    world = GroupWorld(replicas=before.replicas, is_elected=False)
    world.coordinator.on_election(world.coordinator.partition_for("g"), 1)
    return world


def test_requests_during_loading_are_put_off() -> None:
    world = loading_world()
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.coordinator.store.loading_partitions
    assert world.coordinator.heartbeat("g", "m", 1, None) is ErrorCode.NONE
    assert world.committed() is loading
    assert world.commit(1) is loading
    assert world.coordinator.list_groups([])[0] is loading
    assert world.coordinator.describe_group("g")[0] is loading
    assert world.coordinator.leave_group("g", [("m", None)]) == (loading, [])
    assert run(world.coordinator.delete_groups(["g"])) == {"g": loading}


def test_rebalance_during_loading_begins_anew_at_join() -> None:
    world = loading_world()
    sync = SyncGroup(group_id="g", generation_id=1, member_id="m")
    assert run(world.coordinator.sync_group(sync)).error_code is ErrorCode.REBALANCE_IN_PROGRESS


def test_everything_is_there_after_loading() -> None:
    world = loading_world()
    world.advance_ms(2000)
    assert world.committed() == 999
    assert world.coordinator.list_groups([])[0] is ErrorCode.NONE


class CountingClock(Clock):
    """Counts the turns that somebody has asked for."""

    turns = 0

    def callLater(self, delay: float, *args: Any, **kwargs: Any) -> Any:
        self.turns += delay == 0
        return super().callLater(delay, *args, **kwargs)


def test_loading_lets_others_have_a_turn() -> None:
    before = GroupWorld()
    for number in range(1000):
        before.commit(number)
    clock = CountingClock()
    config = BrokerConfig.from_properties(PROPERTIES)
    after = GroupCoordinator(
        config, before.replicas, Time(clock), run_at_once, str, partition_count=4
    )
    after.on_election(after.partition_for("g"), 1)
    clock.advance(0)
    assert not after.store.loading_partitions
    assert clock.turns == 11


def test_small_load_buffer_is_read_chunk_by_chunk() -> None:
    before = GroupWorld()
    for number in range(50):
        before.commit(number)
    after = GroupWorld({"offsets.load.buffer.size": "100"}, replicas=before.replicas)
    assert after.committed() == 49


def test_group_goes_on_with_another_coordinator() -> None:
    """M61: the group continues where it left off."""
    before = GroupWorld()
    first, second = before.stable_group(members=2)
    before.commit(11, first.member_id, 1)
    after = GroupWorld(replicas=before.replicas)
    assert after.state() == "Stable"
    assert after.heartbeat(first.member_id, 1) is ErrorCode.NONE
    assert result_of(after.sync(second.member_id, 1)).assignment == second.member_id.encode()
    assert after.commit(12, first.member_id, 1) is ErrorCode.NONE
    assert after.committed() == 12
    after.advance_ms(SESSION_MS)
    assert after.state() == "Empty"


def test_group_that_was_rebalancing_is_as_before_the_rebalance() -> None:
    before = GroupWorld()
    (member,) = before.stable_group()
    before.join()
    after = GroupWorld(replicas=before.replicas)
    assert after.state() == "Stable"
    assert after.heartbeat(member.member_id, 1) is ErrorCode.NONE


def test_partition_without_log_counts_as_loaded() -> None:
    replicas = FakeReplicas(4)
    replicas.logs.clear()
    world = GroupWorld(replicas=replicas)
    assert world.coordinator.store.owned_partitions == {0, 1, 2, 3}


def test_partition_that_cannot_be_read_does_not_keep_others_from_loading(
    logged_failures: FailureObserver,
) -> None:
    before = GroupWorld()
    before.commit(1)
    partition = before.coordinator.partition_for("g")
    broken = before.replicas.logs[TopicPartition("__consumer_offsets", partition)]

    def fail(*_: object, **__: object) -> None:
        raise KafkaStorageError("the disk is gone")

    broken.read = fail  # type: ignore[assignment, method-assign]
    world = GroupWorld(replicas=before.replicas)
    assert world.coordinator.store.owned_partitions == {0, 1, 2, 3}
    (logged,) = logged_failures.expect()
    assert "the disk is gone" in logged


# --- coming and going


def test_who_waits_is_sent_to_the_new_coordinator() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    joining = world.join()
    other_leader, follower = world.joined(
        world.join(group_id=OTHER_GROUP), world.join(group_id=OTHER_GROUP)
    )
    syncing = world.sync(follower.member_id, 1, group_id=OTHER_GROUP)
    for group in ("g", OTHER_GROUP):
        world.coordinator.on_resignation(world.coordinator.partition_for(group), 1)
    world.advance_ms(0)
    moved = ErrorCode.NOT_COORDINATOR
    assert (error_of(joining), error_of(syncing)) == (moved, moved)
    assert world.heartbeat(member.member_id, 1) is moved
    assert other_leader.generation_id == 1
    assert world.clock.getDelayedCalls() == []


def test_commit_on_its_way_when_the_partition_moves_does_not_come_back_to_life() -> None:
    world = GroupWorld()
    world.replicas.is_holding = True
    committing = world.begin_commit(5)
    partition = world.coordinator.partition_for("g")
    world.coordinator.on_resignation(partition, 1)
    world.replicas.release()
    assert result_of(committing) == {TopicPartition("orders", 0): ErrorCode.NONE}
    assert world.coordinator.store.get("g") is None
    world.coordinator.on_election(partition, 2)
    world.advance_ms(0)
    assert world.committed() == 5


def test_loading_is_given_up_when_the_partition_moves_on() -> None:
    world = loading_world()
    partition = world.coordinator.partition_for("g")
    world.clock.advance(0)
    world.coordinator.on_resignation(partition, 2)
    assert not world.coordinator.store.loading_partitions
    world.advance_ms(2000)
    assert world.committed() is ErrorCode.NOT_COORDINATOR
    assert world.coordinator.store.groups == {}


def test_partition_that_comes_back_while_its_old_load_runs_is_loaded_anew() -> None:
    world = loading_world()
    partition = world.coordinator.partition_for("g")
    world.clock.advance(0)
    world.coordinator.on_resignation(partition, 2)
    world.coordinator.on_election(partition, 3)
    assert world.committed() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.advance_ms(2000)
    assert world.committed() == 999


def test_news_of_an_older_epoch_is_ignored() -> None:
    world = GroupWorld()
    world.commit(5)
    partition = world.coordinator.partition_for("g")
    world.coordinator.on_election(partition, 7)
    world.coordinator.on_resignation(partition, 6)
    assert world.committed() == 5
    world.coordinator.on_resignation(partition, 8)
    world.coordinator.on_election(partition, 7)
    world.advance_ms(0)
    assert world.committed() is ErrorCode.NOT_COORDINATOR


def test_leader_that_stays_leader_keeps_its_groups() -> None:
    world = GroupWorld()
    (member,) = world.stable_group()
    world.coordinator.on_election(world.coordinator.partition_for("g"), 1)
    assert world.heartbeat(member.member_id, 1) is ErrorCode.NONE


def test_deleted_partition_has_no_epoch() -> None:
    world = GroupWorld()
    world.commit(5)
    world.coordinator.on_resignation(world.coordinator.partition_for("g"), None)
    assert world.committed() is ErrorCode.NOT_COORDINATOR


def test_groups_of_other_partitions_stay() -> None:
    world = GroupWorld()
    world.commit(5, group_id="a")
    world.commit(6, group_id="b")
    world.coordinator.on_resignation(world.coordinator.partition_for("a"), 1)
    assert world.committed("a") is ErrorCode.NOT_COORDINATOR
    assert world.committed("b") == 6


# --- many


def test_thousand_members_form_a_group_and_each_has_one_timer() -> None:
    world = GroupWorld({"group.initial.rebalance.delay.ms": "0"})
    answers = world.stable_group(members=1)
    joining = [world.join() for _ in range(999)]
    rejoined = result_of(world.join(answers[0].member_id))
    assert len(rejoined.members) == 1000
    assert all(one.called for one in joining)
    for _ in range(3):
        for member_id in world.group().members:
            assert world.heartbeat(member_id, 2) is ErrorCode.NONE
    # One for each session, one for those who have not synced yet.
    assert len(world.clock.getDelayedCalls()) == 1001
