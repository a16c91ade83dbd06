"""Turns the setting `partition_assignment_strategy` into assignors."""

from collections.abc import Iterable
from typing import Any

from kafkalike.client.config import ConfigError
from kafkalike.client.consumer.assignors.assignor import Assignor
from kafkalike.client.consumer.assignors.range_assignor import RangeAssignor
from kafkalike.client.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from kafkalike.client.consumer.assignors.sticky_assignor import (
    CooperativeStickyAssignor,
    StickyAssignor,
)

_KNOWN: tuple[type[Any], ...] = (
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    CooperativeStickyAssignor,
)
_BY_NAME = {kind.name: kind for kind in _KNOWN} | {kind.__name__: kind for kind in _KNOWN}


def make_assignors(given: Any) -> list[Assignor]:
    """Return assignors for names (ours or Java's class names), classes or instances, in order."""
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",")]
    wanted: Iterable[Any] = given if isinstance(given, Iterable) else [given]
    made = [_make(one) for one in wanted]
    if not made:
        raise ConfigError("partition_assignment_strategy is empty: name at least one assignor")
    return made


def _make(given: Any) -> Assignor:
    if isinstance(given, str):
        name = given.rpartition(".")[2]
        if name not in _BY_NAME:
            known = ", ".join(kind.name for kind in _KNOWN)
            raise ConfigError(f"assignor {given!r} is none of {known}")
        made: Assignor = _BY_NAME[name]()
        return made
    if isinstance(given, type):
        # kafka-python's own classes mean ours of the same name.
        own_name = getattr(given, "name", None)
        return _make(own_name) if own_name in _BY_NAME else given()
    return given  # type: ignore[no-any-return]  # an assignor of the program's own
