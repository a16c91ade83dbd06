"""Trucks: the id of a truck is the key, so all that one truck reports stays in order.

    truck-1: 0 1 2 3 4
    truck-2: 0 1 2 3 4
    truck-3: 0 1 2 3 4
    every truck has one partition: True

Between trucks there is no order, and none is needed: that is why the partitions can be read by
several consumers at once.
"""

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import KafkaConsumer, KafkaProducer

topic = fresh_topic("trucks")
TRUCKS, REPORTS = ("truck-1", "truck-2", "truck-3"), 5

with KafkaProducer(
    bootstrap_servers=SERVERS, acks="all", key_serializer="str", value_serializer="json"
) as fleet:
    for number in range(REPORTS):
        for truck in TRUCKS:
            fleet.send(topic, key=truck, value={"number": number})

seen: dict[str, list[int]] = {}
partitions: dict[str, set[int]] = {}
with KafkaConsumer(
    topic,
    bootstrap_servers=SERVERS,
    auto_offset_reset="earliest",
    key_deserializer="str",
    value_deserializer="json",
    consumer_timeout_ms=30_000,
) as dispatch:
    for _ in range(len(TRUCKS) * REPORTS):
        record = next(dispatch)
        seen.setdefault(record.key, []).append(record.value["number"])
        partitions.setdefault(record.key, set()).add(record.partition)

for truck, numbers in sorted(seen.items()):
    print(f"{truck}:", *numbers)
print("every truck has one partition:", all(len(found) == 1 for found in partitions.values()))
