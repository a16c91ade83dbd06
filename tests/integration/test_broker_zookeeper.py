"""A broker and its ensemble, which is away at the start, goes away later, changes its leader."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.support import wire
from tests.support.clients.confluent import ConfluentClient
from tests.support.clients.message import Message
from tests.support.ensemble import Ensemble, ensemble_config, start_ensemble
from tests.support.new_broker import STARTED, NewBroker, connect_to, wait_until_led
from tests.support.target import unique_topic
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until
from tests.support.znode_client import znode_client

pytestmark = pytest.mark.ensemble


@pytest.fixture
def own_ensemble(tmp_path: Path) -> Iterator[Ensemble]:
    """Three servers that the test may break."""
    started = start_ensemble(tmp_path / "zookeeper", 3)
    yield started
    started.stop()


def test_broker_waits_for_zookeeper_at_its_start(new_broker: NewBroker, tmp_path: Path) -> None:
    """M64: it says what it waits for, and starts when the ensemble does."""
    ensemble = Ensemble.create(tmp_path / "zookeeper", ensemble_config(3))
    broker = new_broker(
        zookeeper_connect=f"{ensemble.connect_string}/late",
        properties={"zookeeper.connection.timeout.ms": "1000"},
        is_started=False,
    )
    broker.start_without_waiting()
    broker.wait_for_log("still trying. Is it running?")
    assert f"zookeeper.connect={ensemble.connect_string}/late" in broker.log_text()
    assert not broker.answers()
    try:
        ensemble.start()
        broker.wait_for_log(STARTED, 60)
        with connect_to(broker) as client:
            wire.append(client, wire.create_topic(client), b"value")
    finally:
        broker.terminate()
        ensemble.stop()


def test_broker_serves_what_it_leads_without_zookeeper(
    new_broker: NewBroker, own_ensemble: Ensemble
) -> None:
    """M64, M32: clients go on (they never talk to ZooKeeper); changes of metadata wait for it."""
    broker = new_broker(
        zookeeper_connect=own_ensemble.connect_string,
        properties={"zookeeper.session.timeout.ms": "3000"},
    )
    with connect_to(broker) as client, connect_to(broker, timeout_s=90) as admin:
        topic = wire.create_topic(client)
        wire.append(client, topic, b"before")
        own_ensemble.stop()
        waiting = admin.send_only(_creation("created-later", timeout_ms=60_000))
        for number in range(50):
            wire.append(client, topic, b"meanwhile %d" % number)
        assert len(wire.read_all(client, topic)) == 51
        stock = ConfluentClient()
        stock.produce(broker.bootstrap_servers, topic, [Message(b"k", b"by a client")], "none")
        (last,) = stock.consume(broker.bootstrap_servers, topic, 1, 51)
        assert last.value == b"by a client"
        own_ensemble.start()
        (created,) = admin.receive(ApiKey.CREATE_TOPICS, 7, waiting).topics
        assert created.error_code == ErrorCode.NONE
        wait_until(lambda: _is_created(client), 60, "a topic created after ZooKeeper's return")
    wait_until_led(broker, topic)
    with connect_to(broker) as client:
        wire.append(client, topic, b"after")
        assert wire.read_all(client, topic)[-1].value == b"after"
    assert "Traceback" not in broker.log_text()


def test_broker_cut_off_from_zookeeper_serves_and_registers_anew(
    new_broker: NewBroker, ensemble: Ensemble
) -> None:
    """M64, M65: its session expires while it goes on serving; then it has a new epoch."""
    server = ("127.0.0.1", ensemble.servers[0].ports.client)
    with TcpProxy(server) as proxy:
        chroot = unique_topic("cut-off")
        broker = new_broker(
            zookeeper_connect=f"127.0.0.1:{proxy.port}/{chroot}",
            properties={"zookeeper.session.timeout.ms": "2000"},
        )
        with (
            connect_to(broker) as client,
            znode_client(f"{ensemble.connect_string}/{chroot}") as znodes,
        ):
            topic = wire.create_topic(client)
            epoch = znodes.creation_zxid("/brokers/ids/1") or 0
            proxy.cut()
            sent = 0

            def append_until(is_expired: bool) -> bool:
                nonlocal sent
                wire.append(client, topic, b"value %d" % sent)
                sent += 1
                return znodes.exists("/brokers/ids/1") is not is_expired

            wait_until(lambda: append_until(is_expired=True), 30, "the expiry of the session")
            proxy.heal()
            wait_until(lambda: append_until(is_expired=False), 30, "its return")
            assert (znodes.creation_zxid("/brokers/ids/1") or 0) > epoch
            wait_until(lambda: _is_created(client), 30, "a topic created after its return")
            assert wire.append(client, topic, b"the last") == sent
            assert len(wire.read_all(client, topic)) == sent + 1
    assert "Traceback" not in broker.log_text()


def _creation(topic: str, *, timeout_ms: int) -> CreateTopicsRequest:
    wanted = CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[wanted], timeout_ms=timeout_ms)


def _is_created(client: SimpleClient) -> bool:
    (answer,) = client.send(_creation(unique_topic("created"), timeout_ms=5000)).topics
    return bool(answer.error_code == ErrorCode.NONE)


def test_zookeepers_leader_may_die_under_load(
    new_broker: NewBroker, own_ensemble: Ensemble
) -> None:
    """M73: writes and reads go on, and topics are created again under the new leader."""
    broker = new_broker(zookeeper_connect=own_ensemble.connect_string)
    with connect_to(broker) as client, connect_to(broker) as admin:
        topic = wire.create_topic(client)
        sent: list[bytes] = []

        def append_some() -> None:
            for _ in range(20):
                value = b"value %d" % len(sent)
                assert wire.append(client, topic, value) == len(sent)
                sent.append(value)

        for _ in range(2):
            append_some()
            leader = own_ensemble.leader
            assert leader is not None
            leader.kill()

            def has_new_leader(dead: object = leader) -> bool:
                append_some()
                return own_ensemble.leader not in (None, dead)

            wait_until(has_new_leader, 60, "a new leader of the ensemble")
            wait_until(lambda: append_some() or _is_created(admin), 60, "a topic created")
            leader.start()
            own_ensemble.wait_until_serving()
        append_some()
        assert [record.value for record in wire.read_all(client, topic)] == sent
    assert "Traceback" not in broker.log_text()


@pytest.mark.parametrize("servers", [1, 3, 5])
def test_ensemble_may_have_any_odd_number_of_servers(
    new_broker: NewBroker, tmp_path: Path, servers: int
) -> None:
    """M73: one leads, the others follow, and a broker works with all of them."""
    ensemble = start_ensemble(tmp_path / "zookeeper", servers)
    try:
        assert ensemble.leader is not None
        broker = new_broker(zookeeper_connect=ensemble.connect_string)
        with connect_to(broker) as client:
            topic = wire.create_topic(client)
            wire.append(client, topic, b"value")
            assert [record.value for record in wire.read_all(client, topic)] == [b"value"]
        broker.terminate()
    finally:
        ensemble.stop()
