"""Registration of brokers, and who is told what when an id is taken."""

import pytest

from kafkalike.model.broker import Broker, EndPoint
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import EphemeralHeldError
from kafkalike.zk.znodes import BrokerIdZNode, BrokerInfo
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start


@pytest.fixture
def fake() -> FakeZooKeeper:
    fake = FakeZooKeeper()
    run(KafkaZkClient(fake.connected_client()).create_top_level_paths())
    return fake


def a_broker(broker_id: int, port: int = 9092) -> BrokerInfo:
    end_point = EndPoint("127.0.0.1", port, "PLAINTEXT", "PLAINTEXT")
    return BrokerInfo(Broker(broker_id, (end_point,)), timestamp_ms=1)


def test_broker_epoch_is_the_czxid_of_the_registration(fake: FakeZooKeeper) -> None:
    client = KafkaZkClient(fake.connected_client())
    epoch = run(client.register_broker(a_broker(1)))
    stat = fake.tree.stat("/brokers/ids/1")
    assert epoch == stat.czxid
    assert stat.ephemeral_owner == client.session_id
    assert BrokerIdZNode.decode(1, fake.data("/brokers/ids/1")) == a_broker(1)


def test_all_brokers_are_listed_by_id_with_their_epochs(fake: FakeZooKeeper) -> None:
    clients = [KafkaZkClient(fake.connected_client()) for _ in range(3)]
    epochs = [
        run(client.register_broker(a_broker(broker_id)))
        for client, broker_id in zip(clients, (10, 2, 1), strict=True)
    ]
    assert run(clients[0].get_sorted_broker_list()) == [1, 2, 10]
    assert [b.id for b in run(clients[0].get_all_brokers_in_cluster())] == [1, 2, 10]
    found = run(clients[0].get_all_broker_and_epochs_in_cluster())
    assert {broker.id: epoch for broker, epoch in found.items()} == dict(
        zip((10, 2, 1), epochs, strict=True)
    )
    run(clients[1].close())
    assert run(clients[0].get_broker(2)) is None
    assert run(clients[0].get_broker(10)) == a_broker(10).broker


def test_update_keeps_the_broker_epoch(fake: FakeZooKeeper) -> None:
    client = KafkaZkClient(fake.connected_client())
    epoch = run(client.register_broker(a_broker(1, port=9092)))
    run(client.update_broker_info(a_broker(1, port=9093)))
    (found,) = run(client.get_all_broker_and_epochs_in_cluster()).items()
    assert found == (a_broker(1, port=9093).broker, epoch)


def test_id_held_by_another_broker_is_refused_with_who_holds_it(fake: FakeZooKeeper) -> None:
    holder, second = (KafkaZkClient(fake.connected_client()) for _ in range(2))
    run(holder.register_broker(a_broker(1, port=9092)))
    with pytest.raises(EphemeralHeldError, match="/brokers/ids/1 is held by session") as caught:
        run(second.register_broker(a_broker(1, port=9999)))
    assert caught.value.owner_session_id == holder.session_id
    assert caught.value.data == BrokerIdZNode.encode(a_broker(1, port=9092))
    run(holder.close())
    assert run(second.register_broker(a_broker(1, port=9999))) > 0


def test_registration_whose_answer_was_lost_is_found_to_be_ours(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    zk.lose_next_answer()
    registering = start(client.register_broker(a_broker(1)))
    zk.resume()
    assert result_of(registering) == fake.tree.stat("/brokers/ids/1").czxid


def test_new_session_registers_anew_with_a_later_epoch(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    first = run(client.register_broker(a_broker(1)))
    zk.expire()
    assert "/brokers/ids/1" not in fake.tree
    assert run(client.register_broker(a_broker(1))) > first


def test_znode_that_outlived_our_own_session_is_replaced(fake: FakeZooKeeper) -> None:
    """KAFKA-7165: ZooKeeper may forget to delete an ephemeral of an expired session."""
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    first = run(client.register_broker(a_broker(1)))
    zk.expire(keeps_ephemerals=True)
    assert fake.tree.stat("/brokers/ids/1").czxid == first
    assert run(client.register_broker(a_broker(1))) > first
    assert fake.tree.stat("/brokers/ids/1").ephemeral_owner == zk.session_id


def test_sequence_ids_count_from_one(fake: FakeZooKeeper) -> None:
    client = KafkaZkClient(fake.connected_client())
    assert [run(client.generate_broker_sequence_id()) for _ in range(2)] == [1, 2]
    run(client.delete_path("/brokers/seqid"))
    assert run(client.generate_broker_sequence_id()) == 1
