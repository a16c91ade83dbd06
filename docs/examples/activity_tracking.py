"""Activity tracking: what users do on a site, read by two departments by themselves.

    marketing: /cart 3, /home 6, /shoes 4
    security: ann 5, bob 4, eve 4

Every department is a group of its own and reads all of it. The user is the key: what one user did
stays in order.
"""

from collections import Counter

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import ConsumerRecord, KafkaConsumer, KafkaProducer

topic = fresh_topic("page-views")
VISITS = {
    "ann": ["/home", "/shoes", "/cart", "/home", "/cart"],
    "bob": ["/home", "/shoes", "/home", "/shoes"],
    "eve": ["/home", "/cart", "/shoes", "/home"],
}

with KafkaProducer(
    bootstrap_servers=SERVERS, key_serializer="str", value_serializer="json", linger_ms=5
) as site:
    for user, pages in VISITS.items():
        for page in pages:
            site.send(topic, key=user, value={"page": page})


def read_all(department: str) -> list[ConsumerRecord]:
    """Read every view there is."""
    with KafkaConsumer(
        topic,
        bootstrap_servers=SERVERS,
        group_id=f"{topic}-{department}",
        auto_offset_reset="earliest",
        key_deserializer="str",
        value_deserializer="json",
        consumer_timeout_ms=30_000,
    ) as consumer:
        return [next(consumer) for _ in range(sum(map(len, VISITS.values())))]


def show(department: str, counts: Counter[str]) -> None:
    """Print how often each thing was seen."""
    print(f"{department}:", ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))


show("marketing", Counter(record.value["page"] for record in read_all("marketing")))
show("security", Counter(record.key for record in read_all("security")))
