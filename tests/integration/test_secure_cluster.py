"""Three brokers that trust each other by SCRAM under TLS, and nobody else without an ACL."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalike.client import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewTopic,
    TopicPartition,
)
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.server.forwarding.mark import mark
from tests.support import wire
from tests.support.broker import Broker
from tests.support.ensemble import Ensemble
from tests.support.new_broker import STARTED
from tests.support.secure_site import ADMIN_PASSWORD, BROKER_PASSWORD, Login, SecureSite, welcome
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

ALICE = Login("SASL", "PLAIN")
ADMIN = Login("SASL", "PLAIN", "admin", ADMIN_PASSWORD)
BY_SCRAM = {
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "listener.name.secure.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required username=broker "
        f'password="{BROKER_PASSWORD}";'
    ),
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "5000",
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> list[SecureSite]:
    """The same certificates, three times other ports."""
    first = SecureSite(tmp_path_factory.mktemp("site"))
    return [first, first.another_broker(), first.another_broker()]


@pytest.fixture(scope="module")
def brokers(
    sites: list[SecureSite], ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Broker]]:
    """Three brokers; their own credential is in ZooKeeper before the first of them starts."""
    connect = f"{ensemble.connect_string}/secure-cluster"
    tool = [sys.executable, "-m", "kafkalike.cli.tools", "kafka-configs", "--zookeeper", connect]
    credential = f"SCRAM-SHA-512=[password={BROKER_PASSWORD}]"
    user = ["--alter", "--add-config", credential, "--entity-type", "users", "--entity-name"]
    done = subprocess.run([*tool, *user, "broker"], timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    directory: Path = tmp_path_factory.mktemp("secure-cluster")
    started = [
        Broker(
            directory / str(number),
            connect,
            broker_id=number,
            properties={**site.properties, **BY_SCRAM},
        )
        for number, site in enumerate(sites, 1)
    ]
    for broker, site in zip(started, sites, strict=True):
        broker.port = site.ports["OPEN"]
        broker.start()
    for broker in started:
        broker.wait_for_log(STARTED)
    yield started
    for broker in started:
        broker.kill()


@pytest.fixture(scope="module")
def admin(sites: list[SecureSite], brokers: list[Broker]) -> Iterator[KafkaAdminClient]:
    """The one who may do everything."""
    client = sites[0].admin()
    welcome(client, "alice")
    yield client
    client.close()


def test_request_that_is_sent_on_has_the_rights_of_its_client_and_not_of_the_broker(
    sites: list[SecureSite], admin: KafkaAdminClient
) -> None:
    """M56, M81: every broker asks its own authorizer for the client that it talks to."""
    mine, bobs = unique_topic("alice"), unique_topic("bob")
    admin.create_topics([NewTopic(mine, 1, 1), NewTopic(bobs, 1, 1)])
    for site in sites:
        with site.connect(ALICE) as client:
            wait_until(lambda c=client: wire.append(c, mine, b"x") >= 0)
            denied = wire.produce(client, bobs, wire.batch(b"x"))
            assert denied.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
            assert wire.fetch(client, bobs, 0).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
            topic = CreatableTopic(name=bobs + "-2", num_partitions=1, replication_factor=1)
            created = client.send(CreateTopicsRequest(topics=[topic], timeout_ms=5000)).topics[0]
            assert created.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with sites[2].connect(ALICE) as client:
        assert len(wire.fetch_records(client, mine, 0)) == 3


def test_client_does_not_pass_as_a_broker_by_the_mark_of_requests_that_are_sent_on(
    sites: list[SecureSite], brokers: list[Broker], admin: KafkaAdminClient
) -> None:
    """Whoever writes it into its client id is asked like everybody."""
    topic = unique_topic("bob")
    admin.create_topics([NewTopic(topic, 1, 1)])
    for site in sites:
        with site.connect(ALICE, client_id=mark("alice", 2)) as client:
            denied = wire.produce(client, topic, wire.batch(b"x"))
            assert denied.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_records_are_copied_and_outlive_their_leader(
    sites: list[SecureSite], brokers: list[Broker], admin: KafkaAdminClient
) -> None:
    """M74: followers log in, fetch under TLS, and one of them takes over."""
    topic = unique_topic("alice")
    admin.create_topics([NewTopic(topic, 1, 3, topic_configs={"min.insync.replicas": "2"})])
    settings = sites[0].python_settings(Login("SECURE", "SCRAM-SHA-256"))
    settings["bootstrap_servers"] = ",".join(site.bootstrap("SECURE") for site in sites)
    producer = KafkaProducer(**settings, acks="all")
    for number in range(50):
        producer.send(topic, b"%d" % number, partition=0).get(timeout=30)
    with sites[0].connect(ADMIN) as client:
        (found,) = wire.metadata(client, topic).partitions
        assert sorted(found.isr_nodes) == [1, 2, 3]
    dead = found.leader_id
    brokers[dead - 1].kill()
    for number in range(50, 100):
        producer.send(topic, b"%d" % number, partition=0).get(timeout=60)
    producer.close()
    consumer = KafkaConsumer(**settings, auto_offset_reset="earliest", consumer_timeout_ms=20_000)
    consumer.assign([TopicPartition(topic, 0)])
    values = [record.value for record, _ in zip(consumer, range(100), strict=False)]
    consumer.close()
    assert values == [b"%d" % number for number in range(100)]
    brokers[dead - 1].start()
    brokers[dead - 1].wait_for_log(STARTED)
    with sites[dead % 3].connect(ADMIN) as client:

        def is_back() -> bool:
            client.send(MetadataRequest(topics=[]))
            (partition,) = wire.metadata(client, topic).partitions
            return sorted(partition.isr_nodes) == [1, 2, 3]

        wait_until(is_back, 30)
