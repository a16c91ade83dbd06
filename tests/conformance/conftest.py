"""The two brokers that conformance tests ask: ours, and the real one that shows the test is right.

Tests with the marker `kafka` run against Apache Kafka 2.8.2; `-m "not kafka"` leaves them out.
"""

from collections.abc import Callable, Iterator

import pytest

from kafkalike.launcher.cluster_view import view_from
from tests.support import apache_kafka
from tests.support.apache_kafka import ApacheKafka
from tests.support.broker import Broker
from tests.support.ensemble import Ensemble
from tests.support.target import APACHE_KAFKA, KAFKALIKE, Target
from tests.support.waiting import wait_until

BOTH = [
    pytest.param(KAFKALIKE, marks=pytest.mark.ensemble),
    pytest.param(APACHE_KAFKA, marks=[pytest.mark.kafka, pytest.mark.ensemble]),
]
# Limits that a test can reach quickly, and that no other test could live with.
STRICT = {
    "socket.request.max.bytes": "100000",
    "connections.max.idle.ms": "1500",
    "max.connections.per.ip": "5",
    "auto.create.topics.enable": "false",
}


@pytest.fixture(scope="session")
def apache_broker_factory(
    ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Target]]:
    """Start real brokers, each a cluster of its own: `apache_broker_factory({"key": "value"})`."""
    if apache_kafka.apache_kafka_libs() is None:
        pytest.skip(apache_kafka.why_no_apache_kafka())
    started: list[ApacheKafka] = []

    def make(properties: dict[str, str]) -> Target:
        directory = tmp_path_factory.mktemp("apache-kafka")
        connect = f"{ensemble.connect_string}/{directory.name}"
        kafka = ApacheKafka(directory, properties=properties, zookeeper_connect=connect)
        started.append(kafka)
        kafka.start()
        # It says that it is up before it knows of itself, and can create no topic until then.
        wait_until(lambda: view_from("127.0.0.1", kafka.ports[1]).brokers, 30, "metadata")
        return Target(APACHE_KAFKA, kafka.ports[1])

    yield make
    for kafka in started:
        kafka.stop()


@pytest.fixture(scope="session")
def apache_broker(apache_broker_factory: Callable[..., Target]) -> Target:
    """One Apache Kafka broker that all modules share."""
    return apache_broker_factory({})


@pytest.fixture(scope="session")
def strict_apache_broker(apache_broker_factory: Callable[..., Target]) -> Target:
    """One Apache Kafka broker with the limits of `STRICT`."""
    return apache_broker_factory(STRICT)


@pytest.fixture(scope="module")
def strict_broker(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Our broker with the limits of `STRICT`, a cluster of its own as well."""
    directory = tmp_path_factory.mktemp("strict")
    connect = f"{ensemble.connect_string}/{directory.name}"
    broker = Broker(directory, connect, properties=STRICT)
    broker.start()
    yield broker
    broker.terminate()


@pytest.fixture(scope="module", params=BOTH)
def target(request: pytest.FixtureRequest) -> Target:
    """Our broker with default settings, then Apache Kafka's."""
    if request.param == APACHE_KAFKA:
        return request.getfixturevalue("apache_broker")
    return Target(KAFKALIKE, request.getfixturevalue("broker").port)


@pytest.fixture(scope="module", params=BOTH)
def strict_target(request: pytest.FixtureRequest) -> Target:
    """Our broker with the limits of `STRICT`, then Apache Kafka's."""
    if request.param == APACHE_KAFKA:
        return request.getfixturevalue("strict_apache_broker")
    return Target(KAFKALIKE, request.getfixturevalue("strict_broker").port)
