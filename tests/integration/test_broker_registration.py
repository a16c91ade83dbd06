"""A broker in ZooKeeper: its id, its registration, its epoch, the controller."""

import os
import re
import signal

import pytest

from kafkalike.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkalike.zk.session_file import SESSION_FILE
from tests.support import wire
from tests.support.broker import Broker
from tests.support.golden_zk import golden_znodes
from tests.support.new_broker import NewBroker, connect_to, wait_until_led
from tests.support.waiting import wait_until
from tests.support.znode_client import ZnodeClient
from tests.support.znode_schemas import read_tree, validate_tree

pytestmark = pytest.mark.ensemble

SHORT_SESSION = {"zookeeper.session.timeout.ms": "2000"}
SESSION_S = 2.0


def _registration(broker_id: int = 1) -> str:
    return f"/brokers/ids/{broker_id}"


def _signal_all(broker: Broker, number: signal.Signals) -> None:
    """Send a signal to the broker and its supervisor, without waiting for what follows."""
    os.killpg(broker.pid, number)


def test_any_number_is_an_id(new_broker: NewBroker, znodes: ZnodeClient) -> None:
    """M20: broker 101 is 101 in ZooKeeper, on the wire and on disk."""
    broker = new_broker(broker_id=101)
    assert znodes.children("/brokers/ids") == ["101"]
    with connect_to(broker) as client:
        (told,) = client.send(DescribeClusterRequest()).brokers
    assert (told.broker_id, told.port) == (101, broker.port)
    assert "broker.id=101" in (broker.log_dir / "meta.properties").read_text().splitlines()


def test_broker_without_an_id_is_given_one(new_broker: NewBroker, znodes: ZnodeClient) -> None:
    """M20: above reserved.broker.max.id, and the same again after a restart."""
    broker = new_broker(is_started=False)
    del broker.properties["broker.id"]
    broker.start()
    wait_until(lambda: znodes.children("/brokers/ids") == ["1001"], 10, "broker 1001")
    broker.restart()
    wait_until(lambda: znodes.children("/brokers/ids") == ["1001"], 10, "broker 1001 again")


def test_second_broker_with_the_same_id_refuses_to_start(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M20: it says who holds the id, and the first one is not disturbed."""
    first = new_broker(broker_id=7)
    epoch = znodes.creation_zxid(_registration(7))
    second = new_broker(broker_id=7, is_started=False)
    second.start_without_waiting()
    assert second.wait(30) == 1
    assert "broker.id 7 is taken" in second.log_text()
    assert f"127.0.0.1:{first.port}" in second.log_text()
    assert "Traceback" not in second.log_text()
    assert first.answers()
    assert znodes.creation_zxid(_registration(7)) == epoch


def test_disk_of_another_broker_is_not_served(new_broker: NewBroker) -> None:
    broker = new_broker(broker_id=1)
    broker.terminate()
    broker.properties["broker.id"] = "2"
    broker.start_without_waiting()
    assert broker.wait(30) == 1
    assert "doesn't match stored broker.id 1" in broker.log_text()


def test_broker_refuses_to_join_another_cluster(
    new_broker: NewBroker, cluster_connect: str
) -> None:
    broker = new_broker()
    broker.terminate()
    broker.properties["zookeeper.connect"] = f"{cluster_connect}-other"
    broker.start_without_waiting()
    assert broker.wait(30) == 1
    assert "wrong cluster" in broker.log_text()


def test_log_directory_belongs_to_one_process(new_broker: NewBroker) -> None:
    """M20: also when it claims to be the same broker."""
    first = new_broker()
    second = new_broker(is_started=False)
    second.properties["log.dirs"] = str(first.log_dir)
    second.start_without_waiting()
    assert second.wait(30) == 1
    assert str(first.log_dir) in second.log_text()
    assert first.answers()


def test_registration_goes_at_once_when_the_broker_crashes(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M65: its supervisor ends the session, which would else live on for seconds."""
    broker = new_broker(properties={"zookeeper.session.timeout.ms": "10000"}, is_supervised=True)
    os.kill(broker.broker_pid, signal.SIGKILL)
    assert broker.wait(9) == -signal.SIGKILL
    assert not znodes.exists(_registration())


def test_registration_goes_with_the_session_when_the_host_dies(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M65: nobody is left to say goodbye, so the heartbeats that stay away say it."""
    broker = new_broker(properties=SHORT_SESSION)
    _signal_all(broker, signal.SIGKILL)
    broker.wait()
    assert znodes.exists(_registration()), "the session is not over yet"
    wait_until(lambda: not znodes.exists(_registration()), 10 * SESSION_S, "end of the session")


def test_broker_restarts_at_once_after_a_crash_of_its_host(new_broker: NewBroker) -> None:
    """M65: it finds the session of its former self and ends it, long before its time-out."""
    broker = new_broker(properties={"zookeeper.session.timeout.ms": "10000"})
    broker.kill()
    broker.start()
    broker.wait_for_log("is started")
    assert "ended session" in broker.log_text()
    assert "is still registered" not in broker.log_text()


def test_broker_waits_for_the_end_of_a_session_it_cannot_end(new_broker: NewBroker) -> None:
    """M65: it says so, and starts when the registration of its former self is gone."""
    # Longer than a start takes on a busy machine: the session must still be there to be seen.
    broker = new_broker(properties={"zookeeper.session.timeout.ms": "10000"})
    broker.kill()
    (broker.log_dir / SESSION_FILE).unlink()
    broker.start_without_waiting()
    broker.wait_for_log("broker 1 is still registered by session")
    broker.wait_for_log("is started")
    assert broker.answers()


def test_broker_registers_anew_when_its_session_expired(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M65: with a new epoch, and it serves again, its records and new ones."""
    broker = new_broker(properties=SHORT_SESSION)
    with connect_to(broker) as client:
        topic = wire.create_topic(client)
        wire.append(client, topic, b"before")
    epoch = znodes.creation_zxid(_registration())
    assert epoch is not None
    controller_epoch = int(znodes.data("/controller_epoch") or b"")
    _signal_all(broker, signal.SIGSTOP)
    try:
        wait_until(lambda: not znodes.exists(_registration()), 10 * SESSION_S, "its expiry")
    finally:
        _signal_all(broker, signal.SIGCONT)
    wait_until(lambda: (znodes.creation_zxid(_registration()) or 0) > epoch, 20, "a new epoch")
    wait_until(lambda: znodes.exists("/controller"), 20, "a controller")
    assert int(znodes.data("/controller_epoch") or b"") > controller_epoch
    wait_until_led(broker, topic)
    with connect_to(broker) as client:
        wire.append(client, topic, b"after")
        assert [record.value for record in wire.read_all(client, topic)] == [b"before", b"after"]
        wire.create_topic(client, "created-after-expiry")
    assert "Traceback" not in broker.log_text()


def test_controller_is_elected_through_zookeeper(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M68: who creates /controller is it; every election has a new epoch."""
    broker = new_broker(broker_id=5)
    wait_until(lambda: znodes.exists("/controller"), 10, "a controller")
    controller = znodes.json("/controller")
    assert (controller["version"], controller["brokerid"]) == (1, 5)
    assert int(controller["timestamp"]) > 0
    assert znodes.kazoo.get("/controller")[1].ephemeralOwner
    assert znodes.data("/controller_epoch") == b"1"
    broker.restart()
    wait_until(lambda: znodes.exists("/controller"), 10, "a controller again")
    assert znodes.data("/controller_epoch") == b"2"


def test_second_broker_is_not_the_controller_until_the_first_is_gone(
    new_broker: NewBroker, znodes: ZnodeClient
) -> None:
    """M68: and then it is."""
    first = new_broker(broker_id=1)
    wait_until(lambda: znodes.exists("/controller"), 10, "a controller")
    new_broker(broker_id=2)
    assert znodes.json("/controller")["brokerid"] == 1
    first.terminate()

    def leads() -> bool:
        data = znodes.data("/controller")
        return data is not None and b'"brokerid":2' in data

    wait_until(leads, 10, "broker 2 as controller")
    assert znodes.data("/controller_epoch") == b"2"


def test_znodes_are_kafkas(new_broker: NewBroker, cluster_connect: str) -> None:
    """M66: each validates against its schema, and but for its values it is what Kafka wrote."""
    broker = new_broker()
    with connect_to(broker) as client:
        topic = wire.create_topic(client, configs={"retention.ms": "1000"})
        wire.append(client, topic, b"value")
    tree = read_tree(cluster_connect)
    validate_tree(tree)
    compared = 0
    for golden in golden_znodes():
        path = golden.path.replace(GOLDEN_TOPIC, topic)
        if golden.source == "steady" and (path in ALWAYS_THERE or topic in path):
            assert _masked(tree[path].data) == _masked(golden.data), path
            compared += 1
    assert compared == len(ALWAYS_THERE) + 5


GOLDEN_TOPIC = "codec-none"
ALWAYS_THERE = {
    *("/admin/delete_topics", "/brokers/ids", "/brokers/ids/1", "/brokers/seqid"),
    *("/brokers/topics", "/cluster/id", "/config/brokers", "/config/changes", "/config/clients"),
    *("/config/ips", "/config/topics", "/config/users", "/consumers", "/controller"),
    *("/controller_epoch", "/feature", "/isr_change_notification", "/log_dir_event_notification"),
}
# What differs between two clusters: listeners, settings, ids, numbers, how many replicas.
MASKS = (
    (rb'(?<="endpoints":)\[[^]]*\]', b"[]"),
    (rb'(?<="listener_security_protocol_map":)\{[^}]*\}', b"{}"),
    (rb'(?<="config":)\{[^}]*\}', b"{}"),
    (rb'"[\w-]{22}"', b'"id"'),
    (rb"\d+(,\d+)*", b"0"),
)


def _masked(data: bytes | None) -> bytes:
    for pattern, mask in MASKS:
        data = re.sub(pattern, mask, data or b"")
    return data or b""
