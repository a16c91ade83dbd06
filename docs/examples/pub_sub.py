"""Publish and subscribe: a service says what happened, and others do what they like with it.

    mail: welcome ann, welcome bob
    statistics: 2 new customers

The publisher knows nobody. Each service is a group of its own, and gets every event; here they run
on asyncio.
"""

import asyncio

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client.aio import KafkaConsumer, KafkaProducer

topic = fresh_topic("customers", 1)


async def publish() -> None:
    """Tell of two customers."""
    async with KafkaProducer(bootstrap_servers=SERVERS, value_serializer="json") as producer:
        for name in ("ann", "bob"):
            await producer.send_and_wait(topic, {"event": "registered", "name": name})


async def listen(service: str) -> list[str]:
    """Hear of two customers."""
    names: list[str] = []
    async with KafkaConsumer(
        topic,
        bootstrap_servers=SERVERS,
        group_id=f"{topic}-{service}",
        auto_offset_reset="earliest",
        value_deserializer="json",
    ) as consumer:
        async for record in consumer:
            names.append(record.value["name"])
            if len(names) == 2:
                break
    return names


async def main() -> None:
    """Run all services at once."""
    mail, statistics, _ = await asyncio.gather(listen("mail"), listen("statistics"), publish())
    print("mail:", ", ".join(f"welcome {name}" for name in mail))
    print(f"statistics: {len(statistics)} new customers")


asyncio.run(main())
