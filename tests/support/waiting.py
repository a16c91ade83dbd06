"""Waiting for something to become true, with a deadline: what tests do instead of sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T], timeout_s: float = 10.0, what: str = "the condition"
) -> T:
    """Call `condition` until its answer is true and return that; AssertionError after the deadline.

    An AssertionError or OSError that `condition` raises counts as "not yet"; the last one is shown.
    """
    deadline = time.monotonic() + timeout_s
    last: Exception | None = None
    while True:
        try:
            if answer := condition():
                return answer
            last = None
        except (AssertionError, OSError) as error:
            last = error
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what} did not come true in {timeout_s:g} s") from last
        time.sleep(0.02)
