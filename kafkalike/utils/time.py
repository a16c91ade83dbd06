"""Time as an argument: the wall clock, sleeping and timers over a reactor or a `task.Clock`."""

from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall


class Clock(Protocol):
    """What of a reactor tells time; `twisted.internet.task.Clock` has it too."""

    def seconds(self) -> float:
        """Return the current time in seconds."""

    def callLater(  # noqa: N802, RUF100 (Twisted's name)
        self, delay: float, callable: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> IDelayedCall:
        """Call later."""


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None:
        """Forget the call."""

    def active(self) -> bool:
        """Whether the call is still to come."""


class Time:
    """Milliseconds over a clock; the only source of time in the broker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return int(self._clock.seconds() * 1000)

    def call_later_ms(self, delay_ms: float, call: Callable[..., Any], *args: Any) -> Timer:
        """Call once after a delay, unless cancelled before."""
        return self._clock.callLater(max(0.0, delay_ms / 1000), call, *args)

    def sleep_ms(self, delay_ms: float) -> "Deferred[None]":
        """Wait; cancelling the wait forgets the timer."""
        woken: Deferred[None] = Deferred(lambda _: timer.cancel())
        timer = self.call_later_ms(delay_ms, woken.callback, None)
        return woken
