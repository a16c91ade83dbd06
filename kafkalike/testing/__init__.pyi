# What `__getattr__` finds, for type checkers and editors.
from kafkalike.testing.kafka_cluster import KafkaCluster as KafkaCluster
