"""Requests outlive lost connections, go out together, and are fenced by the controller epoch."""

import pytest

from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import (
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
    ZkClosedError,
    ZkError,
)
from kafkalike.zk.ops import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE
from kafkalike.zk.session import SessionState
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start


@pytest.fixture
def fake() -> FakeZooKeeper:
    return FakeZooKeeper()


def test_read_after_a_lost_connection_is_asked_again(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    run(client.create_recursive("/a", b"1"))
    zk.lose_next_request()
    reading = start(client.get_data_and_version("/a"))
    assert zk.state is SessionState.SUSPENDED
    assert not reading.called
    zk.resume()
    assert result_of(reading) == (b"1", 0)


def test_create_whose_answer_was_lost_finds_the_znode_there(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    zk.lose_next_answer()
    creating = start(client.create_recursive("/a"))
    zk.resume()
    with pytest.raises(NodeExistsError):
        result_of(creating)


def test_request_made_while_away_waits(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    zk.suspend()
    creating = start(client.create_recursive("/a"))
    assert "/a" not in fake.tree
    zk.resume()
    result_of(creating)
    assert "/a" in fake.tree


def test_expired_session_is_not_waited_out(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    zk.suspend()
    creating = start(KafkaZkClient(zk).create_recursive("/a"))
    zk.expire()
    with pytest.raises(SessionExpiredError):
        result_of(creating)
    assert zk.state is SessionState.CONNECTED
    assert "/a" not in fake.tree


def test_whoever_waits_for_a_connection_hears_of_the_end(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    zk.lose_next_request()
    reading = start(client.path_exists("/a"))
    run(client.close())
    with pytest.raises(ZkClosedError):
        result_of(reading)


def test_reads_of_many_znodes_go_out_together() -> None:
    fake = FakeZooKeeper(is_delayed=True)
    client = KafkaZkClient(fake.connected_client(), max_in_flight_requests=3)
    reading = start(client.get_topic_configs([f"t{n}" for n in range(7)]))
    assert len(fake.clock.getDelayedCalls()) == 3
    fake.pump(7)
    assert result_of(reading) == {f"t{n}": {} for n in range(7)}


def test_waiting_for_a_connection_holds_up_nobody_else() -> None:
    fake = FakeZooKeeper()
    zk = fake.connected_client()
    client = KafkaZkClient(zk, max_in_flight_requests=1)
    zk.lose_next_request()
    first = start(client.path_exists("/a"))
    second = start(client.path_exists("/"))
    zk.resume()
    assert result_of(first) is False
    assert result_of(second) is True


def test_one_failed_read_fails_the_lot_after_all_are_answered(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    zk.suspend()
    reading = start(KafkaZkClient(zk).get_topic_configs(["a", "b"]))
    zk.expire()
    with pytest.raises(SessionExpiredError):
        result_of(reading)


@pytest.fixture
def controller(fake: FakeZooKeeper) -> KafkaZkClient:
    """A client that was elected: `/controller_epoch` is at zk version 1."""
    client = KafkaZkClient(fake.connected_client())
    run(client.create_top_level_paths())
    assert run(client.register_controller_and_increment_controller_epoch(1, 0)) == (1, 1)
    return client


def test_write_with_the_right_epoch_goes_through(controller: KafkaZkClient) -> None:
    run(controller.create_recursive("/a"))
    run(controller.delete_path("/a", 1, recursive=False))
    assert not run(controller.path_exists("/a"))


def test_write_of_a_former_controller_is_refused(controller: KafkaZkClient) -> None:
    run(controller.create_recursive("/a"))
    with pytest.raises(ControllerMovedError, match="version 0"):
        run(controller.delete_path("/a", 0))
    assert run(controller.path_exists("/a"))


def test_one_of_many_writes_of_a_former_controller_is_enough(controller: KafkaZkClient) -> None:
    with pytest.raises(ControllerMovedError):
        run(controller.delete_topic_deletions(["a", "b"], 0))


def test_error_of_the_write_itself_is_told_apart_from_the_fence(
    controller: KafkaZkClient,
) -> None:
    with pytest.raises(NoNodeError):
        run(controller.set_topic_assignment("absent", None, {}, 1))


def test_fence_that_is_gone_is_no_missing_znode_of_the_write(
    controller: KafkaZkClient,
) -> None:
    run(controller.delete_path("/controller_epoch"))
    run(controller.create_recursive("/a"))
    with pytest.raises(ZkError, match="/controller_epoch could not be checked") as caught:
        run(controller.delete_path("/a", 1))
    assert not isinstance(caught.value, NoNodeError)


def test_nonsensical_epoch_version_is_our_bug(controller: KafkaZkClient) -> None:
    with pytest.raises(ValueError, match="-2"):
        run(controller.delete_controller(-2))


def test_secured_tree_lets_only_brokers_write(fake: FakeZooKeeper) -> None:
    client = KafkaZkClient(fake.connected_client(), is_secure=True)
    run(client.create_top_level_paths())
    acls = {path: run(client.get_acl(path)) for path in fake.paths()}
    assert acls["/brokers/topics"] == CREATOR_ALL_ACL + READ_ACL_UNSAFE
    assert acls["/config/users"] == CREATOR_ALL_ACL
    assert acls["/consumers"] == OPEN_ACL_UNSAFE
