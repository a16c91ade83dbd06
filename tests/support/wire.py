"""Requests that tests send again and again, made short; all work on one partition."""

import time
from collections.abc import Mapping
from typing import Any

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_topics import (
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafkalike.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_reader import iter_all_records
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

EARLIEST, LATEST = -2, -1
# For records with timestamps of long ago, which a broker would soon delete.
KEPT_FOREVER = {"retention.ms": "-1"}

_TIMEOUT_MS = 30_000


def now_ms() -> int:
    """The time of day, as producers stamp it."""
    return time.time_ns() // 1_000_000


# Answers are Any: their classes follow from the request, which only SimpleClient knows.
def create_topic(
    client: SimpleClient,
    prefix: str = "topic",
    *,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
) -> str:
    """Create a topic of a name of its own and wait until all its partitions are led."""
    name = unique_topic(prefix)
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreateableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
    )
    (made,) = client.send(CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)).topics
    assert made.error_code == ErrorCode.NONE, f"{ErrorCode(made.error_code)}: {made.error_message}"
    wait_until(lambda: is_led(client, name, partitions), 20, f"leaders of {name}")
    return name


def metadata(client: SimpleClient, topic: str, version: int | None = None) -> Any:
    """Return what the broker says of one topic; it is not created."""
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    (answer,) = client.send(request, version).topics
    return answer


def is_led(client: SimpleClient, topic: str, partitions: int = 1) -> bool:
    """Whether so many partitions of the topic have a leader."""
    answer = metadata(client, topic)
    leaders = [p.leader_id for p in answer.partitions if not p.error_code]
    return not answer.error_code and len(leaders) == partitions and min(leaders) >= 0


# Any: the options of a BatchBuilder.
def batch(*values: bytes | None, timestamp: int | None = None, **options: Any) -> bytes:
    """Build one batch of records without keys."""
    builder = BatchBuilder(**options)
    for value in values:
        builder.append(now_ms() if timestamp is None else timestamp, None, value)
    return builder.build()


def produce_request(
    topic: str,
    records: bytes | None,
    *,
    acks: int = 1,
    partition: int = 0,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Ask to append records to one partition."""
    data = [PartitionProduceData(index=partition, records=records)]
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )


def produce(
    client: SimpleClient,
    topic: str,
    records: bytes | None,
    *,
    version: int | None = None,
    **fields: Any,
) -> Any:
    """Append records and return the answer for the partition."""
    request = produce_request(topic, records, **fields)
    ((answer,),) = (t.partition_responses for t in client.send(request, version).responses)
    return answer


def append(client: SimpleClient, topic: str, *values: bytes, partition: int = 0) -> int:
    """Append values that must be taken; returns the offset of the first."""
    answer = produce(client, topic, batch(*values), acks=-1, partition=partition)
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    return int(answer.base_offset)


# Any: the other fields of a FetchRequest.
def fetch_request(
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    max_wait_ms: int = 1000,
    min_bytes: int = 1,
    max_bytes: int = 50 << 20,
    partition_max_bytes: int = 1 << 20,
    **fields: Any,
) -> FetchRequest:
    """Ask for the records of one partition."""
    wanted = FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes
    )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
        **fields,
    )


def fetch(
    client: SimpleClient, topic: str, offset: int, version: int | None = None, **fields: Any
) -> Any:
    """Read from an offset on and return the answer for the partition."""
    request = fetch_request(topic, offset, **fields)
    ((answer,),) = (t.partition_responses for t in client.send(request, version).responses)
    return answer


def fetch_records(
    client: SimpleClient, topic: str, offset: int = 0, version: int | None = None, **fields: Any
) -> list[Record]:
    """Read once; the records of whole batches, from the offset on."""
    answer = fetch(client, topic, offset, version, **fields)
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    found = iter_all_records(bytes(answer.record_set or b""))
    return [record for record in found if record.offset >= offset]


def read_all(client: SimpleClient, topic: str, *, partition: int = 0) -> list[Record]:
    """Read the whole partition, from its earliest record to the high watermark of now."""
    position = list_offset(client, topic, EARLIEST, partition=partition)
    end = list_offset(client, topic, LATEST, partition=partition)
    records: list[Record] = []
    while position < end:
        found = fetch_records(
            client, topic, position, partition=partition, partition_max_bytes=8 << 20
        )
        assert found, f"nothing at {position} of {topic}-{partition}, which ends at {end}"
        records += found
        position = records[-1].offset + 1
    return records


def list_offsets(
    client: SimpleClient,
    topic: str,
    timestamp: int,
    *,
    version: int | None = None,
    partition: int = 0,
    isolation_level: int = 0,
    max_num_offsets: int = 1,
) -> Any:
    """Ask which offset belongs to a time; the answer for the partition."""
    wanted = ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, max_num_offsets=max_num_offsets
    )
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=[wanted])],
    )
    ((answer,),) = (t.partitions for t in client.send(request, version).topics)
    return answer


def list_offset(client: SimpleClient, topic: str, timestamp: int, *, partition: int = 0) -> int:
    """Return the offset that belongs to a time, to EARLIEST or to LATEST."""
    answer = list_offsets(client, topic, timestamp, partition=partition)
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    return int(answer.offset)
