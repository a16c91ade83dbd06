"""The client library against real brokers: ours, and Apache Kafka 2.8.2 where it can run."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkalike.client import (
    ConfigResource,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewPartitions,
    NewTopic,
    OffsetAndMetadata,
    OffsetSpec,
    RoundRobinPartitioner,
    TopicPartition,
    aio,
    twisted,
)
from kafkalike.client.errors import ProducerFencedError, TopicAlreadyExistsError
from kafkalike.client.producer.murmur2 import partition_for_key
from tests.support import apache_kafka
from tests.support.apache_kafka import ApacheKafka
from tests.support.broker import Broker
from tests.support.ensemble import Ensemble
from tests.support.reactor_thread import REACTOR, ReactorThread
from tests.support.target import APACHE_KAFKA, KAFKALIKE, unique_topic

ONE_BROKER = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
}
DEADLINE_S = 60.0


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(KAFKALIKE, marks=pytest.mark.ensemble),
        pytest.param(APACHE_KAFKA, marks=[pytest.mark.kafka, pytest.mark.ensemble]),
    ],
)
def servers(
    request: pytest.FixtureRequest,
    broker_factory: Callable[..., Broker],
    ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The bootstrap servers of one broker."""
    if request.param == KAFKALIKE:
        yield broker_factory(properties=ONE_BROKER).bootstrap_servers
        return
    if apache_kafka.apache_kafka_libs() is None:
        pytest.skip(apache_kafka.why_no_apache_kafka())
    directory = tmp_path_factory.mktemp("client-kafka")
    connect = f"{ensemble.connect_string}/{directory.name}"
    with ApacheKafka(directory, zookeeper_connect=connect) as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture
def admin(servers: str) -> Iterator[KafkaAdminClient]:
    with KafkaAdminClient(bootstrap_servers=servers) as client:
        yield client


@pytest.fixture
def topic(admin: KafkaAdminClient) -> str:
    """A topic with three partitions."""
    name = unique_topic("client")
    admin.create_topics([NewTopic(name, 3, 1)], wait_for_metadata=True)
    return name


def read_all(consumer: KafkaConsumer, count: int) -> list[Any]:
    """Poll until there are so many records."""
    found: list[Any] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records"
        for records in consumer.poll(500).values():
            found += records
    return found


def partitions_of(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(3)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_is_written_is_read(servers: str, topic: str, codec: str | None) -> None:
    """M41, M42, M55: published, serialised; read and deserialised."""
    with KafkaProducer(
        bootstrap_servers=servers,
        compression_type=codec,
        linger_ms=5,
        acks="all",
        key_serializer="str",
        value_serializer="json",
    ) as producer:
        for number in range(500):
            producer.send(topic, {"n": number}, key=f"truck-{number % 7}", headers=[("h", b"1")])
    with KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        key_deserializer="str",
        value_deserializer="json",
    ) as consumer:
        found = read_all(consumer, 500)
    assert sorted(record.value["n"] for record in found) == list(range(500))
    for key in {record.key for record in found}:
        of_key = [record for record in found if record.key == key]
        assert {r.partition for r in of_key} == {partition_for_key(key.encode(), 3)}
        assert [r.value["n"] for r in of_key] == sorted(r.value["n"] for r in of_key)


def test_round_robin_spreads_evenly(servers: str, topic: str) -> None:
    """M43: 300 null-key messages over 3 partitions = 100 each."""
    with KafkaProducer(bootstrap_servers=servers, partitioner=RoundRobinPartitioner) as producer:
        futures = [producer.send(topic, b"v") for _ in range(300)]
        counts = Counter(future.get(30).partition for future in futures)
    assert counts == {0: 100, 1: 100, 2: 100}


def test_partitioner_of_ones_own(servers: str, topic: str) -> None:
    """M45: sends 123 to partition 0 and 234 to partition 1."""

    def choose(key: bytes | None, partitions: list[int], available: list[int]) -> int:
        return {b"123": 0, b"234": 1}[key or b""]

    with KafkaProducer(bootstrap_servers=servers, partitioner=choose) as producer:
        chosen = [producer.send(topic, b"v", key=key).get(30).partition for key in (b"123", b"234")]
    assert chosen == [0, 1]


def test_eight_threads_share_a_producer(servers: str, topic: str) -> None:
    """M51: thread-safe `send` from 8 threads; background sender."""
    with KafkaProducer(bootstrap_servers=servers, linger_ms=5, acks="all") as producer:

        def work(worker: int) -> None:
            for number in range(500):
                producer.send(topic, b"%d" % number, key=b"worker-%d" % worker)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush(timeout=30)
    with KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        found = read_all(consumer, 4000)
    for worker in range(8):
        of_worker = [int(r.value) for r in found if r.key == b"worker-%d" % worker]
        assert of_worker == list(range(500))


def test_back_pressure_loses_nothing(servers: str, topic: str) -> None:
    """M51: bounded buffer: `send` waits for room."""
    small = {"buffer_memory": 100_000, "batch_size": 16_000}
    with KafkaProducer(bootstrap_servers=servers, **small) as producer:
        futures = [producer.send(topic, b"x" * 1000, partition=0) for _ in range(2000)]
        assert [future.get(30).offset for future in futures] == list(range(2000))


def test_group_shares_the_partitions_and_goes_on_after_a_restart(servers: str, topic: str) -> None:
    """M61: a restarted or replaced consumer continues where the group left off."""
    settings = {
        "bootstrap_servers": servers,
        "group_id": unique_topic("group"),
        "auto_offset_reset": "earliest",
        "heartbeat_interval_ms": 100,
    }
    with KafkaProducer(bootstrap_servers=servers) as producer:
        for number in range(90):
            producer.send(topic, b"%d" % number, partition=number % 3)
    first, second = KafkaConsumer(topic, **settings), KafkaConsumer(topic, **settings)
    found: list[int] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(set(found)) < 90 or not (first.assignment() and second.assignment()):
        assert time.monotonic() < deadline
        for consumer in (first, second):
            found += [int(r.value) for rs in consumer.poll(100).values() for r in rs]
    assert not first.assignment() & second.assignment()
    assert len(first.assignment()) + len(second.assignment()) == 3
    first.close()
    second.close()
    with KafkaProducer(bootstrap_servers=servers) as producer:
        producer.send(topic, b"90")
    with KafkaConsumer(topic, **settings) as consumer:
        assert [r.value for r in read_all(consumer, 1)] == [b"90"]


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_members_come_and_go_with_every_assignor(servers: str, topic: str, strategy: str) -> None:
    settings = {
        "bootstrap_servers": servers,
        "group_id": unique_topic("group"),
        "partition_assignment_strategy": strategy,
        "heartbeat_interval_ms": 100,
    }

    def settle(consumers: list[KafkaConsumer]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while True:
            for consumer in consumers:
                consumer.poll(50)
            owned = [tp for consumer in consumers for tp in consumer.assignment()]
            if sorted(owned) == partitions_of(topic) and all(c.assignment() for c in consumers):
                return
            assert time.monotonic() < deadline, owned

    consumers = [KafkaConsumer(topic, **settings)]
    settle(consumers)
    consumers.append(KafkaConsumer(topic, **settings))
    settle(consumers)
    consumers.append(KafkaConsumer(topic, **settings))
    settle(consumers)
    consumers.pop(0).close()
    settle(consumers)
    for consumer in consumers:
        consumer.close()


def test_listener_may_call_the_consumer(servers: str, topic: str) -> None:
    told: list[Any] = []

    class Listener:
        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            consumer.commit()
            told.append(("revoked", len(revoked)))

        def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            for tp in assigned:
                consumer.seek(tp, 1)
            told.append(("assigned", len(assigned)))

    with KafkaProducer(bootstrap_servers=servers) as producer:
        for number in range(6):
            producer.send(topic, b"%d" % (number // 3), partition=number % 3)
    consumer = KafkaConsumer(
        bootstrap_servers=servers, group_id=unique_topic("group"), enable_auto_commit=False
    )
    consumer.subscribe([topic], listener=Listener())
    assert {record.value for record in read_all(consumer, 3)} == {b"1"}
    consumer.close()
    assert told == [("revoked", 0), ("assigned", 3), ("revoked", 3)]


def test_commits_by_hand(servers: str, topic: str) -> None:
    """M63: `commitSync`, `commitAsync` after processing, blocking."""
    tp = TopicPartition(topic, 0)
    with KafkaConsumer(
        bootstrap_servers=servers, group_id=unique_topic("g"), enable_auto_commit=False
    ) as consumer:
        consumer.assign([tp])
        assert consumer.committed(tp) is None
        consumer.commit({tp: OffsetAndMetadata(5, "note")})
        assert consumer.committed(tp, metadata=True)[:2] == (5, "note")
        told: list[Any] = []
        consumer.commit_async({tp: OffsetAndMetadata(6)}, lambda *args: told.append(args))
        deadline = time.monotonic() + DEADLINE_S
        while not told:
            assert time.monotonic() < deadline
            consumer.poll(50)
        assert told[0][1] is None
        assert consumer.committed(tp) == 6


def test_transactions_are_all_or_nothing(servers: str, topic: str) -> None:
    tp, name = TopicPartition(topic, 0), unique_topic("txn")
    group = unique_topic("group")
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=name)
    producer.init_transactions()
    for value, is_kept in ((b"a", True), (b"b", False), (b"c", True)):
        producer.begin_transaction()
        producer.send(topic, value, partition=0)
        if is_kept:
            producer.send_offsets_to_transaction({tp: OffsetAndMetadata(42)}, group)
            producer.commit_transaction()
        else:
            producer.flush()
            producer.abort_transaction()
    with KafkaConsumer(
        bootstrap_servers=servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        group_id=group,
        enable_auto_commit=False,
    ) as consumer:
        consumer.assign([tp])
        assert consumer.committed(tp) == 42
        consumer.seek_to_beginning(tp)
        assert [record.value for record in read_all(consumer, 2)] == [b"a", b"c"]
    newer = KafkaProducer(bootstrap_servers=servers, transactional_id=name)
    newer.init_transactions()
    producer.begin_transaction()
    with pytest.raises(ProducerFencedError):  # noqa: PT012 (either call may be told first)
        producer.send(topic, b"d", partition=0).get(30)
        producer.commit_transaction()
    producer.close()
    newer.close()


def test_admin_manages_topics_configs_and_groups(servers: str, admin: KafkaAdminClient) -> None:
    name, group = unique_topic("managed"), unique_topic("group")
    admin.create_topics([NewTopic(name, 1, 1, topic_configs={"retention.ms": "1000000"})])
    with pytest.raises(TopicAlreadyExistsError, match=name):
        admin.create_topics([NewTopic(name, 1, 1)])
    admin.create_partitions({name: NewPartitions(3)})
    admin.wait_for_topics([name])
    assert name in admin.list_topics()
    admin.alter_configs([ConfigResource("topic", name, {"segment.bytes": "2000000"})])
    found = admin.describe_configs([ConfigResource("topic", name)], config_filter="modified")
    changed = {k: c["value"] for k, c in found["topic"][name].items()}
    assert {"retention.ms": "1000000", "segment.bytes": "2000000"}.items() <= changed.items()
    tp = TopicPartition(name, 0)
    with KafkaProducer(bootstrap_servers=servers) as producer:
        for _ in range(5):
            producer.send(name, b"v", partition=0)
    admin.delete_records({tp: 2})
    offsets = admin.list_partition_offsets({tp: OffsetSpec.EARLIEST})
    assert offsets[tp].offset == 2
    admin.reset_group_offsets(group, {tp: OffsetSpec.LATEST})
    assert admin.list_consumer_group_offsets(group)[tp].offset == 5
    assert group in {listed["group_id"] for listed in admin.list_groups()}
    assert admin.describe_groups([group])[group]["group_state"] == "Empty"
    admin.delete_groups([group])
    admin.delete_topics([name])
    assert admin.describe_cluster()["controller_id"] == 1


def test_asyncio_face_reads_and_writes(servers: str, topic: str) -> None:
    """M63: commit in an asynchronous client."""

    async def main() -> list[bytes]:
        async with aio.KafkaProducer(bootstrap_servers=servers) as producer:
            futures = [await producer.send(topic, b"%d" % n, partition=0) for n in range(10)]
            assert [(await future).offset for future in futures] == list(range(10))
        consumer = aio.KafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=unique_topic("group"),
            auto_offset_reset="earliest",
        )
        found = []
        async for record in consumer:
            found.append(record.value)
            if len(found) == 10:
                break
        await consumer.commit()
        assert await consumer.committed(TopicPartition(topic, 0)) == 10
        await consumer.close()
        return found

    assert asyncio.run(main()) == [b"%d" % number for number in range(10)]


def test_twisted_face_reads_and_writes(
    servers: str, topic: str, reactor_thread: ReactorThread
) -> None:
    """M63: commit in the Twisted client."""

    async def main() -> list[bytes]:
        producer = twisted.KafkaProducer(reactor=REACTOR, bootstrap_servers=servers)
        for number in range(10):
            await producer.send(topic, b"%d" % number, partition=0)
        await producer.close()
        consumer = twisted.KafkaConsumer(
            topic,
            reactor=REACTOR,
            bootstrap_servers=servers,
            group_id=unique_topic("group"),
            auto_offset_reset="earliest",
        )
        found: list[bytes] = []
        while len(found) < 10:
            for records in (await consumer.poll(1000)).values():
                found += [record.value for record in records]
        await consumer.commit()
        assert await consumer.committed(TopicPartition(topic, 0)) == 10
        await consumer.close()
        return found

    assert reactor_thread.run(main()) == [b"%d" % number for number in range(10)]
