"""OffsetFetch (9): a group asks how far it has read.

v0 from ZooKeeper · v1 from Kafka · v2 null for all partitions, error of the group
v3 throttle time · v5 leader epoch · v6 flexible · v7 only offsets that are stable (KIP-447)
"""

from collections.abc import Mapping

from twisted.logger import Logger

from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.zk.errors import ZkError

log = Logger()

_FIRST_VERSION_WITH_GROUP_ERROR = 2
_INVALID_OFFSET = -1
_NO_LEADER_EPOCH = -1

_Found = Mapping[TopicPartition, OffsetAndMetadata | ErrorCode | None]


@api(ApiKey.OFFSET_FETCH, versions="0-7")
async def handle(context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """Answer what is committed."""
    wanted = _wanted(request)
    if context.api_version == 0:
        return _response(await _fetch_from_zookeeper(context, request.group_id, wanted or []))
    code, found = context.broker.group_coordinator.fetch_offsets(
        request.group_id, wanted, require_stable=request.require_stable
    )
    if code is ErrorCode.NONE:
        return _response(found)
    if context.api_version >= _FIRST_VERSION_WITH_GROUP_ERROR:
        return OffsetFetchResponse(error_code=code)
    return _response(dict.fromkeys(wanted or [], code))


def _wanted(request: OffsetFetchRequest) -> list[TopicPartition] | None:
    if request.topics is None:
        return None
    return [
        TopicPartition(topic.name, partition)
        for topic in request.topics
        for partition in topic.partition_indexes
    ]


async def _fetch_from_zookeeper(
    context: RequestContext, group_id: str, wanted: list[TopicPartition]
) -> _Found:
    """Answer from where the oldest clients commit to."""
    found: dict[TopicPartition, OffsetAndMetadata | ErrorCode | None] = {}
    snapshot = context.broker.metadata_cache.snapshot
    for tp in wanted:
        found[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if snapshot.partition(tp) is None:
            continue
        try:
            offset = await context.broker.zk.get_consumer_offset(group_id, tp)
        except ZkError as error:
            log.error("{group}, {tp}: {error}", group=group_id, tp=tp, error=error)
            found[tp] = ErrorCode.UNKNOWN_SERVER_ERROR
        else:
            if offset is not None:
                found[tp] = OffsetAndMetadata(offset=offset, commit_timestamp=0)
    return found


def _response(found: _Found) -> OffsetFetchResponse:
    topics: dict[str, OffsetFetchResponseTopic] = {}
    for tp, one in found.items():
        topic = topics.setdefault(tp.topic, OffsetFetchResponseTopic(name=tp.topic))
        topic.partitions.append(_partition(tp.partition, one))
    return OffsetFetchResponse(topics=list(topics.values()))


def _partition(
    index: int, found: OffsetAndMetadata | ErrorCode | None
) -> OffsetFetchResponsePartition:
    if isinstance(found, OffsetAndMetadata):
        epoch = found.leader_epoch
        return OffsetFetchResponsePartition(
            partition_index=index,
            committed_offset=found.offset,
            committed_leader_epoch=_NO_LEADER_EPOCH if epoch is None else epoch,
            metadata=found.metadata,
        )
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=_INVALID_OFFSET,
        metadata="",
        error_code=ErrorCode.NONE if found is None else found,
    )
