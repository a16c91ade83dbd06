"""Batches to a produce request, and its answer back to partitions and errors."""

from collections.abc import Sequence

from kafkalike.client.producer.producer_batch import ProducerBatch
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError, error_for
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)


def produce_request(config: ProducerConfig, batches: Sequence[ProducerBatch]) -> ProduceRequest:
    """Return the request that writes the batches."""
    topics: dict[str, TopicProduceData] = {}
    is_transactional = config.transactional_id is not None
    for batch in batches:
        topic = topics.get(batch.tp.topic)
        if topic is None:
            topic = topics[batch.tp.topic] = TopicProduceData(name=batch.tp.topic)
        data = batch.encode(config.codec, is_transactional)
        topic.partition_data.append(PartitionProduceData(index=batch.tp.partition, records=data))
    return ProduceRequest(
        transactional_id=config.transactional_id,
        acks=config.required_acks,
        timeout_ms=config.request_timeout_ms,
        topic_data=list(topics.values()),
    )


def by_partition(answer: ProduceResponse) -> dict[TopicPartition, PartitionProduceResponse]:
    """Return what an answer says of each partition."""
    return {
        TopicPartition(topic.name, part.index): part
        for topic in answer.responses
        for part in topic.partition_responses
    }


def error_of(part: PartitionProduceResponse, tp: TopicPartition) -> KafkaError:
    """Return the error of a partition, with the best words that the broker has for it."""
    kind = error_for(part.error_code)
    texts = [error.batch_index_error_message for error in part.record_errors]
    text = next((text for text in [*texts, part.error_message] if text), str(kind()))
    return kind(f"{tp}: {text}")
