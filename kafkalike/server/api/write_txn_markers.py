"""WriteTxnMarkers (27): a transaction coordinator has transaction markers written.

v1 flexible
"""

from collections.abc import Iterable, Iterator

from kafkalike.log.append_origin import AppendOrigin
from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkalike.protocol.records.control_record import ControlRecordType, build_end_txn_marker
from kafkalike.protocol.records.record_batch import MAGIC_V2
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

_ACKS_ALL = -1


class _Asked:
    """One marker for one partition, and what became of it."""

    __slots__ = ("code", "marker", "tp")

    def __init__(self, marker: WritableTxnMarker, tp: TopicPartition, code: ErrorCode) -> None:
        self.marker = marker
        self.tp = tp
        self.code = code


@api(ApiKey.WRITE_TXN_MARKERS, versions="0-1")
async def handle(
    context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    """Append all markers, and answer when the in-sync replicas have them."""
    asked = list(_asked(context, request))
    writable = [one for one in asked if one.code is ErrorCode.NONE]
    now_ms = context.broker.time.now_ms()
    statuses = await context.broker.replica_manager.append_records(
        [(one.tp, memoryview(_batch(one.marker, now_ms))) for one in writable],
        _ACKS_ALL,
        context.broker.config.request_timeout_ms,
        AppendOrigin.COORDINATOR,
    )
    for one, status in zip(writable, statuses, strict=True):
        if status.error is not None:
            one.code = status.error.code
    _complete_offset_commits(context, writable)
    return _response(asked)


def _asked(context: RequestContext, request: WriteTxnMarkersRequest) -> Iterator[_Asked]:
    for marker in request.markers:
        for topic in marker.topics:
            for partition in topic.partition_indexes:
                tp = TopicPartition(topic.name, partition)
                yield _Asked(marker, tp, _refusal(context, tp))


def _refusal(context: RequestContext, tp: TopicPartition) -> ErrorCode:
    local_log = context.broker.replica_manager.get_log(tp)
    if local_log is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if local_log.config.record_version < MAGIC_V2:
        return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    return ErrorCode.NONE


def _batch(marker: WritableTxnMarker, now_ms: int) -> bytes:
    return build_end_txn_marker(
        ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp=now_ms,
    )


def _complete_offset_commits(context: RequestContext, written: Iterable[_Asked]) -> None:
    """Let offsets take effect that were committed in transactions which have ended."""
    for one in written:
        if one.tp.topic == GROUP_METADATA_TOPIC and one.code is ErrorCode.NONE:
            context.broker.group_coordinator.complete_transaction(
                one.marker.producer_id,
                [one.tp.partition],
                is_commit=one.marker.transaction_result,
            )


def _response(asked: Iterable[_Asked]) -> WriteTxnMarkersResponse:
    by_producer: dict[int, dict[str, WritableTxnMarkerTopicResult]] = {}
    for one in asked:
        topics = by_producer.setdefault(one.marker.producer_id, {})
        name = one.tp.topic
        topics.setdefault(name, WritableTxnMarkerTopicResult(name=name)).partitions.append(
            WritableTxnMarkerPartitionResult(partition_index=one.tp.partition, error_code=one.code)
        )
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id=producer_id, topics=list(topics.values()))
            for producer_id, topics in by_producer.items()
        ]
    )
