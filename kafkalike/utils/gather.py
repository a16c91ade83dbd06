"""Several coroutines at once: all are begun before the first is waited for."""

from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

T = TypeVar("T")


async def gather(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run them together and give their results in order.

    Waits for all of them even if one fails, then raises the failure of the first that did.
    """
    running = [Deferred.fromCoroutine(coroutine) for coroutine in coroutines]
    outcomes = await DeferredList(running, consumeErrors=True)
    for _, outcome in outcomes:
        if isinstance(outcome, Failure):
            outcome.raiseException()
    return [outcome for _, outcome in outcomes]
