"""ListOffsets, OffsetForLeaderEpoch and Metadata, version by version."""

from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support import wire
from tests.support.target import Target, unique_topic
from tests.support.waiting import wait_until

TIME_MS = 1_600_000_000_000


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def topic(client: SimpleClient) -> str:
    """Ten records, a second apart."""
    name = wire.create_topic(client, "times", partitions=2, configs=wire.KEPT_FOREVER)
    for number in range(10):
        wire.produce(client, name, wire.batch(b"value", timestamp=TIME_MS + number * 1000))
    return name


@pytest.mark.parametrize("version", range(1, 7))
@pytest.mark.parametrize(
    ("asked", "offset", "timestamp"),
    [
        (wire.EARLIEST, 0, -1),
        (wire.LATEST, 10, -1),
        (0, 0, TIME_MS),
        (TIME_MS + 3000, 3, TIME_MS + 3000),
        (TIME_MS + 3001, 4, TIME_MS + 4000),
        (TIME_MS + 9001, -1, -1),
    ],
)
def test_offset_belongs_to_a_time(
    client: SimpleClient, topic: str, version: int, asked: int, offset: int, timestamp: int
) -> None:
    """M5: earliest, latest, and the first record at or after a time."""
    answer = wire.list_offsets(client, topic, asked, version=version)
    assert answer.error_code == ErrorCode.NONE
    assert (answer.offset, answer.timestamp) == (offset, timestamp)
    assert answer.leader_epoch == (0 if version >= 4 and offset >= 0 else -1)


@pytest.mark.parametrize(
    ("asked", "count", "offsets"),
    [(wire.LATEST, 1, [10]), (wire.LATEST, 5, [10, 0]), (wire.EARLIEST, 1, [0]), (TIME_MS, 5, [])],
)
def test_version_0_knows_segments_only(
    client: SimpleClient, topic: str, asked: int, count: int, offsets: list[int]
) -> None:
    answer = wire.list_offsets(client, topic, asked, version=0, max_num_offsets=count)
    assert answer.error_code == ErrorCode.NONE
    assert answer.old_style_offsets == offsets


def test_empty_partition_begins_and_ends_at_0(client: SimpleClient, topic: str) -> None:
    """M7: offsets start at 0 in every partition."""
    for asked in (wire.EARLIEST, wire.LATEST):
        assert wire.list_offset(client, topic, asked, partition=1) == 0
    assert wire.list_offset(client, topic, TIME_MS, partition=1) == -1


@pytest.mark.parametrize("version", range(7))
def test_offset_of_an_unknown_partition_is_an_error(
    client: SimpleClient, topic: str, version: int
) -> None:
    for name, partition in ((topic, 9), ("never-created", 0)):
        answer = wire.list_offsets(client, name, wire.LATEST, version=version, partition=partition)
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize(("asked", "epoch", "end"), [(0, 0, 10), (5, -1, -1)])
def test_epoch_has_an_end_offset(
    client: SimpleClient, topic: str, version: int, asked: int, epoch: int, end: int
) -> None:
    request = OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            OffsetForLeaderTopic(
                topic=topic, partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=asked)]
            )
        ],
    )
    ((answer,),) = (t.partitions for t in client.send(request, version).topics)
    assert (answer.error_code, answer.end_offset) == (ErrorCode.NONE, end)
    assert answer.leader_epoch == (epoch if version >= 1 else -1)


@pytest.mark.parametrize("version", range(12))
def test_every_version_tells_brokers_and_partitions(
    target: Target, client: SimpleClient, topic: str, version: int
) -> None:
    """M14: one broker leads every partition of the topic, alone."""
    answer = client.send(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), version)
    (broker,) = answer.brokers
    assert (broker.node_id, broker.host, broker.port) == (1, "127.0.0.1", target.port)
    assert broker.rack is None
    assert (answer.controller_id == 1) is (version >= 1)
    assert bool(answer.cluster_id) is (version >= 2)
    (told,) = answer.topics
    assert (told.error_code, told.name, told.is_internal) == (ErrorCode.NONE, topic, False)
    assert sorted(partition.partition_index for partition in told.partitions) == [0, 1]
    for partition in told.partitions:
        assert partition.leader_id == 1
        assert partition.replica_nodes == partition.isr_nodes == [1]
        assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert any(told.topic_id) is (version >= 10)


def test_all_topics_are_told_when_none_is_named(client: SimpleClient, topic: str) -> None:
    """Version 0 says it with an empty list, later ones with null; empty is then none at all."""
    for topics, version in (([], 0), (None, 1), (None, 11)):
        told = client.send(MetadataRequest(topics=topics), version).topics
        assert topic in [found.name for found in told]
    answer = client.send(MetadataRequest(topics=[]), 1)
    assert answer.topics == []
    assert len(answer.brokers) == 1


@pytest.mark.parametrize("version", range(12))
def test_asking_for_a_topic_creates_it(client: SimpleClient, version: int) -> None:
    """Up to version 3 always; later a client may say no."""
    name = unique_topic("auto")

    def is_ready() -> bool:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        (told,) = client.send(request, version).topics
        assert told.error_code in (
            ErrorCode.NONE,
            ErrorCode.LEADER_NOT_AVAILABLE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        )
        return not told.error_code and all(not p.error_code for p in told.partitions)

    wait_until(is_ready, 15, f"{name} created")
    assert len(wire.metadata(client, name).partitions) == 1
    assert wire.append(client, name, b"value") == 0


@pytest.mark.parametrize("version", range(4, 12))
def test_client_may_ask_without_creating(client: SimpleClient, version: int) -> None:
    name = unique_topic("not-auto")
    for _ in range(2):
        told = wire.metadata(client, name, version)
        assert (told.error_code, told.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)


def test_broker_may_forbid_automatic_creation(strict_target: Target) -> None:
    with strict_target.connect() as client:
        request = MetadataRequest(topics=[MetadataRequestTopic(name="forbidden")])
        for _ in range(2):
            (told,) = client.send(request).topics
            assert told.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["with space", "", ".", "..", "slash/ed", "x" * 250])
def test_impossible_name_creates_nothing(client: SimpleClient, name: str) -> None:
    (told,) = client.send(MetadataRequest(topics=[MetadataRequestTopic(name=name)])).topics
    assert told.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
