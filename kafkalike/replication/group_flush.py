"""Flushes that gather: while one runs, all who ask meanwhile share the next."""

from collections.abc import Awaitable, Callable

from twisted.internet.defer import Deferred

from kafkalike.log.log import Log
from kafkalike.protocol.errors import KafkaError
from kafkalike.utils.background import Background


class GroupFlush:
    """One flush at a time per log, however many appends wait for it."""

    def __init__(self, flush: Callable[[Log], Awaitable[None]]) -> None:
        self._flush = flush
        self._waiting: dict[Log, list[Deferred[None]]] = {}
        self._running: set[Log] = set()
        self._background = Background()

    def flush(self, log: Log) -> "Deferred[None]":
        """Wait until all that is in the log now is on the disk; fails with `KafkaStorageError`."""
        done: Deferred[None] = Deferred()
        self._waiting.setdefault(log, []).append(done)
        self._run_unless_running(log)
        return done

    def start(self, log: Log) -> None:
        """Begin a flush that nobody waits for; where it fails, the log directory says so."""
        self._waiting.setdefault(log, [])
        self._run_unless_running(log)

    def _run_unless_running(self, log: Log) -> None:
        if log not in self._running:
            self._running.add(log)
            self._background.start(self._run(log), f"flush of {log.tp}")

    async def _run(self, log: Log) -> None:
        try:
            while log in self._waiting:
                waiting = self._waiting.pop(log)
                try:
                    await self._flush(log)
                except KafkaError as error:
                    for done in waiting:
                        done.errback(error)
                else:
                    for done in waiting:
                        done.callback(None)
        finally:
            self._running.discard(log)
