"""Real clusters for tests: `KafkaCluster`, and the pytest fixtures around it (docs/testing.md).

The plugin makes every pytest run import this package: so it imports the rest when it is asked for.
"""

from kafkalike.client.lazy_names import lazy_names

_PLACES = {"KafkaCluster": "kafkalike.testing.kafka_cluster"}

__all__ = [*_PLACES]
__getattr__ = lazy_names(__name__, _PLACES)
