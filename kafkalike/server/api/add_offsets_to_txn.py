"""AddOffsetsToTxn (25): the offsets of a group become part of a transaction.

v2 PRODUCER_FENCED · v3 flexible
"""

from kafkalike.coordinator.transaction.transitions import ProducerIdAndEpoch
from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.producer_errors import code_for_producer

_FIRST_VERSION_WITH_FENCED = 2


@api(ApiKey.ADD_OFFSETS_TO_TXN, versions="0-3")
async def handle(
    context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    """Add the partition that holds the offsets of the group."""
    partition = context.broker.group_coordinator.partition_for(request.group_id)
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    try:
        await context.broker.transaction_coordinator.add_partitions(
            request.transactional_id, producer, {TopicPartition(GROUP_METADATA_TOPIC, partition)}
        )
    except KafkaError as error:
        return AddOffsetsToTxnResponse(
            error_code=code_for_producer(error, context.api_version, _FIRST_VERSION_WITH_FENCED)
        )
    return AddOffsetsToTxnResponse()
