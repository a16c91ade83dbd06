"""The real reactor in a thread of its own, for tests that need sockets and kazoo's threads.

A process can run it only once, so all tests share it: the session fixture `reactor_thread`.
"""

import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import blockingCallFromThread

from kafkalike.utils.time import Time

T = TypeVar("T")
# Twisted's module stands for whatever reactor is installed; no one interface has all of it.
REACTOR: Any = _reactor


class ReactorThread:
    """Runs coroutines in the reactor and waits for their end."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="reactor", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float = 30.0) -> T:
        """Return (or raise) what the coroutine does; TimeoutError if it takes too long."""

        def start() -> "Deferred[Any]":
            return Deferred.fromCoroutine(coroutine).addTimeout(timeout_s, REACTOR)

        result: Any = blockingCallFromThread(REACTOR, start)
        return cast(T, result)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call a plain function in the reactor."""
        result: Any = blockingCallFromThread(REACTOR, function, *args)
        return cast(T, result)

    def stop(self) -> None:
        """End the reactor, for good."""
        REACTOR.callFromThread(REACTOR.stop)
        self._thread.join(timeout=30)

    @staticmethod
    def _run() -> None:
        REACTOR.run(installSignalHandlers=False)


async def until(condition: Callable[[], Any], what: str, timeout_s: float = 15.0) -> None:
    """Wait in the reactor until a condition is true; AssertionError after the deadline."""
    time = Time(REACTOR)
    deadline_ms = time.now_ms() + timeout_s * 1000
    while not condition():
        assert time.now_ms() < deadline_ms, f"{what} did not come true in {timeout_s:g} s"
        await time.sleep_ms(10)
