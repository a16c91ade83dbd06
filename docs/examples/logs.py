"""Logs: every service writes to a topic of its own; an alarm reads all of them, by a pattern.

    billing: card refused
    search: index is gone

A service that starts later is heard too: its topic matches the pattern.
"""

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import KafkaConsumer, KafkaProducer

billing, search = fresh_topic("logs.billing"), fresh_topic("logs.search")
LINES = {
    billing: ["INFO 12 invoices", "ERROR card refused", "INFO 3 invoices"],
    search: ["INFO started", "WARNING slow", "ERROR index is gone"],
}

with KafkaProducer(
    bootstrap_servers=SERVERS, value_serializer="str", compression_type="lz4", linger_ms=10
) as services:
    for topic, lines in LINES.items():
        for line in lines:
            services.send(topic, line, headers=[("host", b"web-1")])

errors: set[tuple[str, str]] = set()
with KafkaConsumer(
    bootstrap_servers=SERVERS,
    group_id=f"alarm-{billing}",
    auto_offset_reset="earliest",
    value_deserializer="str",
    consumer_timeout_ms=30_000,
) as alarm:
    alarm.subscribe(pattern=r"logs\..*")
    for record in alarm:
        level, _, text = record.value.partition(" ")
        if level == "ERROR" and record.topic in LINES:
            errors.add((record.topic.split(".")[1].split("-")[0], text))
        if len(errors) == 2:
            break

for service, text in sorted(errors):
    print(f"{service}: {text}")
