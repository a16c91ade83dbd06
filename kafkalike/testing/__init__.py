"""Real clusters for tests: `KafkaCluster`, and the pytest fixtures around it (docs/testing.md)."""

from kafkalike.testing.kafka_cluster import KafkaCluster

__all__ = ["KafkaCluster"]
