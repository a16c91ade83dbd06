"""Brokers die under the client library, and its users see nothing of it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalike.client import KafkaConsumer, KafkaProducer
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

DEADLINE_S = 90.0


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Brokers 101, 102 and 103; a test that kills one starts it again."""
    directory: Path = tmp_path_factory.mktemp("client-failover") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/client-failover") as cluster:
        cluster.up("--first-id", 101)
        yield cluster


def test_leader_dies_under_load_and_no_caller_sees_an_error(cluster: Cluster) -> None:
    """M46: kill leader under load; no error seen by the caller."""
    cluster.create_topic("load", partitions=3, replication_factor=3)
    victim = cluster.partition("load").leader
    producer = KafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, acks="all", enable_idempotence=True
    )
    futures = []
    is_stopping = threading.Event()

    def work() -> None:
        while not is_stopping.wait(0.002):
            futures.append(producer.send("load", b"%d" % len(futures), partition=0))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        wait_until(lambda: any(f.is_done for f in futures), DEADLINE_S, "a record is written")
        cluster.run("kill", victim)
        before = len(futures)
        wait_until(
            lambda: len(futures) > before + 100 and futures[before + 100].is_done,
            DEADLINE_S,
            "records are written again",
        )
    finally:
        is_stopping.set()
        worker.join()
        producer.close()
        cluster.run("start", victim)
    # Idempotent and in order: offsets are dense, whatever was sent twice.
    assert [future.get(0).offset for future in futures] == list(range(len(futures)))


def test_coordinator_dies_and_the_group_reads_on(cluster: Cluster) -> None:
    """M53: kill leader/coordinator mid-consume."""
    cluster.create_topic("read", partitions=3, replication_factor=3)
    servers = cluster.bootstrap_servers
    consumer = KafkaConsumer(
        "read", bootstrap_servers=servers, group_id="readers", auto_offset_reset="earliest"
    )
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)
    found: list[int] = []

    def read_until(count: int) -> None:
        def has_all() -> bool:
            for records in consumer.poll(200).values():
                found.extend(int(record.value) for record in records)
            return len(set(found)) >= count

        wait_until(has_all, DEADLINE_S, f"{count} records are read")

    for number in range(100):
        producer.send("read", b"%d" % number)
    read_until(100)
    consumer.commit()
    victim = cluster.partition("__consumer_offsets", _partition_of("readers")).leader
    cluster.run("kill", victim)
    try:
        for number in range(100, 200):
            producer.send("read", b"%d" % number)
        read_until(200)
        consumer.commit()
    finally:
        producer.close()
        consumer.close()
        cluster.run("start", victim)
    assert sorted(set(found)) == list(range(200))


def _partition_of(group: str) -> int:
    """Return the partition of a group: Java's hash of its name over the default of 50."""
    code = 0
    for letter in group:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    return (code & 0x7FFFFFFF) % 50
