"""Where a leader's log begins and ends, asked by a follower that lost its place (ListOffsets)."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from kafkalike.cluster.partition_log import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkalike.protocol.schema import Message

Send = Callable[[Message, int], Awaitable[Message | None]]


class LeaderOffsets(NamedTuple):
    """The leader's log start offset and log end offset."""

    start: int
    end: int


async def fetch_leader_offsets(
    send: Send, tp: TopicPartition, leader_epoch: int, replica_id: int, version: int
) -> LeaderOffsets | None:
    """Ask for both; None if the leader did not say."""
    found = []
    for timestamp in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP):
        wanted = ListOffsetsPartition(
            partition_index=tp.partition, current_leader_epoch=leader_epoch, timestamp=timestamp
        )
        request = ListOffsetsRequest(
            replica_id=replica_id,
            topics=[ListOffsetsTopic(name=tp.topic, partitions=[wanted])],
        )
        response = await send(request, version)
        if not isinstance(response, ListOffsetsResponse):
            return None
        answer = response.topics[0].partitions[0]
        if answer.error_code != ErrorCode.NONE:
            return None
        found.append(answer.offset)
    return LeaderOffsets(*found)
