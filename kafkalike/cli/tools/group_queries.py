"""What the actions of `kafka-consumer-groups` all ask the cluster."""

from collections.abc import Iterable, Sequence
from typing import Any

from kafkalike.cli.tools.scala_text import java_hash_order, partition_hash
from kafkalike.cli.tools.support.java_names import to_error
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import OffsetSpec
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import PROTOCOL_TYPE
from kafkalike.protocol.errors import ErrorCode


def say_error(message: str) -> None:
    """Tell what went wrong where Kafka's tool does: on standard output."""
    print_line(f"\nError: {message}")


async def group_ids(admin: Admin, parsed: Parsed) -> list[str]:
    """Return the groups that the options name."""
    if not parsed.has("all-groups"):
        return list(parsed.values("group"))
    return [group["group_id"] for group in await consumer_groups(admin)]


async def consumer_groups(admin: Admin, states: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return consumer groups; one that never had a member has no protocol."""
    groups = await admin.list_groups(states_filter=states)
    return [group for group in groups if group["protocol_type"] in ("", PROTOCOL_TYPE)]


async def committed_offsets(admin: Admin, group_id: str) -> dict[TopicPartition, int]:
    """Return the committed offsets of a group, in the order of Java's hash table."""
    found = await admin.list_consumer_group_offsets(group_id)
    return {tp: found[tp].offset for tp in java_hash_order(found, partition_hash)}


async def log_offsets(
    admin: Admin, partitions: Iterable[TopicPartition], spec: OffsetSpec | int
) -> dict[TopicPartition, int]:
    """Return the earliest, latest or timed offsets of partitions; -1 if there is none."""
    wanted = dict.fromkeys(partitions, spec)
    if not wanted:
        return {}
    found = await admin.list_partition_offsets(wanted)
    return {tp: found[tp].offset for tp in wanted if tp in found}


async def topic_partitions(admin: Admin, topics: Iterable[str]) -> list[TopicPartition]:
    """Return the partitions of topics; UnknownTopicOrPartitionError names one that is not there."""
    found: list[TopicPartition] = []
    for topic in await admin.describe_topics(topics):
        if topic["error_code"] != ErrorCode.NONE:
            raise to_error(topic["error_code"])
        partitions = [part["partition_index"] for part in topic["partitions"]]
        found += [TopicPartition(topic["name"], number) for number in sorted(partitions)]
    return found
