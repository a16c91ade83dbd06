"""KafkaZkClient on a real ensemble: registration, election, fencing, and znodes as Kafka's are."""

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.utils.time import Time
from kafkalike.zk.bridge import ZkBridge
from kafkalike.zk.change_notification import ZkNodeChangeNotificationListener
from kafkalike.zk.client import ControllerEpoch, KafkaZkClient
from kafkalike.zk.errors import EphemeralHeldError
from kafkalike.zk.znodes import BrokerInfo, ConfigChangeZNode, FeatureStatus, FinalizedFeatures
from tests.support.ensemble import Ensemble
from tests.support.process import Process
from tests.support.reactor_thread import REACTOR, ReactorThread, until
from tests.support.znode_schemas import read_tree, validate_tree

pytestmark = pytest.mark.ensemble

SESSION_TIMEOUT_MS = 2_000
_numbers = itertools.count(1)

MakeClient = Callable[[], KafkaZkClient]

REGISTRANT = """
import sys
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.zk.bridge import ZkBridge
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes import BrokerInfo

async def register():
    zk = ZkBridge(reactor, sys.argv[1], session_timeout_ms=1000)
    await zk.connect(15_000)
    end_point = EndPoint("127.0.0.1", 9092, "PLAINTEXT", "PLAINTEXT")
    await KafkaZkClient(zk).register_broker(BrokerInfo(Broker(7, (end_point,))))
    print("registered", flush=True)

reactor.callWhenRunning(lambda: Deferred.fromCoroutine(register()))
reactor.run()
"""


@pytest.fixture
def connect_string(ensemble: Ensemble) -> str:
    """One server for all: another may still show what was, for a moment."""
    server = ensemble.connect_string.partition(",")[0]
    return f"{server}/client-{next(_numbers)}"


@pytest.fixture
def make_client(connect_string: str, reactor_thread: ReactorThread) -> Iterator[MakeClient]:
    made: list[KafkaZkClient] = []

    def make() -> KafkaZkClient:
        zk = ZkBridge(REACTOR, connect_string, session_timeout_ms=SESSION_TIMEOUT_MS)
        reactor_thread.run(zk.connect(15_000))
        client = KafkaZkClient(zk)
        made.append(client)
        return client

    yield make
    for client in made:
        reactor_thread.run(client.close())


def a_broker(broker_id: int) -> BrokerInfo:
    end_point = EndPoint("127.0.0.1", 9092, "PLAINTEXT", "PLAINTEXT")
    return BrokerInfo(Broker(broker_id, (end_point,)), timestamp_ms=1)


async def start_up(client: KafkaZkClient, broker_id: int) -> int:
    await client.create_top_level_paths()
    await client.create_or_get_cluster_id("AxB34FEUQDOd39xFs3i4lQ")
    return await client.register_broker(a_broker(broker_id))


def test_life_of_a_small_cluster_leaves_znodes_as_kafka_has_them(
    make_client: MakeClient, connect_string: str, reactor_thread: ReactorThread
) -> None:
    """M66: what is really in ZooKeeper is valid by the schemas of Kafka's znodes."""
    client = make_client()
    tp = TopicPartition("orders", 0)

    async def life() -> None:
        await start_up(client, 1)
        elected = await client.register_controller_and_increment_controller_epoch(1, 1)
        await client.create_feature_znode(FinalizedFeatures(FeatureStatus.ENABLED))
        await client.set_or_create_entity_configs("topics", "orders", {"retention.ms": "1"})
        await client.create_topic_assignment("orders", bytes(range(16)), {tp: (1,)})
        state = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 0, (1,)), elected.epoch)
        outcome = await client.create_topic_partition_states_raw({tp: state}, elected.zk_version)
        assert outcome == {tp: None}
        await client.create_config_change_notification("topics/orders")
        await client.create_delete_topic_path("orders")

    reactor_thread.run(life())
    tree = read_tree(connect_string)
    validate_tree(tree)
    assert tree["/brokers/topics/orders/partitions/0/state"].data == (
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}'
    )
    assert tree["/brokers/ids/1"].is_ephemeral
    assert tree["/consumers"].data is None


def test_epochs_of_brokers_grow_with_each_registration(
    make_client: MakeClient, reactor_thread: ReactorThread
) -> None:
    first, second = make_client(), make_client()
    epochs = [reactor_thread.run(start_up(first, 1)), reactor_thread.run(start_up(second, 2))]
    found = reactor_thread.run(second.get_all_broker_and_epochs_in_cluster())
    assert list(found.values()) == epochs
    assert epochs[0] < epochs[1]
    with pytest.raises(EphemeralHeldError, match="/brokers/ids/1 is held"):
        reactor_thread.run(second.register_broker(a_broker(1)))
    reactor_thread.run(first.close())
    assert reactor_thread.run(second.register_broker(a_broker(1))) > epochs[1]


def test_registration_of_a_killed_process_vanishes_with_its_session(
    make_client: MakeClient,
    connect_string: str,
    reactor_thread: ReactorThread,
    tmp_path: Path,
) -> None:
    """M65: kill -9, and the znode is gone after the session's time-out."""
    client = make_client()
    reactor_thread.run(client.create_top_level_paths())
    command = [sys.executable, "-c", REGISTRANT, connect_string]
    process = Process("registrant", command, tmp_path / "log")
    with process:
        process.wait_for_log("registered")
        assert reactor_thread.run(client.get_sorted_broker_list()) == [7]
        process.kill()

    async def gone() -> None:
        while await client.get_sorted_broker_list():
            await Time(REACTOR).sleep_ms(50)

    reactor_thread.run(gone())


def test_former_controller_is_fenced(
    make_client: MakeClient, reactor_thread: ReactorThread
) -> None:
    """M68: two controllers after each other; what the first still writes is refused."""
    first, second = make_client(), make_client()
    tp = TopicPartition("orders", 0)
    state = LeaderAndIsr(1, 0, (1,))

    async def elect(client: KafkaZkClient, broker_id: int) -> ControllerEpoch:
        return await client.register_controller_and_increment_controller_epoch(broker_id, 1)

    async def scenario() -> None:
        await start_up(first, 1)
        old = await elect(first, 1)
        await first.create_topic_assignment("orders", None, {tp: (1,)})
        states = {tp: LeaderIsrAndControllerEpoch(state, old.epoch)}
        await first.create_topic_partition_states_raw(states, old.zk_version)
        with pytest.raises(ControllerMovedError, match="broker 1 was elected"):
            await elect(second, 2)
        # As if the first had been asleep while its session ended.
        await second.delete_path("/controller", recursive=False)
        new = await elect(second, 2)
        assert (old, new) == (ControllerEpoch(1, 1), ControllerEpoch(2, 2))
        for write in (
            first.update_leader_and_isr({tp: state.new_epoch()}, old.epoch, old.zk_version),
            first.delete_topic_znode("orders", old.zk_version),
            first.delete_controller(old.zk_version),
        ):
            with pytest.raises(ControllerMovedError, match="no longer at zk version 1"):
                await write
        result = await second.update_leader_and_isr(
            {tp: state.new_epoch()}, new.epoch, new.zk_version
        )
        assert result.finished == {tp: LeaderAndIsr(1, 1, (1,), 1)}
        assert await first.get_controller_id() == 2

    reactor_thread.run(scenario())


def test_thousand_znodes_are_read_and_written_together(
    make_client: MakeClient, reactor_thread: ReactorThread
) -> None:
    client = make_client()
    partitions = [TopicPartition("many", n) for n in range(1000)]

    async def scenario() -> None:
        await start_up(client, 1)
        elected = await client.register_controller_and_increment_controller_epoch(1, 1)
        await client.create_topic_assignment("many", None, dict.fromkeys(partitions, (1,)))
        state = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 0, (1,)), 1)
        states = dict.fromkeys(partitions, state)
        created = await client.create_topic_partition_states_raw(states, elected.zk_version)
        assert set(created.values()) == {None}
        assert await client.get_topic_partition_states(partitions) == states

    reactor_thread.run(scenario(), timeout_s=60)


def test_config_changes_reach_every_broker_once_and_in_order(
    make_client: MakeClient, reactor_thread: ReactorThread
) -> None:
    """M67, M71: a change node is heard of by the watching brokers."""
    writer, readers = make_client(), [make_client(), make_client()]
    heard: list[list[str]] = [[], []]
    listeners: list[ZkNodeChangeNotificationListener] = []

    def listen(client: KafkaZkClient, into: list[str]) -> None:
        async def hear(data: bytes) -> None:
            into.append(ConfigChangeZNode.decode(data))

        listener = ZkNodeChangeNotificationListener(
            client, ConfigChangeZNode.ROOT, ConfigChangeZNode.PREFIX, hear, Time(REACTOR)
        )
        listener.init()
        listeners.append(listener)

    async def scenario() -> None:
        await writer.create_top_level_paths()
        await writer.create_config_change_notification("topics/0")
        for reader, into in zip(readers, heard, strict=True):
            listen(reader, into)
        for number in range(1, 20):
            await writer.create_config_change_notification(f"topics/{number}")
        expected = [f"topics/{number}" for number in range(20)]
        await until(lambda: heard == [expected, expected], "all changes")
        for listener in listeners:
            listener.close()

    reactor_thread.run(scenario())
