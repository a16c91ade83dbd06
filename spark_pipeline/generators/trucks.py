"""Trucks on the road: each tells its position in turn."""

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

TRUCKS: Final = 10


def generate(plan: Plan) -> Iterator[Event]:
    """Yield positions, keyed by truck."""
    chance = randomness(plan, "trucks")
    places = [(52.0 + chance.random(), 13.0 + chance.random()) for _ in range(TRUCKS)]
    speeds = [40.0 + 40.0 * chance.random() for _ in range(TRUCKS)]
    topic = plan.topic or "trucks"
    hours = plan.step.total_seconds() * TRUCKS / 3600
    for number in range(plan.count):
        truck = number % TRUCKS
        speeds[truck] = min(90.0, max(5.0, speeds[truck] + chance.uniform(-5, 5)))
        moved = speeds[truck] * hours / 111.2
        latitude, longitude = places[truck]
        places[truck] = (latitude + moved * chance.uniform(0, 1), longitude + moved)
        key = f"truck-{truck}"
        kind = kind_of(number)
        value = to_json(
            {
                "truck_id": key,
                "event_time": event_time(plan, number),
                "latitude": round(places[truck][0], 6),
                "longitude": round(places[truck][1], 6),
                "speed_kmh": round(speeds[truck], 1),
            }
        )
        yield Event(topic, key.encode(), malformed(number) if kind == "malformed" else value, kind)
