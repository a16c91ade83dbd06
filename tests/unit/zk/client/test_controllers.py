"""Election of the controller: one of many, one epoch each."""

import pytest

from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.zk.client import ControllerEpoch, KafkaZkClient
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start


@pytest.fixture
def fake() -> FakeZooKeeper:
    return FakeZooKeeper()


def elect(client: KafkaZkClient, broker_id: int) -> ControllerEpoch:
    return run(client.register_controller_and_increment_controller_epoch(broker_id, 0))


def test_first_controller_has_epoch_one(fake: FakeZooKeeper) -> None:
    client = KafkaZkClient(fake.connected_client())
    assert run(client.get_controller_id()) is None
    assert run(client.get_controller_epoch()) is None
    assert elect(client, 7) == ControllerEpoch(1, 1)
    assert run(client.get_controller_id()) == 7
    assert run(client.get_controller_epoch()) == ControllerEpoch(1, 1)


def test_second_candidate_loses(fake: FakeZooKeeper) -> None:
    first, second = (KafkaZkClient(fake.connected_client()) for _ in range(2))
    elect(first, 1)
    with pytest.raises(ControllerMovedError, match="broker 1 was elected"):
        elect(second, 2)
    assert run(second.get_controller_epoch()) == ControllerEpoch(1, 1)


def test_controller_that_resigns_makes_room(fake: FakeZooKeeper) -> None:
    first, second = (KafkaZkClient(fake.connected_client()) for _ in range(2))
    elected = elect(first, 1)
    run(first.delete_controller(elected.zk_version))
    run(first.delete_controller(elected.zk_version))
    assert elect(second, 2) == ControllerEpoch(2, 2)
    with pytest.raises(ControllerMovedError):
        run(first.delete_controller(elected.zk_version))
    assert run(first.get_controller_id()) == 2


def test_controller_that_dies_makes_room(fake: FakeZooKeeper) -> None:
    first, second = (KafkaZkClient(fake.connected_client()) for _ in range(2))
    elect(first, 1)
    run(first.close())
    assert elect(second, 2) == ControllerEpoch(2, 2)


def test_election_whose_answer_was_lost_is_found_to_be_won(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    elect(client, 1)
    run(client.delete_controller(1))
    electing = start(client.get_controller_epoch())
    assert result_of(electing) == ControllerEpoch(1, 1)
    zk.lose_answer_of_next_multi()
    electing = start(client.register_controller_and_increment_controller_epoch(1, 0))
    zk.resume()
    assert result_of(electing) == ControllerEpoch(2, 2)


def test_office_that_falls_vacant_during_the_check_is_left_to_the_next_election() -> None:
    fake = FakeZooKeeper(is_delayed=True)
    first, second = (KafkaZkClient(fake.connected_client()) for _ in range(2))
    winning = start(first.register_controller_and_increment_controller_epoch(1, 0))
    fake.pump(10)
    result_of(winning)
    losing = start(second.register_controller_and_increment_controller_epoch(2, 0))
    fake.pump(2)  # epoch read, multi refused
    run(first.close())
    fake.pump(10)
    with pytest.raises(ControllerMovedError, match="went away during the election"):
        result_of(losing)


def test_epoch_created_by_another_candidate_meanwhile_is_used() -> None:
    fake = FakeZooKeeper(is_delayed=True)
    first, second = (KafkaZkClient(fake.connected_client()) for _ in range(2))
    both = [
        start(client.register_controller_and_increment_controller_epoch(broker_id, 0))
        for broker_id, client in ((1, first), (2, second))
    ]
    fake.pump(20)
    assert result_of(both[0]) == ControllerEpoch(1, 1)
    with pytest.raises(ControllerMovedError, match="broker 1"):
        result_of(both[1])
