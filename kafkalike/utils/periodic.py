"""Work that is done again and again, first after a delay and then with pauses between."""

from collections.abc import Callable, Coroutine
from typing import Any

from kafkalike.utils.background import Background
from kafkalike.utils.time import Time, Timer

_LONGEST_PAUSE_MS = (1 << 31) - 1
"""About 24 days. No reactor can wait for Kafka's "never" (the largest int64)."""


class PeriodicTasks:
    """The recurring tasks of one owner; a task that fails is logged and runs again next time."""

    def __init__(self, time: Time, background: Background) -> None:
        self._time = time
        self._background = background
        self._timers: dict[str, Timer] = {}
        self._is_stopped = False

    def start(
        self,
        what: str,
        task: Callable[[], Coroutine[Any, Any, None]],
        *,
        delay_ms: int,
        period_ms: int,
    ) -> None:
        """Run a task after a delay and then `period_ms` after each end of it."""

        async def run_and_go_on() -> None:
            try:
                await task()
            finally:
                schedule(period_ms)

        def schedule(pause_ms: int) -> None:
            if not self._is_stopped:
                self._timers[what] = self._time.call_later_ms(
                    min(pause_ms, _LONGEST_PAUSE_MS),
                    lambda: self._background.start(run_and_go_on(), what),
                )

        schedule(delay_ms)

    def stop(self) -> None:
        """Start none of them again; one that runs is its background's to cancel."""
        self._is_stopped = True
        for timer in self._timers.values():
            if timer.active():
                timer.cancel()
