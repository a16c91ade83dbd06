"""Users who look at pages, and advertisements that are shown and sometimes clicked."""

from collections.abc import Iterator
from datetime import timedelta
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

USERS: Final = 20
CLICK_EVERY: Final = 5
PAUSE_AFTER: Final = 200
"""After so many events all users are away for an hour: their sessions end."""
_PAGES: Final = ("home", "search", "product", "basket", "help")
_ADS: Final = 4


def generate(plan: Plan) -> Iterator[Event]:
    """Yield views of pages (topic `pages`), impressions and clicks (topics of these names)."""
    chance = randomness(plan, "clickstream")
    prefix = plan.topic
    for number in range(plan.count):
        user = f"user-{chance.randrange(USERS)}"
        kind = kind_of(number)
        away = timedelta(hours=1) * (number // PAUSE_AFTER)
        time = event_time(plan, number) + away
        view = to_json(
            {
                "event_id": f"view-{number}",
                "user_id": user,
                "page": chance.choice(_PAGES),
                "event_time": time,
            }
        )
        value = malformed(number) if kind == "malformed" else view
        yield Event(f"{prefix}pages", user.encode(), value, kind)
        if kind != "good":
            continue
        name = f"impression-{number}"
        shown = {"impression_id": name, "ad_id": f"ad-{chance.randrange(_ADS)}"}
        shown |= {"user_id": user}
        yield Event(
            f"{prefix}impressions", name.encode(), to_json(shown | {"event_time": time}), "good"
        )
        if number % CLICK_EVERY == 0:
            later = time + timedelta(seconds=chance.randrange(1, 20))
            click = to_json({"impression_id": name, "event_time": later})
            yield Event(f"{prefix}clicks", name.encode(), click, "good")
