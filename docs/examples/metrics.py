"""Metrics: machines report their load every second; a dashboard looks at the last minute only.

    web-1: 60 reports, load 0.35
    web-2: 60 reports, load 0.70

`offsets_for_times` finds where the minute begins, without reading the two hours before it.
"""

import time
from statistics import mean

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import KafkaConsumer, KafkaProducer, TopicPartition

HOUR_S, MINUTE_S = 3600, 60
topic = fresh_topic("load", partitions=1)
partition = TopicPartition(topic, 0)
now_ms = int(time.time() * 1000)

with KafkaProducer(
    bootstrap_servers=SERVERS,
    key_serializer="str",
    value_serializer="json",
    compression_type="zstd",
    linger_ms=20,
) as machines:
    for second in range(-2 * HOUR_S, 0):
        is_recent = second >= -MINUTE_S
        for machine, load in (("web-1", 0.35), ("web-2", 0.7)):
            report = {"load": load if is_recent else 0.01}
            machines.send(topic, key=machine, value=report, timestamp_ms=now_ms + second * 1000)

with KafkaConsumer(
    bootstrap_servers=SERVERS, key_deserializer="str", value_deserializer="json"
) as dashboard:
    dashboard.assign([partition])
    found = dashboard.offsets_for_times({partition: now_ms - MINUTE_S * 1000})[partition]
    assert found is not None
    dashboard.seek(partition, found.offset)
    loads: dict[str, list[float]] = {}
    end = dashboard.end_offsets([partition])[partition]
    while dashboard.position(partition) < end:
        for records in dashboard.poll(1000).values():
            for record in records:
                loads.setdefault(record.key, []).append(record.value["load"])

for machine, values in sorted(loads.items()):
    print(f"{machine}: {len(values)} reports, load {mean(values):.2f}")
