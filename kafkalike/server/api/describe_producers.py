"""DescribeProducers (61): the producers active in partitions (KIP-664)."""

from kafkalike.log.producer_state_entry import ProducerStateEntry
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    NotLeaderOrFollowerError,
    UnknownTopicOrPartitionError,
)
from kafkalike.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

NO_OPEN_TRANSACTION = -1


@api(ApiKey.DESCRIBE_PRODUCERS, versions="0-0")
async def handle(
    context: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    """Describe what the log knows of its producers."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _partition(context, TopicPartition(topic.name, partition))
                    for partition in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _partition(context: RequestContext, tp: TopicPartition) -> PartitionResponse:
    try:
        producers = _producers(context, tp)
    except KafkaError as error:
        return PartitionResponse(partition_index=tp.partition, error_code=error.code)
    return PartitionResponse(
        partition_index=tp.partition, error_code=ErrorCode.NONE, active_producers=producers
    )


def _producers(context: RequestContext, tp: TopicPartition) -> list[ProducerState]:
    broker = context.broker
    if tp.topic not in broker.metadata_cache.snapshot.topics:
        raise UnknownTopicOrPartitionError(f"Partition {tp} does not exist")
    log = broker.replica_manager.partition_or_error(tp).log
    if log is None:
        raise NotLeaderOrFollowerError(f"This broker has no log of {tp}")
    return [_producer(entry) for entry in log.producer_state.producers.values()]


def _producer(entry: ProducerStateEntry) -> ProducerState:
    first_offset = entry.current_txn_first_offset
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_seq,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=NO_OPEN_TRANSACTION if first_offset is None else first_offset,
    )
