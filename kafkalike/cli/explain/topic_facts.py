"""What the brokers of a cluster say about a topic, gathered from several APIs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkalike.cli.explain.partition_reasons import EpochStart, PartitionFacts
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import ConfigResource, ConfigResourceType
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalike.protocol.records.record_batch import iter_batches
from kafkalike.utils.gather import gather

_ANY_REPLICA: Final = -2
"""The replica id of a debugging consumer: followers answer it as well."""
_CONSUMER: Final = -1
_LATEST: Final = -1
_ONE_BATCH: Final = 1  # a fetch gives at least one whole batch

_SOURCES: Final = {
    "DYNAMIC_TOPIC_CONFIG": "set for the topic",
    "DYNAMIC_BROKER_CONFIG": "set for the brokers",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "set for the brokers",
    "STATIC_BROKER_CONFIG": "set in server.properties",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """A topic, and who is there."""

    name: str
    controller_id: int
    live_brokers: frozenset[int]
    partitions: list[PartitionFacts]


async def topic_facts(admin: Admin, name: str) -> TopicFacts | None:
    """Ask everybody about a topic; None if there is no such topic."""
    (topic,) = await admin.describe_topics([name])
    if topic["error_code"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or not topic["partitions"]:
        return None
    cluster = await admin.describe_cluster()
    live = frozenset(broker["broker_id"] for broker in cluster["brokers"])
    configs = await _configs(admin, name)
    moves = await admin.list_partition_reassignments()
    partitions = sorted(topic["partitions"], key=lambda found: found["partition_index"])
    ends = await _log_end_offsets(admin, name, partitions, live)
    facts = [
        await _partition(admin, TopicPartition(name, part["partition_index"]), part, live)
        for part in partitions
    ]
    return TopicFacts(
        name=name,
        controller_id=cluster["controller_id"],
        live_brokers=live,
        partitions=[
            PartitionFacts(
                **known,
                log_end_offsets={
                    broker: found[known["tp"].partition]
                    for broker, found in ends.items()
                    if known["tp"].partition in found
                },
                adding=moves.get(known["tp"], {}).get("adding_replicas", ()),
                removing=moves.get(known["tp"], {}).get("removing_replicas", ()),
                **configs,
            )
            for known in facts
        ],
    )


async def _configs(admin: Admin, name: str) -> dict[str, Any]:
    keys = ["min.insync.replicas", "unclean.leader.election.enable"]
    resource = ConfigResource(ConfigResourceType.TOPIC, name, dict.fromkeys(keys))
    found = (await admin.describe_configs([resource]))["topic"][name]
    min_isr = found["min.insync.replicas"]
    return {
        "min_isr": int(min_isr["value"]),
        "min_isr_source": _SOURCES.get(min_isr["config_source"], "the default"),
        "allows_unclean_election": found["unclean.leader.election.enable"]["value"] == "true",
    }


async def _partition(
    admin: Admin, tp: TopicPartition, part: Mapping[str, Any], live: frozenset[int]
) -> dict[str, Any]:
    leader = part["leader_id"] if part["leader_id"] in live else None
    start = None
    if leader is not None:
        start = await _epoch_start(admin, tp, leader, part["leader_epoch"])
    return {
        "tp": tp,
        "leader": leader,
        "leader_epoch": part["leader_epoch"],
        "epoch_start": start,
        "replicas": part["replica_nodes"],
        "isr": part["isr_nodes"],
        "live_brokers": live,
        "offline_replicas": frozenset(part["offline_replicas"]),
    }


async def _epoch_start(
    admin: Admin, tp: TopicPartition, leader: int, epoch: int
) -> EpochStart | None:
    """Return where the epoch begins: at the end of the one before it."""
    request = OffsetForLeaderEpochRequest(
        replica_id=_CONSUMER,
        topics=[
            OffsetForLeaderTopic(
                topic=tp.topic,
                partitions=[
                    OffsetForLeaderPartition(partition=tp.partition, leader_epoch=epoch - 1)
                ],
            )
        ],
    )
    offset = 0
    try:
        if epoch > 0:
            answer = await admin.client.send(leader, request)
            (found,) = answer.topics[0].partitions
            if found.error_code != ErrorCode.NONE:
                return None
            offset = max(0, found.end_offset)
        return EpochStart(offset, await _timestamp_at(admin, tp, leader, offset))
    except KafkaError:
        return None  # what nobody tells is left out


async def _timestamp_at(admin: Admin, tp: TopicPartition, leader: int, offset: int) -> int | None:
    """Return the timestamp of the batch at an offset; None if there is none yet, or no more."""
    request = FetchRequest(
        replica_id=_CONSUMER,
        max_wait_ms=0,
        min_bytes=0,
        topics=[
            FetchTopic(
                topic=tp.topic,
                partitions=[
                    FetchPartition(
                        partition=tp.partition,
                        fetch_offset=offset,
                        partition_max_bytes=_ONE_BATCH,
                    )
                ],
            )
        ],
    )
    answer = await admin.client.send(leader, request)
    (found,) = answer.responses[0].partition_responses
    for _, header in iter_batches(found.record_set or b""):
        return header.base_timestamp if header.base_timestamp >= 0 else None
    return None


async def _log_end_offsets(
    admin: Admin, name: str, partitions: Iterable[Mapping[str, Any]], live: frozenset[int]
) -> dict[int, dict[int, int]]:
    """Return, by broker and partition, where the log of each replica ends."""
    by_broker: dict[int, list[int]] = {}
    for part in partitions:
        for broker in part["replica_nodes"]:
            if broker in live:
                by_broker.setdefault(broker, []).append(part["partition_index"])
    found = await gather(
        _ends_on(admin, broker, name, numbers) for broker, numbers in by_broker.items()
    )
    return dict(zip(by_broker, found, strict=True))


async def _ends_on(admin: Admin, broker: int, name: str, numbers: list[int]) -> dict[int, int]:
    request = ListOffsetsRequest(
        replica_id=_ANY_REPLICA,
        isolation_level=0,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=number, timestamp=_LATEST)
                    for number in numbers
                ],
            )
        ],
    )
    try:
        answer = await admin.client.send(broker, request)
    except KafkaError:
        return {}
    return {
        part.partition_index: part.offset
        for topic in answer.topics
        for part in topic.partitions
        if part.error_code == ErrorCode.NONE
    }
