# What `__getattr__` finds, for type checkers and editors; a test compares the two.
from kafkalike.client.admin.values import AlterConfigOp as AlterConfigOp
from kafkalike.client.admin.values import ConfigResource as ConfigResource
from kafkalike.client.admin.values import ConfigResourceType as ConfigResourceType
from kafkalike.client.admin.values import NewPartitions as NewPartitions
from kafkalike.client.admin.values import NewTopic as NewTopic
from kafkalike.client.admin.values import OffsetSpec as OffsetSpec
from kafkalike.client.blocking_admin import KafkaAdminClient as KafkaAdminClient
from kafkalike.client.blocking_consumer import KafkaConsumer as KafkaConsumer
from kafkalike.client.blocking_producer import KafkaProducer as KafkaProducer
from kafkalike.client.consumer.consumer_record import ConsumerRecord as ConsumerRecord
from kafkalike.client.consumer.offsets import ConsumerGroupMetadata as ConsumerGroupMetadata
from kafkalike.client.consumer.offsets import OffsetAndMetadata as OffsetAndMetadata
from kafkalike.client.consumer.offsets import OffsetAndTimestamp as OffsetAndTimestamp
from kafkalike.client.consumer.rebalance import (
    ConsumerRebalanceListener as ConsumerRebalanceListener,
)
from kafkalike.client.producer.partitioner import DefaultPartitioner as DefaultPartitioner
from kafkalike.client.producer.partitioner import RoundRobinPartitioner as RoundRobinPartitioner
from kafkalike.client.producer.partitioner import (
    UniformStickyPartitioner as UniformStickyPartitioner,
)
from kafkalike.client.producer.record_metadata import RecordMetadata as RecordMetadata
from kafkalike.model.topic_partition import TopicPartition as TopicPartition
