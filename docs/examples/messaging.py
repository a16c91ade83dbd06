"""Messaging: a shop hands orders to two workers; each order is worked on once, by one of them.

    order 0 to order 11: each packed once
    both workers had work: True

The workers are a group: they share the partitions. An order is committed when it is packed, so the
orders of a worker that dies are packed by the other.
"""

import threading
from collections import Counter

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import KafkaConsumer, KafkaProducer

ORDERS = 12
topic = fresh_topic("orders", partitions=4)
packed: list[tuple[str, str]] = []
all_are_there = threading.Barrier(3)
all_are_packed = threading.Event()


def work(name: str) -> None:
    """Pack orders until there are no more."""
    with KafkaConsumer(
        topic,
        bootstrap_servers=SERVERS,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        value_deserializer="str",
    ) as consumer:
        while len(consumer.assignment()) != 2:  # until each worker has its half
            consumer.poll(100)
        all_are_there.wait(60)
        while not all_are_packed.is_set():
            for records in consumer.poll(100).values():
                packed.extend((name, record.value) for record in records)
                consumer.commit()
            if len(packed) >= ORDERS:
                all_are_packed.set()


workers = [threading.Thread(target=work, args=(name,)) for name in ("Ann", "Bob")]
for worker in workers:
    worker.start()
all_are_there.wait(60)
with KafkaProducer(
    bootstrap_servers=SERVERS, acks="all", value_serializer="str", partitioner="round_robin"
) as shop:
    for number in range(ORDERS):
        shop.send(topic, f"order {number}")
for worker in workers:
    worker.join()

once = all(count == 1 for count in Counter(order for _, order in packed).values())
print(f"order 0 to order {ORDERS - 1}: each packed {'once' if once else 'more than once'}")
print(f"both workers had work: {len({name for name, _ in packed}) == 2}")
