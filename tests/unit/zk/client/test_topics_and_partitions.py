"""Topics, their assignments, and the states of their partitions."""

import pytest

from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import NodeExistsError, NoNodeError
from kafkalike.zk.watches import ZNodeChildChangeHandler
from kafkalike.zk.znodes import TopicIdReplicaAssignment
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
A_ID = bytes(range(16))


@pytest.fixture
def fake() -> FakeZooKeeper:
    return FakeZooKeeper()


@pytest.fixture
def client(fake: FakeZooKeeper) -> KafkaZkClient:
    """A controller of zk version 1, with topic `a` (of an id) and topic `b` (of none)."""
    client = KafkaZkClient(fake.connected_client())
    run(client.create_top_level_paths())
    run(client.register_controller_and_increment_controller_epoch(1, 0))
    run(client.create_topic_assignment("a", A_ID, {A0: (1, 2), A1: (2, 1)}))
    run(client.create_topic_assignment("b", None, {B0: (3,)}))
    return client


def state(leader: int, epoch: int, isr: tuple[int, ...], zk_version: int = 0) -> LeaderAndIsr:
    return LeaderAndIsr(leader, epoch, isr, zk_version)


def create_states(client: KafkaZkClient) -> None:
    states = {
        A0: LeaderIsrAndControllerEpoch(state(1, 0, (1, 2)), 1),
        B0: LeaderIsrAndControllerEpoch(state(3, 0, (3,)), 1),
    }
    assert run(client.create_topic_partition_states_raw(states, 1)) == {A0: None, B0: None}


def test_topics_are_listed_and_watched(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    heard: list[str] = []
    client.register_znode_child_change_handler(
        ZNodeChildChangeHandler(path="/brokers/topics", on_child_change=lambda: heard.append("!"))
    )
    assert run(client.get_all_topics_in_cluster()) == {"a", "b"}
    run(client.create_topic_assignment("c", None, {}))
    assert heard == []
    assert run(client.get_all_topics_in_cluster(register_watch=True)) == {"a", "b", "c"}
    run(client.create_topic_assignment("d", None, {}))
    assert heard == ["!"]


def test_assignments_are_read_in_every_form(client: KafkaZkClient) -> None:
    topics = ["a", "b", "absent"]
    full = run(client.get_full_replica_assignment_for_topics(topics))
    assert full == {
        A0: ReplicaAssignment((1, 2)),
        A1: ReplicaAssignment((2, 1)),
        B0: ReplicaAssignment((3,)),
    }
    assert run(client.get_replica_assignment_and_topic_ids_for_topics(topics)) == [
        TopicIdReplicaAssignment("a", A_ID, {A0: full[A0], A1: full[A1]}),
        TopicIdReplicaAssignment("b", None, {B0: full[B0]}),
        TopicIdReplicaAssignment("absent", None, {}),
    ]
    assert run(client.get_topic_ids_for_topics(topics)) == {"a": A_ID}
    assert run(client.get_replica_assignment_for_topics(["b"])) == {B0: (3,)}
    assert run(client.get_partitions_for_topics(topics)) == {"a": [0, 1], "b": [0]}
    assert run(client.get_topic_partition_count("a")) == 2
    assert run(client.get_topic_partition_count("absent")) is None
    assert run(client.get_replicas_for_partition(A1)) == (2, 1)
    assert run(client.get_replicas_for_partition(TopicPartition("a", 9))) == ()


def test_topic_of_the_same_name_is_refused(client: KafkaZkClient) -> None:
    assert run(client.topic_exists("a"))
    with pytest.raises(NodeExistsError):
        run(client.create_topic_assignment("a", None, {}))


def test_assignment_is_replaced_whole(client: KafkaZkClient) -> None:
    moving = ReplicaAssignment((3, 1), (3,), (1,))
    run(client.set_topic_assignment("a", A_ID, {A0: moving}, 1))
    assert run(client.get_full_replica_assignment_for_topics(["a"])) == {A0: moving}
    assert run(client.get_topic_ids_for_topics(["a"])) == {"a": A_ID}


def test_ids_are_given_to_topics_that_have_none(client: KafkaZkClient) -> None:
    (b,) = run(client.get_replica_assignment_and_topic_ids_for_topics(["b"]))
    new_id = bytes(15) + b"\x07"
    (updated,) = run(client.set_topic_ids([b], lambda: new_id, 1))
    assert updated == TopicIdReplicaAssignment("b", new_id, {B0: ReplicaAssignment((3,))})
    assert run(client.get_topic_ids_for_topics(["b"])) == {"b": new_id}
    with pytest.raises(ValueError, match="topic b has an id"):
        run(client.set_topic_ids([updated], lambda: new_id, 1))
    absent = TopicIdReplicaAssignment("absent", None, {})
    with pytest.raises(NoNodeError):
        run(client.set_topic_ids([absent], lambda: new_id, 1))


def test_states_are_created_with_their_parents(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    create_states(client)
    assert run(client.get_all_partitions()) == {A0, B0}
    found = run(client.get_topic_partition_states([A0, A1, B0]))
    assert found == {
        A0: LeaderIsrAndControllerEpoch(state(1, 0, (1, 2)), 1),
        B0: LeaderIsrAndControllerEpoch(state(3, 0, (3,)), 1),
    }
    assert run(client.get_leader_for_partition(A0)) == 1
    assert run(client.get_in_sync_replicas_for_partition(A0)) == (1, 2)
    assert run(client.get_leader_for_partition(A1)) is None
    assert run(client.get_in_sync_replicas_for_partition(A1)) is None


def test_state_that_is_there_already_is_told(client: KafkaZkClient) -> None:
    create_states(client)
    new = LeaderIsrAndControllerEpoch(state(2, 0, (2,)), 1)
    outcome = run(client.create_topic_partition_states_raw({A0: new, A1: new}, 1))
    assert isinstance(outcome[A0], NodeExistsError)
    assert outcome[A1] is None


def test_former_controller_creates_no_state(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    new = LeaderIsrAndControllerEpoch(state(1, 0, (1,)), 1)
    before = fake.paths()
    with pytest.raises(ControllerMovedError):
        run(client.create_topic_partition_states_raw({A0: new}, 0))
    assert fake.paths() == before


def test_new_states_are_written_retried_or_failed_one_by_one(client: KafkaZkClient) -> None:
    create_states(client)
    written = state(2, 1, (2,), zk_version=0)
    overtaken = state(3, 1, (3,), zk_version=5)
    result = run(client.update_leader_and_isr({A0: written, B0: overtaken, A1: written}, 1, 1))
    assert result.finished[A0] == state(2, 1, (2,), zk_version=1)
    assert isinstance(result.finished[A1], NoNodeError)
    assert result.to_retry == (B0,)
    found = run(client.get_topic_partition_states([A0, B0]))
    assert found[A0].leader_and_isr == result.finished[A0]
    assert found[B0].leader_and_isr == state(3, 0, (3,))


def test_former_controller_changes_no_state(client: KafkaZkClient) -> None:
    create_states(client)
    with pytest.raises(ControllerMovedError):
        run(client.update_leader_and_isr({A0: state(2, 1, (2,))}, 1, 0))
    assert run(client.get_leader_for_partition(A0)) == 1


def test_leader_changes_the_isr_if_nobody_was_faster(client: KafkaZkClient) -> None:
    create_states(client)
    shrunk = run(client.conditional_update_isr(A0, state(1, 0, (1,), 0), 1))
    assert shrunk == state(1, 0, (1,), 1)
    assert run(client.conditional_update_isr(A0, state(1, 0, (1, 2), 0), 1)) is None
    assert run(client.conditional_update_isr(A1, state(1, 0, (1, 2), 0), 1)) is None
    assert run(client.get_in_sync_replicas_for_partition(A0)) == (1,)


def test_isr_change_whose_answer_was_lost_is_found_to_be_made(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    run(client.create_recursive("/controller_epoch", b"1"))
    run(client.create_topic_assignment("a", A_ID, {A0: (1, 2)}))
    first = LeaderIsrAndControllerEpoch(state(1, 0, (1, 2)), 1)
    run(client.create_topic_partition_states_raw({A0: first}, 0))
    zk.lose_next_answer()
    changing = start(client.conditional_update_isr(A0, state(1, 0, (1,), 0), 1))
    zk.resume()
    assert result_of(changing) == state(1, 0, (1,), 1)


def test_topic_is_deleted_with_its_partitions(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    create_states(client)
    with pytest.raises(ControllerMovedError):
        run(client.delete_topic_znode("a", 0))
    run(client.delete_topic_znode("a", 1))
    assert run(client.get_all_topics_in_cluster()) == {"b"}
    assert not [path for path in fake.paths() if path.startswith("/brokers/topics/a")]
