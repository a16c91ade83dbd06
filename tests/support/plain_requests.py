"""Requests of a plain client in one line each: create, produce, fetch."""

from collections.abc import Sequence
from typing import Any

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalike.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_reader import iter_all_records


def a_batch(*values: bytes | None, timestamp: int = 1_600_000_000_000) -> bytes:
    """Build one batch of format v2."""
    builder = BatchBuilder()
    for number, value in enumerate(values):
        builder.append(timestamp + number, None, value)
    return builder.build()


def create_topic(client: SimpleClient, topic: str, partitions: int = 1) -> None:
    """Create a topic with one replica."""
    wanted = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
    (created,) = client.send(CreateTopicsRequest(topics=[wanted], timeout_ms=60_000)).topics
    assert not created.error_code, created


def produce_request(topic: str, partition: int, records: bytes, acks: int) -> ProduceRequest:
    """Ask to append one batch."""
    data = PartitionProduceData(index=partition, records=records)
    topic_data = [TopicProduceData(name=topic, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=topic_data)


def produce(
    client: SimpleClient, topic: str, records: bytes, *, partition: int = 0, acks: int = 1
) -> int:
    """Append a batch and return its first offset."""
    answer = client.send(produce_request(topic, partition, records, acks))
    (done,) = answer.responses[0].partition_responses
    assert not done.error_code, done
    return int(done.base_offset)


def fetch_request(topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 0) -> Any:
    """Ask for what a partition holds from an offset on."""
    wanted = FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=1 << 24, log_start_offset=-1
    )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 24,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


def fetch(
    client: SimpleClient, topic: str, offset: int = 0, *, partition: int = 0
) -> Sequence[Record]:
    """Return the records that a partition holds from an offset on, up to 16 MiB of them."""
    answer = client.send(fetch_request(topic, offset, partition=partition))
    (found,) = answer.responses[0].partition_responses
    assert not found.error_code, found
    records = iter_all_records(bytes(found.record_set or b""))
    return [record for record in records if record.offset >= offset]
