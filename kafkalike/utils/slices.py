"""Long work in a thread that does not keep the reactor waiting: many short slices.

A thread that computes holds Python's lock, so whatever comes in meanwhile waits for it. A slice is
short enough for that not to matter, and the next one is begun by the reactor, when it has done
everything else that there was to do.
"""

from collections.abc import Callable, Generator
from time import perf_counter
from typing import NamedTuple

SLICE_S = 0.0005


class Slice(NamedTuple):
    """How far a slice came: the sum of what the work has yielded, and whether that was all."""

    amount: int
    is_last: bool


def advance(
    work: Generator[int, None, None],
    budget_s: float = SLICE_S,
    clock: Callable[[], float] = perf_counter,
) -> Slice:
    """Go on for about so long with work that yields often, each time how much it has done."""
    deadline = clock() + budget_s
    amount = 0
    for done in work:
        amount += done
        if clock() >= deadline:
            return Slice(amount, is_last=False)
    return Slice(amount, is_last=True)
