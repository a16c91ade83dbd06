"""Log lines of services, with levels and latencies."""

from collections.abc import Iterator
from typing import Final

from spark_pipeline.generators.events import (
    Event,
    Plan,
    event_time,
    kind_of,
    malformed,
    randomness,
    to_json,
)

SERVICES: Final = ("basket", "catalogue", "payment", "search")


def generate(plan: Plan) -> Iterator[Event]:
    """Yield lines, keyed by service."""
    chance = randomness(plan, "logs")
    topic = plan.topic or "logs"
    for number in range(plan.count):
        service = SERVICES[number % len(SERVICES)]
        kind = kind_of(number)
        line = {
            "service": service,
            "level": "ERROR" if chance.random() < 0.05 else "INFO",
            "latency_ms": round(chance.expovariate(1 / 20), 2),
            "event_time": event_time(plan, number),
        }
        value = malformed(number) if kind == "malformed" else to_json(line)
        yield Event(topic, service.encode(), value, kind)
