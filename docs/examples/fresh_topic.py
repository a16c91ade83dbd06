"""A topic that no earlier run has written to, so that each run of an example tells the same."""

import sys
import uuid

from kafkalike.client import KafkaAdminClient, NewTopic

SERVERS = sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"


def fresh_topic(name: str, partitions: int = 3) -> str:
    """Create a topic and return its name."""
    topic = f"{name}-{uuid.uuid4().hex[:8]}"
    with KafkaAdminClient(bootstrap_servers=SERVERS) as admin:
        admin.create_topics([NewTopic(topic, num_partitions=partitions)], wait_for_metadata=True)
    return topic
