"""Messages through a cluster and back, and the proof that each of them came back."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.errors import KafkaError, error_for
from kafkalike.protocol.messages.create_topics import (
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafkalike.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.record_reader import iter_all_records
from scripts.first_steps.leaders import Leaders

PARTITIONS = 3

_BATCH = 500
_TIMEOUT_S = 30.0
_TIMEOUT_MS = 30_000

Message = tuple[bytes | None, bytes | None]
ByPartition = Mapping[int, Sequence[Message]]


class MessagesLostError(KafkaError):
    """Not every message came back as it was sent."""


def make(count: int) -> dict[int, list[Message]]:
    """Make messages of trucks on the road; a truck's messages share a partition."""
    messages: dict[int, list[Message]] = {partition: [] for partition in range(PARTITIONS)}
    for number in range(count):
        truck = number % 10
        value = f"truck {truck}, position {number}"
        messages[truck % PARTITIONS].append((f"truck-{truck}".encode(), value.encode()))
    return messages


def create_topic(leaders: Leaders, topic: str, replication_factor: int) -> None:
    """Create the topic; one that is there from an earlier run will do.

    With three replicas two must have a record before it is acknowledged: then it survives the loss
    of any broker, and one may be down for a while.
    """
    min_in_sync = max(1, replication_factor - 1)
    wanted = CreatableTopic(
        name=topic,
        num_partitions=PARTITIONS,
        replication_factor=replication_factor,
        configs=[CreateableTopicConfig(name="min.insync.replicas", value=str(min_in_sync))],
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=_TIMEOUT_MS)
    (created,) = leaders.controller().send(request).topics
    if created.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
        _check(created.error_code, f"topic {topic}: {created.error_message or ''}")
    leaders.forget()


def produce(leaders: Leaders, topic: str, messages: ByPartition) -> dict[int, int]:
    """Write all messages with acks=all; returns the first offset in each partition."""
    positions: dict[int, int] = {}
    for partition, of_partition in messages.items():
        for start in range(0, len(of_partition), _BATCH):
            batch = _batch(of_partition[start : start + _BATCH])
            offset = _append(leaders, topic, partition, batch)
            positions.setdefault(partition, offset)
    return positions


def fetch(
    leaders: Leaders, topic: str, positions: Mapping[int, int], expected: ByPartition
) -> dict[int, list[Message]]:
    """Read from these offsets on until as many messages are there as expected, or time is up."""
    received: dict[int, list[Message]] = {partition: [] for partition in positions}
    offsets = dict(positions)
    deadline = time.monotonic() + _TIMEOUT_S
    for partition in positions:
        while len(received[partition]) < len(expected[partition]) and time.monotonic() < deadline:
            request = _fetch_request(topic, partition, offsets[partition])
            (answer,) = leaders.of(partition).send(request).responses[0].partition_responses
            _check(answer.error_code, f"{topic}-{partition}: fetch")
            for record in iter_all_records(bytes(answer.record_set or b"")):
                if record.offset >= offsets[partition]:
                    received[partition].append((record.key, record.value))
                    offsets[partition] = record.offset + 1
    return received


def compare(sent: ByPartition, received: ByPartition) -> str:
    """Compare every message, in order; an error unless all are there, else a sentence."""
    wrong = []
    for partition, expected in sent.items():
        got = received.get(partition, [])
        if list(got) != list(expected):
            missing = sum((Counter(expected) - Counter(got)).values())
            wrong.append(
                f"partition {partition}: {len(expected)} sent, {len(got)} received, {missing}"
                " missing or changed"
            )
    if wrong:
        raise MessagesLostError("; ".join(wrong))
    return f"{sum(map(len, sent.values()))} of them, each as it was sent and in order"


def _batch(messages: Sequence[Message]) -> bytes:
    builder = BatchBuilder()
    now_ms = time.time_ns() // 1_000_000
    for key, value in messages:
        builder.append(now_ms, key, value)
    return builder.build()


def _append(leaders: Leaders, topic: str, partition: int, batch: bytes) -> int:
    """Append one batch; a partition without a leader yet is tried again."""
    request = ProduceRequest(
        acks=-1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[
            TopicProduceData(
                name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)]
            )
        ],
    )
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            (answer,) = leaders.of(partition).send(request).responses[0].partition_responses
            _check(answer.error_code, f"{topic}-{partition}: produce {answer.error_message or ''}")
            return int(answer.base_offset)
        except KafkaError as error:
            if not error.retriable or time.monotonic() >= deadline:
                raise
        leaders.forget()
        time.sleep(0.1)


def _fetch_request(topic: str, partition: int, offset: int) -> FetchRequest:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


def _check(error_code: int, what: str) -> None:
    if error_code:
        error = error_for(error_code)
        raise error(f"{what.strip()}: {ErrorCode(error_code).name}")
