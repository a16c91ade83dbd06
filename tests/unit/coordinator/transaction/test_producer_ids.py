"""Producer ids: unique in the cluster, in blocks of a thousand."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.coordinator.transaction.producer_ids import ProducerIdManager, next_block
from kafkalike.protocol.errors import CoordinatorLoadInProgressError, UnknownServerError
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import SessionExpiredError
from kafkalike.zk.znodes import ProducerIdBlock
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start
from tests.support.transactions import FakeProducerIdBlocks


@pytest.fixture
def blocks() -> FakeProducerIdBlocks:
    return FakeProducerIdBlocks()


@pytest.fixture
def manager(blocks: FakeProducerIdBlocks) -> ProducerIdManager:
    return ProducerIdManager(1, blocks)


def test_ids_count_up_and_blocks_follow_one_another(
    manager: ProducerIdManager, blocks: FakeProducerIdBlocks
) -> None:
    """No two producers have the same id."""
    ids = [run(manager.generate_producer_id()) for _ in range(2500)]
    assert ids == list(range(2500))
    assert blocks.latest == ProducerIdBlock(1, 2000, 2999)


def test_brokers_share_the_ids() -> None:
    zookeeper = FakeZooKeeper(Clock())
    managers = []
    for broker_id in (1, 2, 3):
        zk = KafkaZkClient(zookeeper.connected_client())
        run(zk.create_top_level_paths())
        managers.append(ProducerIdManager(broker_id, zk))
    ids = [run(manager.generate_producer_id()) for _ in range(1500) for manager in managers]
    assert len(set(ids)) == 4500


def test_block_that_another_broker_took_first_is_left_to_it(
    manager: ProducerIdManager, blocks: FakeProducerIdBlocks
) -> None:
    blocks.taken_before_us.append(ProducerIdBlock(2, 0, 999))
    assert run(manager.generate_producer_id()) == 1000
    assert blocks.latest == ProducerIdBlock(1, 1000, 1999)


def test_those_who_ask_at_the_same_time_share_a_block(
    manager: ProducerIdManager, blocks: FakeProducerIdBlocks
) -> None:
    held: Deferred[None] = Deferred()
    blocks.held = held
    asking = [start(manager.generate_producer_id()) for _ in range(3)]
    assert blocks.reads == 1
    held.callback(None)
    assert sorted(result_of(one) for one in asking) == [0, 1, 2]


def test_block_is_taken_before_the_first_producer_asks(
    manager: ProducerIdManager, blocks: FakeProducerIdBlocks
) -> None:
    run(manager.take_first_block())
    assert blocks.latest == ProducerIdBlock(1, 0, 999)
    assert run(manager.generate_producer_id()) == 0
    assert blocks.reads == 1


def test_producer_may_ask_again_when_zookeeper_is_back(
    manager: ProducerIdManager, blocks: FakeProducerIdBlocks
) -> None:
    blocks.error = SessionExpiredError("expired")
    run(manager.take_first_block())
    with pytest.raises(CoordinatorLoadInProgressError, match="ZooKeeper"):
        run(manager.generate_producer_id())
    blocks.error = None
    assert run(manager.generate_producer_id()) == 0


def test_failure_reaches_all_who_wait(
    manager: ProducerIdManager, blocks: FakeProducerIdBlocks
) -> None:
    held: Deferred[None] = Deferred()
    blocks.held = held
    asking = [start(manager.generate_producer_id()) for _ in range(2)]
    blocks.error = SessionExpiredError("expired")
    held.callback(None)
    for one in asking:
        with pytest.raises(CoordinatorLoadInProgressError):
            result_of(one)


def test_blocks_end_where_the_numbers_end() -> None:
    last = (1 << 63) - 1
    assert next_block(1, ProducerIdBlock(2, 0, last - 1000)).block_end == last
    with pytest.raises(UnknownServerError, match="used up"):
        next_block(1, ProducerIdBlock(2, 0, last - 999))
