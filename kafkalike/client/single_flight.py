"""One run of a coroutine at a time: who asks while it runs gets the outcome of that run."""

from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from kafkalike.utils.background import Background

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Connecting and refreshing are asked for by many at once and need to happen once."""

    def __init__(self, what: str, background: Background) -> None:
        self._what = what
        self._background = background
        self._waiters: list[Deferred[T]] = []
        self.is_running = False

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Start the work unless it runs already, and wait for its outcome."""
        waiter: Deferred[T] = Deferred()
        self._waiters.append(waiter)
        if not self.is_running:
            self.is_running = True
            self._background.start(self._run(work), self._what)
        return await waiter

    async def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        try:
            outcome = await work()
        except CancelledError:
            for waiter in self._take():
                waiter.cancel()
            raise
        except Exception as error:  # noqa: BLE001 (whoever waits gets it)
            for waiter in self._take():
                waiter.errback(error)
        else:
            for waiter in self._take():
                waiter.callback(outcome)

    def _take(self) -> list["Deferred[T]"]:
        self.is_running = False
        waiters, self._waiters = self._waiters, []
        return waiters
