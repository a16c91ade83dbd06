"""The values that everybody shares."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.model import topic, uuid
from kafkalike.model.broker import Broker, EndPoint, Node
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition

replicas = st.lists(st.integers(0, 9), min_size=1, unique=True).map(tuple)


def test_a_partition_prints_as_its_directory_is_named() -> None:
    """M2: `<topic>-<partition>`."""
    assert str(TopicPartition("orders", 3)) == "orders-3"
    assert sorted([TopicPartition("b", 0), TopicPartition("a", 9)])[0].topic == "a"


def test_end_points_print_as_in_the_listeners_key() -> None:
    assert EndPoint("host", 9092, "PLAINTEXT", "SSL").connection_string == "PLAINTEXT://host:9092"
    assert EndPoint("::1", 1, "A", "SSL").connection_string == "A://[::1]:1"


def test_a_broker_is_another_node_to_each_listener() -> None:
    end_points = (EndPoint("in", 1, "INTERNAL", "SSL"), EndPoint("out", 2, "EXTERNAL", "SSL"))
    broker = Broker(101, end_points, rack="r")
    assert broker.node("EXTERNAL") == Node(101, "out", 2, "r")
    assert broker.node("OTHER") is None


def test_a_change_of_leader_is_a_new_epoch() -> None:
    state = LeaderAndIsr(1, 5, (1, 2), 9)
    assert state.new_leader(2) == LeaderAndIsr(2, 6, (1, 2), 9)
    assert state.new_leader_and_isr(-1, (1,)) == LeaderAndIsr(-1, 6, (1,), 9)
    assert state.new_epoch() == LeaderAndIsr(1, 6, (1, 2), 9)
    assert state.with_zk_version(10) == LeaderAndIsr(1, 5, (1, 2), 10)


@given(replicas, replicas)
def test_a_reassignment_keeps_old_and_new_replicas_until_it_is_over(
    old: tuple[int, ...], new: tuple[int, ...]
) -> None:
    moving = ReplicaAssignment(old).reassign_to(new)
    assert moving.target_replicas == new
    assert set(moving.replicas) == {*old, *new}
    assert set(moving.origin_replicas) == set(old)
    assert set(moving.adding_replicas) == set(new) - set(old)
    assert set(moving.removing_replicas) == set(old) - set(new)
    assert moving.is_being_reassigned == (set(old) != set(new))


@given(replicas, replicas, replicas)
def test_a_redirected_reassignment_forgets_the_first_target(
    old: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    moving = ReplicaAssignment(old).reassign_to(first).reassign_to(second)
    assert moving.target_replicas == second
    assert set(moving.replicas) == {*old, *second}


@pytest.mark.parametrize("name", ["a", "a.b_c-D9", "x" * 249, "..."])
def test_legal_topic_names(name: str) -> None:
    assert topic.why_invalid(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "can't be empty"),
        (".", 'cannot be "." or ".."'),
        ("..", 'cannot be "." or ".."'),
        ("x" * 250, "can't be longer than 249 characters"),
        ("a b", "other than ASCII alphanumerics"),
        ("a/b", "other than ASCII alphanumerics"),
        ("\xe4", "other than ASCII alphanumerics"),
        ("a\n", "other than ASCII alphanumerics"),
    ],
)
def test_illegal_topic_names_say_why(name: str, reason: str) -> None:
    """M12: a topic is known by its name, so names are checked."""
    assert reason in str(topic.why_invalid(name))


def test_names_collide_when_they_are_one_metric_name() -> None:
    assert topic.has_collision("a.b", "a_b")
    assert not topic.has_collision("a.b", "a-b")
    assert topic.has_collision_chars("a_b")
    assert not topic.has_collision_chars("a-b")


def test_internal_topics_are_kafkas_own() -> None:
    assert topic.is_internal("__consumer_offsets")
    assert topic.is_internal("__transaction_state")
    assert not topic.is_internal("__mine")


@given(st.binary(min_size=16, max_size=16))
def test_uuids_round_trip_as_22_characters(value: bytes) -> None:
    text = uuid.uuid_to_string(value)
    assert len(text) == 22
    assert uuid.uuid_from_string(text) == value


@pytest.mark.parametrize("text", ["", "short", "x" * 23, "\xe4" * 22])
def test_other_texts_are_no_uuids(text: str) -> None:
    with pytest.raises(ValueError, match="22 characters"):
        uuid.uuid_from_string(text)


def test_random_uuids_are_of_version_4_and_begin_with_no_dash() -> None:
    chance = random.Random(1)
    for _ in range(500):
        value = uuid.random_uuid(chance.randbytes)
        assert value[6] >> 4 == 4
        assert value[8] >> 6 == 2
        assert not uuid.uuid_to_string(value).startswith("-")
