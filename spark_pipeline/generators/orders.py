"""Orders of a shop: most are right, some are no JSON, break a rule or come twice."""

from collections.abc import Iterator
from typing import Any, Final

from spark_pipeline.generators.events import (
    REPEATED_EVERY,
    Event,
    Plan,
    event_time,
    kind_of,
    malformed,
    randomness,
    to_json,
)

BROKEN_RULES: Final[tuple[dict[str, Any], ...]] = (
    {"quantity": 0},
    {"price": -1.5},
    {"currency": "XXX"},
    {"customer_id": None},
    {"quantity": "many"},
)
BROKEN_EVERY: Final = 40


def generate(plan: Plan) -> Iterator[Event]:
    """Yield orders; what breaks a rule counts as malformed."""
    chance = randomness(plan, "orders")
    topic = plan.topic or "orders"
    for number in range(plan.count):
        order: dict[str, Any] = {
            "order_id": f"order-{number}",
            "customer_id": f"customer-{chance.randrange(50)}",
            "quantity": chance.randrange(1, 10),
            "price": round(chance.uniform(1, 500), 2),
            "currency": chance.choice(("EUR", "GBP", "USD")),
            "ordered_at": event_time(plan, number),
        }
        kind = kind_of(number)
        if kind == "malformed":
            yield Event(topic, order["order_id"].encode(), malformed(number), kind)
            continue
        if number % BROKEN_EVERY == BROKEN_EVERY // 4:
            order |= BROKEN_RULES[number // BROKEN_EVERY % len(BROKEN_RULES)]
            yield Event(topic, order["order_id"].encode(), to_json(order), "malformed")
            continue
        value = to_json(order)
        yield Event(topic, order["order_id"].encode(), value, kind)
        if number % REPEATED_EVERY == 0:
            yield Event(topic, order["order_id"].encode(), value, "repeated")
