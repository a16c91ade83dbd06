"""The client library: the blocking clients; `twisted` and `aio` have the others.

The names here are kafka-python's: `from kafkalike.client import KafkaProducer`.
"""

from kafkalike.client.lazy_names import lazy_names

_VALUES = "kafkalike.client.admin.values"
_OFFSETS = "kafkalike.client.consumer.offsets"
_PARTITIONERS = "kafkalike.client.producer.partitioner"

_PLACES = {
    "KafkaProducer": "kafkalike.client.blocking_producer",
    "KafkaConsumer": "kafkalike.client.blocking_consumer",
    "KafkaAdminClient": "kafkalike.client.blocking_admin",
    "TopicPartition": "kafkalike.model.topic_partition",
    "ConsumerRecord": "kafkalike.client.consumer.consumer_record",
    "ConsumerRebalanceListener": "kafkalike.client.consumer.rebalance",
    "RecordMetadata": "kafkalike.client.producer.record_metadata",
    "OffsetAndMetadata": _OFFSETS,
    "OffsetAndTimestamp": _OFFSETS,
    "ConsumerGroupMetadata": _OFFSETS,
    "DefaultPartitioner": _PARTITIONERS,
    "RoundRobinPartitioner": _PARTITIONERS,
    "UniformStickyPartitioner": _PARTITIONERS,
    "NewTopic": _VALUES,
    "NewPartitions": _VALUES,
    "ConfigResource": _VALUES,
    "ConfigResourceType": _VALUES,
    "AlterConfigOp": _VALUES,
    "OffsetSpec": _VALUES,
}

__all__ = [*_PLACES]
__getattr__ = lazy_names(__name__, _PLACES)
