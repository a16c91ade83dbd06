"""Topics for tests with Spark: made, filled and read with the client library."""

import time
from collections.abc import Iterable

from kafkalike.client import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewTopic,
    TopicPartition,
)
from tests.support.broker import Broker

_PATIENCE_S = 60


def create_topic(kafka: Broker, topic: str, partitions: int = 2) -> None:
    with KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])


def fill(kafka: Broker, topic: str, values: Iterable[bytes], partitions: int = 2) -> None:
    """Write values to the partitions in turn."""
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all") as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, key=b"%d" % number, partition=number % partitions)


def committed_values(kafka: Broker, topic: str, partitions: int = 2) -> list[bytes | None]:
    """Return all values that a reader of committed records sees."""
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    tps = [TopicPartition(topic, number) for number in range(partitions)]
    consumer.assign(tps)
    consumer.seek_to_beginning(*tps)
    ends = consumer.end_offsets(tps)
    found: list[bytes | None] = []
    deadline = time.monotonic() + _PATIENCE_S
    while any(consumer.position(tp) < ends[tp] for tp in tps):
        assert time.monotonic() < deadline, {tp: (consumer.position(tp), ends[tp]) for tp in tps}
        for records in consumer.poll(timeout_ms=500, max_records=10_000).values():
            found += [record.value for record in records]
    consumer.close()
    return found
