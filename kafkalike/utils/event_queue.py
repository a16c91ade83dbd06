"""One event at a time: what serialises the controller and change notifications."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.utils.background import Background

log = Logger()
Event = TypeVar("Event")


class EventQueue(Generic[Event]):
    """Events handled in order, each to its end before the next; equal waiting events are one.

    The bound is by design: events are values that mean "look again", and an event equal to one that
    still waits adds nothing, so the queue never holds more than the distinct kinds.
    """

    def __init__(self, handle: Callable[[Event], Awaitable[Any]], what: str) -> None:
        self._handle = handle
        self._what = what
        self._events: deque[Event] = deque()
        self._background = Background()
        self._busy = False

    def put(self, event: Event) -> None:
        """Handle this event after those that wait."""
        if event not in self._events:
            self._events.append(event)
            self._wake()

    def put_first(self, event: Event) -> list[Event]:
        """Handle this event next; forget those that wait, and return them (clearAndPut)."""
        forgotten = list(self._events)
        self._events.clear()
        self._events.append(event)
        self._wake()
        return forgotten

    def stop(self) -> list[Event]:
        """Forget what waits, and return it; cancel what runs."""
        forgotten = list(self._events)
        self._events.clear()
        self._background.stop()
        return forgotten

    def _wake(self) -> None:
        if not self._busy:
            self._busy = True
            self._background.start(self._drain(), self._what)

    async def _drain(self) -> None:
        try:
            while self._events:
                event = self._events.popleft()
                try:
                    await self._handle(event)
                except CancelledError:
                    raise
                except Exception:  # noqa: BLE001 (the events behind it must still be handled)
                    log.failure("{what}: {event} failed", what=self._what, event=event)
        finally:
            self._busy = False
