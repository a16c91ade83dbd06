"""Our brokers and a real Apache Kafka 2.8.2 broker are one cluster, in every role."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.apache_kafka import ApacheKafka, apache_kafka_libs, why_no_apache_kafka
from tests.support.broker import Broker
from tests.support.ensemble import Ensemble, start_ensemble
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.ensemble]

TOPIC = "shared"
PARTITIONS = 6
APACHE = 3
PROPERTIES = {"zookeeper.session.timeout.ms": "6000", "replica.lag.time.max.ms": "5000"}


class Cluster:
    """Brokers 1 and 2 are ours, broker 3 is Apache's; every acknowledged record is remembered."""

    def __init__(self, directory: Path, ensemble: Ensemble) -> None:
        self.ours = {
            number: Broker(
                directory / f"ours-{number}",
                ensemble.connect_string,
                broker_id=number,
                properties=PROPERTIES,
            )
            for number in (1, 2)
        }
        self.apache = ApacheKafka(
            directory / "apache",
            first_id=APACHE,
            zookeeper_connect=ensemble.connect_string,
            properties=PROPERTIES,
        )
        self.acked: dict[tuple[int, int], bytes] = {}
        self._sent = 0

    def start(self) -> None:
        for broker in self.ours.values():
            broker.start()
        self.apache.start()
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        self.admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(30)
        self.producer = Producer(
            {"bootstrap.servers": self.bootstrap_servers, "acks": "all", "linger.ms": 5}
        )

    def stop(self) -> None:
        for broker in self.ours.values():
            broker.terminate()
        self.apache.stop()

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(
            [*(b.bootstrap_servers for b in self.ours.values()), self.apache.bootstrap_servers]
        )

    def produce(self, count: int = 1000) -> None:
        """Produce to all partitions with acks=all; every record is acknowledged."""
        failed: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error)
            else:
                self.acked[message.partition(), message.offset()] = message.value()

        for _ in range(count):
            value = f"record {self._sent}".encode()
            self.producer.produce(
                TOPIC, value, partition=self._sent % PARTITIONS, on_delivery=delivered
            )
            self._sent += 1
            self.producer.poll(0)
        assert self.producer.flush(60) == 0
        assert failed == []

    def metadata(self) -> Any:
        return self.admin.list_topics(TOPIC, 10)

    def controller(self) -> int:
        return int(self.metadata().controller_id)

    def leaders(self) -> set[int]:
        return {p.leader for p in self.metadata().topics[TOPIC].partitions.values()}

    def isrs(self) -> list[set[int]]:
        return [set(p.isrs) for p in self.metadata().topics[TOPIC].partitions.values()]

    def wait_for_isr(self, *brokers: int) -> None:
        wait_until(
            lambda: all(isr == set(brokers) for isr in self.isrs()), 60, f"ISR {brokers} everywhere"
        )

    def wait_for_controller(self, *brokers: int) -> None:
        wait_until(lambda: self.controller() in brokers, 60, f"one of {brokers} as controller")

    def consume_all(self) -> dict[tuple[int, int], bytes]:
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": "unused"})
        partitions = [TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)]
        consumer.assign(partitions)

        def end_offsets() -> int | None:
            # Leaders move back to their preferred brokers at times of their own choosing.
            try:
                consumer.list_topics(TOPIC, 10)
                return sum(consumer.get_watermark_offsets(p, 10)[1] for p in partitions)
            except KafkaException:
                return None

        ends = wait_until(end_offsets, 30, "end offsets of all partitions")
        got: dict[tuple[int, int], bytes] = {}

        def all_read() -> bool:
            for message in consumer.consume(5000, 0.5):
                assert message.error() is None
                got[message.partition(), message.offset()] = message.value()
            return len(got) == ends

        try:
            wait_until(all_read, 60, f"{ends} records")
        finally:
            consumer.close()
        return got


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if apache_kafka_libs() is None:
        pytest.skip(why_no_apache_kafka())
    with ExitStack() as stack:
        ensemble = start_ensemble(tmp_path / "zookeeper", 1)
        stack.callback(ensemble.stop)
        made = Cluster(tmp_path, ensemble)
        stack.callback(made.stop)
        made.start()
        yield made


def test_each_is_controller_leader_and_follower_in_turn(cluster: Cluster) -> None:
    """M28: two of ours and one of Apache's replicate each other's records, whoever decides."""
    cluster.wait_for_isr(1, 2, 3)
    assert cluster.leaders() == {1, 2, 3}
    cluster.produce()

    # Ours decides; one of ours dies without goodbye and comes back.
    assert cluster.controller() in (1, 2)
    first = cluster.controller()
    cluster.ours[first].kill()
    cluster.produce()
    cluster.wait_for_controller(3 - first, APACHE)
    cluster.ours[first].start()
    cluster.wait_for_isr(1, 2, 3)
    cluster.produce()

    # Apache's decides: there is no other for a moment.
    for number in (1, 2):
        cluster.ours[number].terminate()
    cluster.wait_for_controller(APACHE)
    cluster.produce()
    assert cluster.leaders() == {APACHE}
    for number in (1, 2):
        cluster.ours[number].start()
    cluster.wait_for_isr(1, 2, 3)
    cluster.produce()

    # Apache's dies; ours lead what it led, and it follows them when it is back.
    cluster.apache.brokers[APACHE].kill()
    cluster.wait_for_controller(1, 2)
    cluster.produce()
    assert cluster.leaders() <= {1, 2}
    cluster.apache.brokers[APACHE].start()
    cluster.wait_for_isr(1, 2, 3)
    cluster.produce()

    got = cluster.consume_all()
    assert {place: got.get(place) for place in cluster.acked} == cluster.acked
    # A retry after a lost answer may have written a record twice, but never another one.
    assert len(cluster.acked) == 7000
    assert set(got.values()) == set(cluster.acked.values())


def test_log_directory_of_a_stopped_broker_is_taken_over_and_given_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    """M3: the files are Kafka's own, so either broker goes on where the other stopped."""
    cluster.wait_for_isr(1, 2, 3)
    cluster.produce()
    cluster.apache.brokers[APACHE].terminate()
    stand_in = Broker(
        tmp_path / "stand-in",
        cluster.apache.zookeeper_connect,
        broker_id=APACHE,
        properties={
            **PROPERTIES,
            "log.dirs": str(tmp_path / "apache" / f"broker-{APACHE}"),
            "listeners": f"PLAINTEXT://127.0.0.1:{cluster.apache.ports[APACHE]}",
        },
    )
    stand_in.port = cluster.apache.ports[APACHE]
    stand_in.start()
    try:
        cluster.wait_for_isr(1, 2, 3)
        cluster.produce()
    finally:
        stand_in.terminate()
    cluster.apache.brokers[APACHE].start()
    cluster.wait_for_isr(1, 2, 3)
    cluster.produce()
    for number in (1, 2):
        cluster.ours[number].terminate()
    cluster.wait_for_controller(APACHE)
    # Only what Apache's broker has now: its own records, and those that ours wrote for it.
    assert cluster.consume_all() == cluster.acked
    assert len(cluster.acked) == 3000
