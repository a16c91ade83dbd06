"""A partitioner of one's own: the key 123 goes to partition 0, and 234 to partition 1.

    123 went to partition 0
    234 went to partition 1
    345 went to partition 2

By the hash of their keys (murmur2, as every Kafka client has it) both would share a partition.
"""

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import KafkaProducer

topic = fresh_topic("routes", partitions=3)
ROUTES = {b"123": 0, b"234": 1}


def by_route(key: bytes, partitions: list[int], available: list[int]) -> int:
    """Return the partition of a key; the last one is for all the others."""
    return ROUTES.get(key, partitions[-1])


with KafkaProducer(
    bootstrap_servers=SERVERS, partitioner=by_route, key_serializer="str"
) as producer:
    for key in ("123", "234", "345"):
        written = producer.send(topic, key=key, value=b"on its way").get(timeout=30)
        print(f"{key} went to partition {written.partition}")
