"""AddPartitionsToTxn (24): partitions become part of a transaction.

v2 PRODUCER_FENCED · v3 flexible
"""

from collections.abc import Mapping

from kafkalike.coordinator.transaction.transitions import ProducerIdAndEpoch
from kafkalike.model.topic import is_internal
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.producer_errors import code_for_producer

_FIRST_VERSION_WITH_FENCED = 2


@api(ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-3")
async def handle(
    context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """Add all partitions or none."""
    partitions = {
        TopicPartition(topic.name, partition): _refusal(context, topic.name, partition)
        for topic in request.topics
        for partition in topic.partitions
    }
    if any(code is not ErrorCode.NONE for code in partitions.values()):
        return _response(
            {
                tp: ErrorCode.OPERATION_NOT_ATTEMPTED if code is ErrorCode.NONE else code
                for tp, code in partitions.items()
            }
        )
    return _response(dict.fromkeys(partitions, await _add(context, request, set(partitions))))


def _refusal(context: RequestContext, topic: str, partition: int) -> ErrorCode:
    if is_internal(topic):
        # Only coordinators write there; offsets are added by AddOffsetsToTxn.
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if context.broker.metadata_cache.snapshot.partition(TopicPartition(topic, partition)) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


async def _add(
    context: RequestContext, request: AddPartitionsToTxnRequest, partitions: set[TopicPartition]
) -> ErrorCode:
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    try:
        await context.broker.transaction_coordinator.add_partitions(
            request.transactional_id, producer, partitions
        )
    except KafkaError as error:
        return code_for_producer(error, context.api_version, _FIRST_VERSION_WITH_FENCED)
    return ErrorCode.NONE


def _response(codes: Mapping[TopicPartition, ErrorCode]) -> AddPartitionsToTxnResponse:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for tp, code in codes.items():
        topics.setdefault(tp.topic, AddPartitionsToTxnTopicResult(name=tp.topic)).results.append(
            AddPartitionsToTxnPartitionResult(partition_index=tp.partition, error_code=code)
        )
    return AddPartitionsToTxnResponse(results=list(topics.values()))
