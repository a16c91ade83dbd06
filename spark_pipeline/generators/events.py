"""What all generators share: a clock of events, and which ones are late, malformed or repeated.

Every hundredth or so is bad by its number, not by chance, so that results can be checked exactly.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, NamedTuple

MALFORMED_EVERY: Final = 100
LATE_EVERY: Final = 50
REPEATED_EVERY: Final = 75
LATE_BY: Final = timedelta(minutes=30)
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_BAD: Final = (b"{not json", b"", b"[1, 2, 3]")


class Event(NamedTuple):
    """One record to write; `kind` is good, late, malformed or repeated."""

    topic: str
    key: bytes
    value: bytes
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to generate; the same plan gives the same events."""

    count: int
    seed: int = 1
    start: datetime = START
    step: timedelta = timedelta(milliseconds=100)
    topic: str = ""

    def time_of(self, number: int) -> datetime:
        """Return when an event happens."""
        return self.start + self.step * number


Generator = Callable[[Plan], Iterator[Event]]


def kind_of(number: int) -> str:
    """Return what an event is, by its number."""
    if number % MALFORMED_EVERY == MALFORMED_EVERY - 1:
        return "malformed"
    if number % LATE_EVERY == LATE_EVERY // 2:
        return "late"
    return "good"


def malformed(number: int) -> bytes:
    """Return something that is no event."""
    return _BAD[number // MALFORMED_EVERY % len(_BAD)]


def event_time(plan: Plan, number: int) -> datetime:
    """Return the time that an event says; that of a late one is long ago."""
    time = plan.time_of(number)
    return time - LATE_BY if kind_of(number) == "late" else time


def to_json(fields: Mapping[str, Any]) -> bytes:
    """Return an event as JSON, times in ISO 8601."""
    return json.dumps(
        {
            name: _text(value) if isinstance(value, datetime) else value
            for name, value in fields.items()
        },
        separators=(",", ":"),
    ).encode()


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def randomness(plan: Plan, name: str) -> Random:
    """Return the source of chance of a generator."""
    return Random(f"{name}-{plan.seed}")
