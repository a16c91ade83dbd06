"""How much of requests may be in memory at once (Kafka's `MemoryPool`; `queued.max.request.bytes`).

A request whose first bytes have come has a place from then on, with its whole size, until it is
answered. While no place is left nobody begins to send another one: the connection is not read, and
the client waits. As in Kafka the last one that gets a place may be too large for it, so that one
large request cannot wait for ever.
"""

from collections import deque
from typing import Protocol


class Sender(Protocol):
    """Who sends requests: a `Connection`."""

    is_busy: bool

    @property
    def awaited_bytes(self) -> int:
        """The size of the request that has begun to come, 0 if there is none."""

    def hold(self) -> None:
        """Do not read any more."""

    def let_go(self) -> None:
        """Read on."""


class RequestMemory:
    """One per broker; its connections tell it what they receive and answer."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._places: dict[Sender, int] = {}
        self._waiting: deque[Sender] = deque()
        self.used_bytes = 0

    def received(self, sender: Sender) -> None:
        """Give a place to the request that has begun to come, or hold its sender."""
        size = sender.awaited_bytes
        if sender in self._places:
            if not size and not sender.is_busy:
                self._release(sender)
        elif size and sender not in self._waiting:
            if self.used_bytes < self._limit_bytes:
                self._take(sender, size)
            else:
                self._waiting.append(sender)
                sender.hold()

    def answered(self, sender: Sender) -> None:
        """Free the place of a request, and look whether the next one has begun."""
        if sender in self._places and not sender.is_busy:
            self._release(sender)
            self.received(sender)

    def forget(self, sender: Sender) -> None:
        """Free what a connection had that is gone."""
        if sender in self._waiting:
            self._waiting.remove(sender)
        if sender in self._places:
            self._release(sender)

    def _take(self, sender: Sender, size: int) -> None:
        self._places[sender] = size
        self.used_bytes += size

    def _release(self, sender: Sender) -> None:
        self.used_bytes -= self._places.pop(sender)
        while self._waiting and self.used_bytes < self._limit_bytes:
            next_one = self._waiting.popleft()
            self._take(next_one, next_one.awaited_bytes)
            next_one.let_go()
