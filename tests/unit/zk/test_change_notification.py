"""Sequential change nodes: heard once, in order, and not for ever."""

import pytest
from twisted.internet.task import Clock

from kafkalike.utils.time import Time
from kafkalike.zk.change_notification import ZkNodeChangeNotificationListener
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import SessionExpiredError, ZkDataError
from tests.support.fake_zk_client import FakeZkClient
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.log_observer import FailureObserver
from tests.support.run import run

ROOT, PREFIX = "/config/changes", "config_change_"
EXPIRATION_MS = 60_000


class Broker:
    """A client that listens, and what it heard; `fails_at` makes one piece of news fail."""

    def __init__(self, fake: FakeZooKeeper) -> None:
        self.zk: FakeZkClient = fake.connected_client()
        self.client = KafkaZkClient(self.zk)
        self.heard: list[str] = []
        self.failures: dict[str, Exception] = {}
        self.listener = ZkNodeChangeNotificationListener(
            self.client,
            ROOT,
            PREFIX,
            self._hear,
            Time(fake.clock),
            change_expiration_ms=EXPIRATION_MS,
        )

    async def _hear(self, data: bytes) -> None:
        text = data.decode()
        if error := self.failures.pop(text, None):
            raise error
        self.heard.append(text)


@pytest.fixture
def fake() -> FakeZooKeeper:
    clock = Clock()
    clock.advance(1_000_000)
    fake = FakeZooKeeper(clock)
    run(KafkaZkClient(fake.connected_client()).create_top_level_paths())
    return fake


def tell(fake: FakeZooKeeper, *news: str | None) -> None:
    writer = KafkaZkClient(fake.connected_client())
    for text in news:
        data = None if text is None else text.encode()
        run(writer.create_sequential_persistent_path(f"{ROOT}/{PREFIX}", data))


@pytest.fixture
def broker(fake: FakeZooKeeper) -> Broker:
    return Broker(fake)


def test_news_is_heard_once_and_in_order(fake: FakeZooKeeper, broker: Broker) -> None:
    tell(fake, "a", "b")
    broker.listener.init()
    assert broker.heard == ["a", "b"]
    tell(fake, "c")
    tell(fake, "d")
    assert broker.heard == ["a", "b", "c", "d"]


def test_every_broker_hears_all(fake: FakeZooKeeper) -> None:
    brokers = [Broker(fake) for _ in range(3)]
    for broker in brokers:
        broker.listener.init()
    tell(fake, "a", "b")
    assert [broker.heard for broker in brokers] == [["a", "b"]] * 3


def test_old_news_is_deleted_and_new_news_stays(fake: FakeZooKeeper, broker: Broker) -> None:
    broker.listener.init()
    tell(fake, "old")
    fake.clock.advance(EXPIRATION_MS / 1000)
    tell(fake, "not yet")
    assert len(run(broker.client.get_children(ROOT))) == 2
    fake.clock.advance(0.001)
    tell(fake, "new")
    assert run(broker.client.get_children(ROOT)) == [f"{PREFIX}000000000{n}" for n in (1, 2)]
    assert broker.heard == ["old", "not yet", "new"]


def test_news_missed_between_two_sessions_is_heard(fake: FakeZooKeeper, broker: Broker) -> None:
    broker.listener.init()
    tell(fake, "a")
    broker.zk.expire(is_followed=False)
    tell(fake, "b")
    assert broker.heard == ["a"]
    broker.zk.resume()
    tell(fake, "c")
    assert broker.heard == ["a", "b", "c"]


def test_news_missed_while_the_connection_was_away_is_heard(
    fake: FakeZooKeeper, broker: Broker
) -> None:
    broker.listener.init()
    broker.zk.suspend()
    tell(fake, "a")
    assert broker.heard == []
    broker.zk.resume()
    assert broker.heard == ["a"]


def test_news_that_cannot_be_processed_is_logged_and_passed_over(
    fake: FakeZooKeeper, broker: Broker, logged_failures: FailureObserver
) -> None:
    broker.failures["a"] = RuntimeError("our bug")
    broker.failures["b"] = ZkDataError("their bug")
    tell(fake, "a", "b", "c")
    broker.listener.init()
    assert broker.heard == ["c"]
    (text,) = logged_failures.expect()
    assert "config_change_0000000000" in text


def test_news_whose_reading_the_session_did_not_outlive_is_read_again(
    fake: FakeZooKeeper, broker: Broker
) -> None:
    broker.failures["b"] = SessionExpiredError()
    tell(fake, "a", "b", "c")
    broker.listener.init()
    assert broker.heard == ["a"]
    broker.zk.expire()
    assert broker.heard == ["a", "b", "c"]


def test_znode_without_data_and_znode_of_another_kind_are_no_news(
    fake: FakeZooKeeper, broker: Broker
) -> None:
    run(broker.client.create_recursive(f"{ROOT}/a_stranger"))
    tell(fake, None, "a")
    broker.listener.init()
    assert broker.heard == ["a"]


def test_closed_listener_hears_nothing(fake: FakeZooKeeper, broker: Broker) -> None:
    broker.listener.init()
    broker.listener.close()
    tell(fake, "a")
    broker.zk.expire()
    assert broker.heard == []
