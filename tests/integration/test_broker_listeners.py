"""Where a broker listens, what it says of itself, and how clients find it."""

import socket
from collections.abc import Sequence

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.metadata import MetadataRequest
from tests.support import wire
from tests.support.broker import answers_api_versions
from tests.support.clients.all_clients import NAMES, client_or_skip
from tests.support.clients.message import Message
from tests.support.new_broker import STARTED, NewBroker, connect_to
from tests.support.ports import free_port, free_ports
from tests.support.process import process_tree
from tests.support.znode_client import ZnodeClient

pytestmark = pytest.mark.ensemble

DEFAULT_PORT = 9092


def _told_addresses(port: int) -> list[tuple[int, str, int]]:
    with SimpleClient("127.0.0.1", port) as client:
        answer = client.send(MetadataRequest(topics=[]))
    return [(broker.node_id, broker.host, broker.port) for broker in answer.brokers]


def test_every_listener_tells_its_own_address(new_broker: NewBroker, znodes: ZnodeClient) -> None:
    """M25: distinct listeners and advertised.listeners, on different ports and names."""
    inside, outside, behind_nat = free_ports(3)
    broker = new_broker(
        is_started=False,
        properties={
            "listeners": f"INSIDE://127.0.0.1:{inside},OUTSIDE://:{outside}",
            "advertised.listeners": f"INSIDE://127.0.0.1:{inside},OUTSIDE://localhost:{behind_nat}",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
        },
    )
    broker.port = inside
    broker.start()
    broker.wait_for_log(STARTED)
    assert _told_addresses(inside) == [(1, "127.0.0.1", inside)]
    assert _told_addresses(outside) == [(1, "localhost", behind_nat)]
    registered = znodes.json("/brokers/ids/1")
    assert registered["endpoints"] == [
        f"INSIDE://127.0.0.1:{inside}",
        f"OUTSIDE://localhost:{behind_nat}",
    ]
    assert registered["listener_security_protocol_map"] == {
        "INSIDE": "PLAINTEXT",
        "OUTSIDE": "PLAINTEXT",
    }


def test_brokers_of_a_cluster_have_their_own_addresses(new_broker: NewBroker) -> None:
    """M25, M23: each on its own address and port, and each tells them all."""
    brokers = []
    for number in (2, 3):
        broker = new_broker(broker_id=number, is_started=False)
        broker.properties["listeners"] = f"PLAINTEXT://127.0.0.{number}:{broker.port}"
        broker.start_without_waiting()
        broker.wait_for_log(STARTED)
        brokers.append(broker)
    expected = [(b.broker_id, f"127.0.0.{b.broker_id}", b.port) for b in brokers]
    for broker in brokers:
        with SimpleClient(f"127.0.0.{broker.broker_id}", broker.port) as client:
            _wait_for_brokers(client, expected)


def _wait_for_brokers(client: SimpleClient, expected: Sequence[tuple[int, str, int]]) -> None:
    def told() -> bool:
        brokers = client.send(MetadataRequest(topics=[])).brokers
        return sorted((b.node_id, b.host, b.port) for b in brokers) == list(expected)

    wire.wait_until(told, 15, f"metadata with {expected}")


def test_broker_listens_on_port_9092_by_default(new_broker: NewBroker) -> None:
    """M19: a server process on a TCP port that speaks Kafka's protocol."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", DEFAULT_PORT)) == 0:
            pytest.skip("something else listens on port 9092 of this machine")
    broker = new_broker(is_started=False)
    del broker.properties["listeners"]
    broker.port = DEFAULT_PORT
    broker.start()
    broker.wait_for_log(STARTED)
    with connect_to(broker) as client:
        wire.append(client, wire.create_topic(client), b"value")


@pytest.mark.parametrize("name", NAMES)
def test_dead_host_in_the_bootstrap_list_is_skipped(new_broker: NewBroker, name: str) -> None:
    """M24: one living broker among the addresses is enough."""
    client = client_or_skip(name)
    broker = new_broker()
    bootstrap_servers = f"127.0.0.1:{free_port()},{broker.bootstrap_servers}"
    with connect_to(broker) as connection:
        topic = wire.create_topic(connection)
    client.produce(bootstrap_servers, topic, [Message(b"key", b"value")], "none")
    (record,) = client.consume(bootstrap_servers, topic, 1)
    assert (record.key, record.value) == (b"key", b"value")


def test_address_in_use_by_another_broker_is_refused(new_broker: NewBroker) -> None:
    first = new_broker(broker_id=1)
    second = new_broker(broker_id=2, is_started=False)
    second.properties["listeners"] = f"PLAINTEXT://127.0.0.1:{first.port}"
    second.start_without_waiting()
    assert second.wait(30) == 1
    assert answers_api_versions(first.port)


def test_broker_stays_small(new_broker: NewBroker) -> None:
    """The broker and its supervisor together, just started."""
    broker = new_broker(is_supervised=True)
    assert len(process_tree(broker.pid)) == 2
    assert broker.rss_bytes() < 100 << 20
