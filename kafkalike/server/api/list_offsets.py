"""ListOffsets (2): the earliest and latest offsets, or the first one at or after a time.

v0 offsets of segments · v1 one offset and its timestamp · v2 isolation level · v4 leader epochs
v5 OFFSET_NOT_AVAILABLE right after an election (KIP-207) · v6 flexible
"""

from collections import Counter

from kafkalike.cluster.partition import NO_EPOCH
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkalike.replication.fetch_params import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

_READ_COMMITTED = 1
_FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE = 5


@api(ApiKey.LIST_OFFSETS, versions="0-6")
async def handle(context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Look up each partition; an error concerns its partition only."""
    lookup = _Lookup(context, request)
    answer = lookup.segment_offsets if context.api_version == 0 else lookup.offset
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    answer(TopicPartition(topic.name, partition.partition_index), partition)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


class _Lookup:
    def __init__(self, context: RequestContext, request: ListOffsetsRequest) -> None:
        self._context = context
        self._replicas = context.broker.replica_manager
        self._only_from_leader = request.replica_id != DEBUGGING_REPLICA_ID
        self._is_client = request.replica_id == CONSUMER_REPLICA_ID
        self._isolation = _isolation(request, is_client=self._is_client)
        self._times_named = Counter(
            (topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        )

    def offset(
        self, tp: TopicPartition, wanted: ListOffsetsPartition
    ) -> ListOffsetsPartitionResponse:
        if self._times_named[tp] > 1:
            return _refused(tp, ErrorCode.INVALID_REQUEST)
        try:
            found = self._replicas.partition_or_error(tp).fetch_offset_for_timestamp(
                wanted.timestamp,
                self._isolation,
                wanted.current_leader_epoch,
                only_from_leader=self._only_from_leader,
            )
        except KafkaError as error:
            return _refused(tp, self._code(error))
        if found is None:
            return _refused(tp, ErrorCode.NONE)
        return ListOffsetsPartitionResponse(
            partition_index=tp.partition,
            timestamp=found.timestamp,
            offset=found.offset,
            leader_epoch=NO_EPOCH if found.leader_epoch is None else found.leader_epoch,
        )

    def segment_offsets(
        self, tp: TopicPartition, wanted: ListOffsetsPartition
    ) -> ListOffsetsPartitionResponse:
        """Answer v0: where segments begin, newest first, and the end."""
        try:
            partition = self._replicas.partition_or_error(tp)
            log = partition.local_log_with_epoch(NO_EPOCH, only_from_leader=self._only_from_leader)
        except KafkaError as error:
            return _refused(tp, error.code)
        offsets = log.legacy_fetch_offsets_before(
            wanted.timestamp, wanted.max_num_offsets, self._context.broker.time.now_ms()
        )
        if self._is_client:
            # A consumer sees nothing above the high watermark, so it is where "the end" is.
            visible = [offset for offset in offsets if offset <= log.high_watermark]
            if len(visible) < len(offsets):
                visible = [log.high_watermark, *visible]
            offsets = visible[: wanted.max_num_offsets]
        return ListOffsetsPartitionResponse(partition_index=tp.partition, old_style_offsets=offsets)

    def _code(self, error: KafkaError) -> ErrorCode:
        if (
            error.code is ErrorCode.OFFSET_NOT_AVAILABLE
            and self._context.api_version < _FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE
        ):
            return ErrorCode.LEADER_NOT_AVAILABLE
        return error.code


def _isolation(request: ListOffsetsRequest, *, is_client: bool) -> FetchIsolation:
    if not is_client:
        return FetchIsolation.LOG_END
    if request.isolation_level == _READ_COMMITTED:
        return FetchIsolation.TXN_COMMITTED
    return FetchIsolation.HIGH_WATERMARK


def _refused(tp: TopicPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=tp.partition, error_code=code)
