"""Racks: consumers read from the replica beside them, if the brokers are told to let them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kafkalike.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.traffic import write_numbers
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

TOPIC, RECORDS = "racks", 100
SETTINGS = {
    "broker.rack": "rack-{id}",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers, each in a rack of its own; the topic's leader is broker 0."""
    directory = tmp_path_factory.mktemp("racks") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/cluster-racks") as cluster:
        cluster.up(settings=SETTINGS)
        cluster.create_topic(TOPIC, assignment=[[0, 1]])
        write_numbers(cluster.bootstrap_servers, TOPIC, RECORDS)
        yield cluster


def _fetch(cluster: Cluster, broker_id: int, rack: str) -> FetchablePartitionResponse:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        rack_id=rack,
        topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
    )
    with cluster.connect(broker_id) as client:
        found: FetchablePartitionResponse = (
            client.send(request, 11).responses[0].partition_responses[0]
        )
    return found


def test_leader_names_the_replica_in_the_rack_of_the_consumer(cluster: Cluster) -> None:
    near = _fetch(cluster, 0, "rack-1")
    assert (near.preferred_read_replica, bytes(near.record_set or b"")) == (1, b"")


@pytest.mark.parametrize("rack", ["rack-0", "rack-2", ""])
def test_leader_answers_itself_where_no_replica_is_nearer(cluster: Cluster, rack: str) -> None:
    here = _fetch(cluster, 0, rack)
    assert here.preferred_read_replica == -1
    assert here.record_set


def test_consumer_of_librdkafka_reads_from_the_follower_in_its_rack(cluster: Cluster) -> None:
    seen: list[int] = []

    def note(text: str) -> None:
        partition: dict[str, Any] = json.loads(text)["topics"][TOPIC]["partitions"]["0"]
        seen.append(partition["broker"])

    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "unused",
            "client.rack": "rack-1",
            "statistics.interval.ms": 50,
            "stats_cb": note,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    read: list[bytes | None] = []

    def is_read() -> bool:
        read.extend(message.value() for message in consumer.consume(RECORDS, 0.1))
        return len(read) >= RECORDS and 1 in seen

    wait_until(is_read, 30, "all records, from broker 1")
    # What is written now reaches it there too.
    write_numbers(cluster.bootstrap_servers, TOPIC, 1)
    del seen[:]
    wait_until(lambda: (is_read() and len(read) > RECORDS) or None, 30, "the new record")
    consumer.close()
    assert sorted(int(value or b"-1") for value in read) == sorted([*range(RECORDS), 0])
