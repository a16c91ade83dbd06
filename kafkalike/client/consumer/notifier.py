"""Wakes a coroutine that waits for news."""

from twisted.internet.defer import Deferred

from kafkalike.utils.time import Time


class Notifier:
    """News that come while nobody waits are there when somebody does."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self._waiter: Deferred[None] | None = None
        self._is_set = False

    def notify(self) -> None:
        """There is news."""
        if self._waiter is None:
            self._is_set = True
        else:
            waiter, self._waiter = self._waiter, None
            waiter.callback(None)

    async def wait(self, timeout_ms: float) -> None:
        """Wait for news, but no longer than that."""
        if self._is_set:
            self._is_set = False
            return
        waiter: Deferred[None] = Deferred()
        self._waiter = waiter
        timer = self._time.call_later_ms(timeout_ms, self.notify)
        try:
            await waiter
        finally:
            if self._waiter is waiter:
                self._waiter = None
            if timer.active():
                timer.cancel()
