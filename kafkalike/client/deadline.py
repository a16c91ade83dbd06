"""Waiting no longer than one wants to."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from kafkalike.protocol.errors import RequestTimedOutError
from kafkalike.utils.time import Time

T = TypeVar("T")


async def within(time: Time, timeout_ms: float, work: Coroutine[Any, Any, T], what: str) -> T:
    """Give the result of the work, or cancel it and raise `RequestTimedOutError`."""
    running = Deferred.fromCoroutine(work)
    has_struck = False

    def strike() -> None:
        nonlocal has_struck
        has_struck = True
        running.cancel()

    timer = time.call_later_ms(timeout_ms, strike)
    try:
        return await running
    except CancelledError:
        if has_struck:
            raise RequestTimedOutError(f"{what} was not done in {timeout_ms:g} ms") from None
        raise
    finally:
        if timer.active():
            timer.cancel()
