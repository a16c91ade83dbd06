"""Topics and records on one broker: many of them, of any kind, from many producers at once."""

import random
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.records.batch_builder import BatchBuilder
from tests.support import wire
from tests.support.broker import Broker
from tests.support.clients.confluent import ConfluentClient
from tests.support.clients.message import Message
from tests.support.new_broker import NewBroker, connect_to
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble


@pytest.fixture
def client(broker: Broker) -> Iterator[SimpleClient]:
    with connect_to(broker) as connection:
        yield connection


def test_one_topic_with_one_partition_on_one_broker(broker: Broker, client: SimpleClient) -> None:
    """M14: the smallest cluster there is, with a stock client."""
    topic = wire.create_topic(client)
    stock = ConfluentClient()
    messages = [Message(b"key", b"value %d" % number) for number in range(10)]
    stock.produce(broker.bootstrap_servers, topic, messages, "none")
    received = stock.consume(broker.bootstrap_servers, topic, 10)
    assert [record.value for record in received] == [message.value for message in messages]


def test_a_thousand_topics_on_one_broker(new_broker: NewBroker) -> None:
    """M12: each has its own name, its own records, its own offsets from 0 on."""
    broker = new_broker()
    names = [unique_topic("one-of-many") for _ in range(1000)]
    with connect_to(broker, timeout_s=60) as client:
        _create(client, names)
        wait_until(lambda: _led(client) >= set(names), 60, "leaders of all topics")
        for name in names:
            assert wire.append(client, name, name.encode()) == 0
        for name in random.Random(12).sample(names, 50):
            (record,) = wire.read_all(client, name)
            assert record.value == name.encode()
        again = CreatableTopic(name=names[0], num_partitions=1, replication_factor=1)
        (answer,) = client.send(CreateTopicsRequest(topics=[again])).topics
        assert answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def _create(client: SimpleClient, names: list[str]) -> None:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    answer = client.send(CreateTopicsRequest(topics=topics, timeout_ms=60_000))
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.NONE}


def _led(client: SimpleClient) -> set[str]:
    """The topics of which every partition has a leader."""
    return {
        topic.name
        for topic in client.send(MetadataRequest(topics=None)).topics
        if all(partition.leader_id >= 0 for partition in topic.partitions)
    }


@pytest.mark.parametrize("partitions", [1, 2, 7, 500])
def test_topic_has_as_many_partitions_as_asked(client: SimpleClient, partitions: int) -> None:
    """M13: chosen at creation; each has its own offsets."""
    topic = wire.create_topic(client, "wide", partitions=partitions)
    told = wire.metadata(client, topic).partitions
    assert sorted(p.partition_index for p in told) == list(range(partitions))
    for partition in {0, partitions // 2, partitions - 1}:
        assert wire.append(client, topic, b"value", partition=partition) == 0


@pytest.mark.parametrize("partitions", [0, -2])
def test_topic_has_at_least_one_partition(client: SimpleClient, partitions: int) -> None:
    """M13."""
    name = unique_topic("none")
    wanted = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    (answer,) = client.send(CreateTopicsRequest(topics=[wanted])).topics
    assert answer.error_code == ErrorCode.INVALID_PARTITIONS


def test_keys_and_values_are_opaque_bytes(client: SimpleClient) -> None:
    """M10, M11: random bytes, nothing, null, a megabyte, half of a UTF-8 character."""
    chance = random.Random(10)
    contents = [None, b"", b"\x00", b"\xff\xfe", "ü".encode()[:1], b'{"json": tru']
    contents += [chance.randbytes(size) for size in (1, 100, 10_000, 1_000_000)]
    topic = wire.create_topic(client, "opaque")
    sent = [(key, value) for value in contents for key in (None, b"", chance.randbytes(50))]
    for key, value in sent:
        builder = BatchBuilder()
        builder.append(wire.now_ms(), key, value)
        assert wire.produce(client, topic, builder.build()).error_code == ErrorCode.NONE
    assert [(record.key, record.value) for record in wire.read_all(client, topic)] == sent


def test_producers_share_topics(broker: Broker) -> None:
    """M18, M17: eight at once, to the same topic and to different ones; each in its own order."""
    with connect_to(broker) as client:
        topics = [wire.create_topic(client, "shared", partitions=2) for _ in range(3)]
    producers, count = 8, 200

    def run(producer: int) -> None:
        with connect_to(broker) as connection:
            for number in range(count):
                value = struct.pack(">ii", producer, number)
                wire.append(connection, topics[number % 3], value, partition=producer % 2)

    with ThreadPoolExecutor(producers) as pool:
        list(pool.map(run, range(producers)))
    seen: dict[int, list[int]] = {producer: [] for producer in range(producers)}
    with connect_to(broker) as client:
        for topic in topics:
            for partition in (0, 1):
                records = wire.read_all(client, topic, partition=partition)
                assert [record.offset for record in records] == list(range(len(records)))
                of_producer: dict[int, list[int]] = {}
                for record in records:
                    producer, number = struct.unpack(">ii", record.value or b"")
                    of_producer.setdefault(producer, []).append(number)
                for producer, numbers in of_producer.items():
                    assert numbers == sorted(numbers)
                    seen[producer] += numbers
    assert all(sorted(numbers) == list(range(count)) for numbers in seen.values())


def test_offsets_are_the_distance_from_the_start(client: SimpleClient) -> None:
    """M7: in every partition from 0 on, one by one, whatever the batches are."""
    chance = random.Random(7)
    topic = wire.create_topic(client, "dense", partitions=2)
    ends = [0, 0]
    for _ in range(60):
        partition, size = chance.randrange(2), chance.randrange(1, 30)
        values = [b"%d" % number for number in range(size)]
        assert wire.append(client, topic, *values, partition=partition) == ends[partition]
        ends[partition] += size
    for partition in (0, 1):
        records = wire.read_all(client, topic, partition=partition)
        assert [record.offset for record in records] == list(range(ends[partition]))
