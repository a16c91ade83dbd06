"""Brokers of one test: made when asked for, ended with the test."""

from collections.abc import Callable, Mapping
from pathlib import Path

from kafkalike.client.simple_client import SimpleClient
from tests.support import wire
from tests.support.broker import Broker
from tests.support.waiting import wait_until

STARTED = "is started"  # A broker answers a little before it has registered and says this.


class NewBroker:
    """The fixture `new_broker`: call it to have a broker in the cluster of the test."""

    def __init__(self, directory: Path, cluster_connect: Callable[[], str]) -> None:
        self._directory = directory
        self._cluster_connect = cluster_connect
        self._brokers: list[Broker] = []

    def __call__(
        self,
        *,
        broker_id: int = 1,
        properties: Mapping[str, str] | None = None,
        is_started: bool = True,
        is_supervised: bool = False,
        zookeeper_connect: str | None = None,
    ) -> Broker:
        """Make a broker and, unless told, start it."""
        connect = zookeeper_connect or self._cluster_connect()
        home = self._directory / f"{len(self._brokers)}-broker-{broker_id}"
        broker = Broker(
            home,
            connect,
            broker_id=broker_id,
            properties=properties,
            is_supervised=is_supervised,
        )
        self._brokers.append(broker)
        if is_started:
            broker.start()
            broker.wait_for_log(STARTED)
        return broker

    def stop(self) -> None:
        """End all brokers; their data goes with the test, so without goodbye."""
        for broker in reversed(self._brokers):
            broker.kill()


def connect_to(broker: Broker, *, timeout_s: float = 30.0) -> SimpleClient:
    """Open a connection that sends any request in any version."""
    return SimpleClient("127.0.0.1", broker.port, timeout_s=timeout_s)


def wait_until_led(broker: Broker, topic: str, partitions: int = 1) -> None:
    """Wait until the broker, just started, says that so many partitions have a leader."""
    with connect_to(broker) as client:
        wait_until(lambda: wire.is_led(client, topic, partitions), 30, f"leaders of {topic}")
